"""Recording of agents that run in a framework's loop: `from scalepan import recording`.

Each function returns what its framework takes: a trace processor, a callback handler, a capability. The framework is
imported when the function is called. One's own loop is recorded by `scalepan.record`.
"""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.trace.recording.adapters.langchain import langchain
    from scalepan.trace.recording.adapters.openai_agents import openai_agents
    from scalepan.trace.recording.adapters.pydantic_ai import pydantic_ai

__all__ = ["langchain", "openai_agents", "pydantic_ai"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.trace.recording.adapters.langchain": ["langchain"],
        "scalepan.trace.recording.adapters.openai_agents": ["openai_agents"],
        "scalepan.trace.recording.adapters.pydantic_ai": ["pydantic_ai"],
    },
)
