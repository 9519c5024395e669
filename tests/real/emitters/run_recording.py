"""Inside .venv-logs, with Scalepan's source on the path: an agent with a tool and a helper, recorded by an adapter.

run_recording.py <one of FRAMEWORKS> <one of WAYS> <model's url> <file>
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import scalepan
from scalepan import recording

QUESTION = "How many lines has a.txt? Mail ann@example.com."
Ask = Callable[[str], Awaitable[str]]


def count_lines(path: str) -> str:
    """Count the lines of a file."""
    if path != "a.txt":
        raise FileNotFoundError(f"no such file: {path}")
    return "1"


def openai_agents(url: str, recorder: Any, api: str = "responses") -> Ask:
    """A counter with a helper as a tool, which can hand over to a clerk."""
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        Runner,
        function_tool,
        set_trace_processors,
    )
    from openai import AsyncOpenAI

    set_trace_processors([recorder])
    kind = OpenAIResponsesModel if api == "responses" else OpenAIChatCompletionsModel
    model = kind("gpt-5", AsyncOpenAI(base_url=f"{url}/v1", api_key="stand-in", max_retries=0))
    tool = function_tool(count_lines)
    helper = Agent(name="helper", model=model, tools=[tool])
    clerk = Agent(name="clerk", model=model)
    counter = Agent(name="counter", model=model, tools=[tool, helper.as_tool("helper", "Helps.")], handoffs=[clerk])

    async def ask(question: str) -> str:
        return str((await Runner.run(counter, question, max_turns=6)).final_output)

    return ask


def openai_agents_chat(url: str, recorder: Any) -> Ask:
    """The same with a model of Chat Completions."""
    return openai_agents(url, recorder, "chat")


def langgraph(url: str, recorder: Any, *, handle: bool = True) -> Ask:
    """The same as a graph with a tool node; the helper is a graph that a tool runs."""
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    model = ChatOpenAI(model="gpt-4o", base_url=f"{url}/v1", api_key="stand-in", use_responses_api=True, max_retries=0)

    def agent(*tools: Any) -> Any:
        bound = model.bind_tools(tools)
        graph = StateGraph(MessagesState)

        async def think(state: Any) -> Any:
            return {"messages": [await bound.ainvoke(state["messages"])]}

        graph.add_node("agent", think)
        graph.add_node("tools", ToolNode(tools, handle_tool_errors=handle))
        graph.add_edge(START, "agent")
        graph.add_conditional_edges("agent", tools_condition, {"tools": "tools", END: END})
        graph.add_edge("tools", "agent")
        return graph.compile()

    counter_tool = tool("count_lines")(count_lines)
    inner = agent(counter_tool)

    async def answer(graph: Any, question: str, config: Any = None) -> str:
        asked = {"messages": [("system", "Count lines."), ("user", question)]}
        return str((await graph.ainvoke(asked, config))["messages"][-1].text)

    async def helper(input: str) -> str:  # noqa: A002 - as the other frameworks call it
        """Helps."""
        return await answer(inner, input)

    outer = agent(counter_tool, tool("helper")(helper))
    return lambda question: answer(outer, question, {"callbacks": [recorder]})


def langgraph_unhandled(url: str, recorder: Any) -> Ask:
    """A tool node that lets exceptions of tools through."""
    return langgraph(url, recorder, handle=False)


def pydantic_ai(url: str, recorder: Any, *, retry: bool = True, stream: bool = False) -> Ask:
    """The same as two agents with the same capability."""
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIResponsesModel("gpt-5", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="stand-in"))
    helping = Agent(model, name="helper", capabilities=[recorder])
    counter = Agent(model, name="counter", capabilities=[recorder])

    def counted(path: str) -> str:
        try:
            return count_lines(path)
        except FileNotFoundError as error:
            if retry:
                raise ModelRetry(str(error)) from error
            raise

    async def helper(input: str) -> str:  # noqa: A002 - as the other frameworks call it
        return str((await helping.run(input)).output)

    for agent in (counter, helping):
        agent.tool_plain(name="count_lines", retries=9)(counted)
    counter.tool_plain(name="helper")(helper)

    async def ask(question: str) -> str:
        if not stream:
            return str((await counter.run(question)).output)
        async with counter.run_stream(question) as answer:
            return str(await answer.get_output())

    return ask


def pydantic_ai_unhandled(url: str, recorder: Any) -> Ask:
    """A tool whose exception ends the run."""
    return pydantic_ai(url, recorder, retry=False)


def pydantic_ai_stream(url: str, recorder: Any) -> Ask:
    """An answer that is read as it comes."""
    return pydantic_ai(url, recorder, stream=True)


FRAMEWORKS: dict[str, tuple[Callable[[str, Any], Ask], Callable[..., Any]]] = {
    "openai-agents": (openai_agents, recording.openai_agents),
    "openai-agents-chat": (openai_agents_chat, recording.openai_agents),
    "langgraph": (langgraph, recording.langchain),
    "langgraph-unhandled": (langgraph_unhandled, recording.langchain),
    "pydantic-ai": (pydantic_ai, recording.pydantic_ai),
    "pydantic-ai-unhandled": (pydantic_ai_unhandled, recording.pydantic_ai),
    "pydantic-ai-stream": (pydantic_ai_stream, recording.pydantic_ai),
}


async def alone(ask: Ask, _: str) -> None:
    """One run."""
    print(await ask(QUESTION))


async def joined(ask: Ask, file: str) -> None:
    """Two runs in the user's own recording."""
    with scalepan.record("Count and report", domain="code", file=file) as t:
        print(await ask(QUESTION))
        print(await ask("And now?"))
        t.succeed(confidence=0.9)


async def together(ask: Ask, _: str) -> None:
    """Three runs at the same time."""
    print(sorted(await asyncio.gather(*(ask(f"Question {number}") for number in range(3)))))


async def raising(ask: Ask, _: str) -> None:
    """A run that raises, and what it raised."""
    try:
        await ask(QUESTION)
    except Exception as error:
        print(type(error).__name__)


def broken(trace: Any) -> None:
    """A callback with a mistake."""
    raise LookupError("mine")


WAYS: dict[str, Any] = {"alone": alone, "joined": joined, "together": together, "raising": raising, "broken": alone}


def main(framework: str, way: str, url: str, file: str) -> None:
    """Run it, recorded to the file, or by the user's own recording, or by a callback that fails."""
    agent, adapter = FRAMEWORKS[framework]
    options = {"joined": {}, "broken": {"file": file, "on_trace": broken}}.get(way, {"file": file, "domain": "code"})
    ask = agent(url, adapter(**options))
    if way == "broken":
        Path(file).unlink()
        Path(file).mkdir()
    asyncio.run(WAYS[way](ask, file))


if __name__ == "__main__":
    main(*sys.argv[1:])
