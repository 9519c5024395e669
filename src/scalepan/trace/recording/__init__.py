"""Recording: a trace of one's own agent loop, step by step, while it runs."""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.trace.recording.recorder import Recording, record
    from scalepan.trace.recording.tools import recorded_tool

__all__ = ["Recording", "record", "recorded_tool"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.trace.recording.recorder": ["Recording", "record"],
        "scalepan.trace.recording.tools": ["recorded_tool"],
    },
)
