"""Inside .venv-logs, with Scalepan's source on the path: what frameworks can do besides calling tools, recorded.

run_recording_cases.py <one of CASES> <model's url> <file>
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import scalepan
from scalepan import recording

KEY = "stand-in"


def count_lines(path: str) -> str:
    """Count the lines of a file."""
    if path != "a.txt":
        raise FileNotFoundError(f"no such file: {path}")
    return "1"


def agents_counter(url: str, file: str) -> Any:
    """An agent of the Agents SDK, every run recorded."""
    from agents import Agent, OpenAIResponsesModel, function_tool, set_trace_processors
    from openai import AsyncOpenAI

    set_trace_processors([recording.openai_agents(file=file)])
    model = OpenAIResponsesModel("gpt-5", AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY))
    return Agent(name="counter", model=model, tools=[function_tool(count_lines)])


def agents_streamed(url: str, file: str) -> None:
    """A run that is read as it comes."""
    from agents import Runner

    async def read() -> None:
        result = Runner.run_streamed(agents_counter(url, file), "Count")
        async for _ in result.stream_events():
            pass

    asyncio.run(read())


def agents_conversation(url: str, file: str) -> None:
    """Two runs in one workflow; the second is given what the first said."""
    from agents import Runner, trace

    agent = agents_counter(url, file)
    with trace("conversation"):
        first = Runner.run_sync(agent, "Count")
        Runner.run_sync(agent, [*first.to_input_list(), {"role": "user", "content": "Again"}])


def agents_private(url: str, file: str) -> None:
    """Without sensitive data."""
    from agents import RunConfig, Runner

    Runner.run_sync(agents_counter(url, file), "Count", run_config=RunConfig(trace_include_sensitive_data=False))


def chat(url: str, **options: Any) -> Any:
    """A model of LangChain."""
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="gpt-4o", base_url=f"{url}/v1", api_key=KEY, **options)


def langchain_by_hand(url: str, file: str) -> None:
    """The user's own loop around a model."""
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool

    model = chat(url).bind_tools([tool("count_lines")(count_lines)])
    messages: list[Any] = [HumanMessage("How many lines has a.txt?")]
    config: Any = {"callbacks": [recording.langchain()]}
    with scalepan.record("Count", file=file):
        answer = model.invoke(messages, config)
        messages += [answer, ToolMessage("1", tool_call_id=answer.tool_calls[0]["id"])]
        model.invoke(messages, config)


def langchain_retriever(url: str, file: str) -> None:
    """A chain that looks documents up; the model is shown another text than the question."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda

    class Shelf(BaseRetriever):  # type: ignore[misc, unused-ignore]
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document("a.txt has 1 line."), Document("b.txt has none.")]

    chain = Shelf() | RunnableLambda(lambda found: f"Known: {found[0].page_content}") | chat(url)
    chain.invoke("How many?", {"callbacks": [recording.langchain(file=file)]})


def langgraph_interrupt(url: str, file: str) -> None:
    """A tool that waits for a person; the graph goes on in a second run."""
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command, interrupt

    def ask(question: str) -> str:
        """Ask a person."""
        return str(interrupt(question))

    graph = create_agent(chat(url), [tool("ask")(ask)], checkpointer=InMemorySaver())
    config: Any = {"callbacks": [recording.langchain(file=file)], "configurable": {"thread_id": "1"}}
    graph.invoke({"messages": [("user", "Delete it")]}, config)
    graph.invoke(Command(resume="yes"), config)


def langgraph_retry(url: str, file: str) -> None:
    """A middleware that runs a tool again."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import ToolRetryMiddleware
    from langchain_core.tools import tool

    states = iter(["down", "up"])

    def flaky() -> str:
        """Ask a service."""
        state = next(states)
        if state == "down":
            raise ConnectionError("down")
        return state

    again = ToolRetryMiddleware(max_retries=2, initial_delay=0.01)
    graph = create_agent(chat(url, streaming=True), [tool("flaky")(flaky)], middleware=[again])
    graph.invoke({"messages": [("user", "Try")]}, {"callbacks": [recording.langchain(file=file)]})


def pydantic_counter(url: str, file: str, **options: Any) -> Any:
    """An agent of Pydantic AI, every run recorded."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=f"{url}/v1", api_key=KEY))
    return Agent(model, capabilities=[recording.pydantic_ai(file=file)], **options)


def pydantic_structured(url: str, file: str) -> None:
    """An answer of a given form, at first in the wrong one."""
    from pydantic import BaseModel

    class Lines(BaseModel):
        count: int

    agent = pydantic_counter(url, file, output_type=Lines)
    agent.tool_plain(count_lines)
    agent.run_sync("Count")


def pydantic_approval(url: str, file: str, *, approved: bool = True) -> None:
    """A call that waits for a person, who answers in a second run."""
    from pydantic_ai import DeferredToolRequests, DeferredToolResults

    agent = pydantic_counter(url, file, output_type=[str, DeferredToolRequests])
    agent.tool_plain(requires_approval=True)(count_lines)
    first = agent.run_sync("Count")
    answers = DeferredToolResults(approvals={call.tool_call_id: approved for call in first.output.approvals})
    agent.run_sync(message_history=first.all_messages(), deferred_tool_results=answers)


def pydantic_denial(url: str, file: str) -> None:
    """The same, and the person says no."""
    pydantic_approval(url, file, approved=False)


CASES: dict[str, Callable[[str, str], None]] = {
    "agents-streamed": agents_streamed,
    "agents-conversation": agents_conversation,
    "agents-private": agents_private,
    "langchain-by-hand": langchain_by_hand,
    "langchain-retriever": langchain_retriever,
    "langgraph-interrupt": langgraph_interrupt,
    "langgraph-retry": langgraph_retry,
    "pydantic-structured": pydantic_structured,
    "pydantic-approval": pydantic_approval,
    "pydantic-denial": pydantic_denial,
}


if __name__ == "__main__":
    CASES[sys.argv[1]](*sys.argv[2:])
