"""Inside .venv-logs: run a small agent under LangSmith's tracing; its runs go to a stand-in for LangSmith.

run_langsmith.py <one of KINDS> <model's url> <collector's url>
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from langsmith import Client, traceable
from langsmith.wrappers import wrap_anthropic, wrap_openai

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
QUESTION = "How many lines has a.txt?"


def count_lines(path: str) -> str:
    """Count the lines of a file."""
    if path != "a.txt":
        raise FileNotFoundError(f"no such file: {path}")
    return "1"


def told(client: Client, path: str) -> Any:
    """What the tool says, under tracing; an error as words."""
    try:
        return traceable(run_type="tool", name="count_lines", client=client)(count_lines)(path=path)
    except FileNotFoundError as error:
        return str(error)


def openai_loop(url: str, client: Client) -> None:
    """An agent by hand on the OpenAI SDK."""
    from openai import OpenAI

    model = wrap_openai(OpenAI(base_url=f"{url}/v1", api_key="stand-in"), tracing_extra={"client": client})
    tools: Any = [{"type": "function", "function": {"name": "count_lines", "parameters": SCHEMA}}]
    messages: Any = [{"role": "system", "content": "Count lines."}, {"role": "user", "content": QUESTION}]

    def answer(question: str) -> Any:
        while True:
            said = model.chat.completions.create(model="gpt-4o", messages=messages, tools=tools).choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return said.content
            for one in said.tool_calls:
                result = told(client, **json.loads(one.function.arguments))
                messages.append({"role": "tool", "tool_call_id": one.id, "content": result})

    traceable(client=client)(answer)(QUESTION)


def anthropic_loop(url: str, client: Client) -> None:
    """The same on the Anthropic SDK."""
    from anthropic import Anthropic

    model = wrap_anthropic(Anthropic(base_url=url, api_key="stand-in"), tracing_extra={"client": client})
    tools: Any = [{"name": "count_lines", "input_schema": SCHEMA}]
    messages: Any = [{"role": "user", "content": QUESTION}]

    def answer(question: str) -> Any:
        while True:
            said = model.messages.create(
                model="claude-sonnet-4-5", max_tokens=1000, system="Count lines.", messages=messages, tools=tools
            )
            messages.append({"role": "assistant", "content": [block.model_dump() for block in said.content]})
            made = [block for block in said.content if block.type == "tool_use"]
            if not made:
                return said.content[0].text
            results = [
                {"type": "tool_result", "tool_use_id": one.id, "content": told(client, **one.input)} for one in made
            ]
            messages.append({"role": "user", "content": results})

    traceable(client=client)(answer)(QUESTION)


def langgraph_agent(url: str, client: Client) -> None:
    """LangGraph's agent with a tool node."""
    from langchain_core.tools import tool
    from langchain_core.tracers import LangChainTracer
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    counter = tool("count_lines")(count_lines)
    model = ChatOpenAI(model="gpt-4o", base_url=f"{url}/v1", api_key="stand-in").bind_tools([counter])
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([counter], handle_tool_errors=True))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition, {"tools": "tools", END: END})
    graph.add_edge("tools", "agent")
    asked = {"messages": [("system", "Count lines."), ("user", QUESTION)]}
    graph.compile().invoke(asked, {"callbacks": [LangChainTracer(client=client)], "metadata": {"thread_id": "t-1"}})


KINDS: dict[str, Callable[[str, Client], None]] = {
    "openai": openai_loop,
    "anthropic": anthropic_loop,
    "langgraph": langgraph_agent,
}


def main(kind: str, model: str, collector: str) -> None:
    """Run one, and wait until its runs are sent."""
    # One body with all runs as JSON, not parts of a form.
    batches = {"use_multipart_endpoint": False, "size_limit": 100, "size_limit_bytes": 20_000_000}
    workers = {"scale_up_qsize_trigger": 1000, "scale_up_nthreads_limit": 1, "scale_down_nempty_trigger": 4}
    client = Client(api_url=collector, api_key="stand-in", info={"batch_ingest_config": batches | workers})
    KINDS[kind](model, client)
    client.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
