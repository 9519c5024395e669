"""Inside .venv-logs: run a small agent under one instrumentation; its spans and events go to an OTLP endpoint.

run_otel.py <one of KINDS> <model's url> <collector's url>
"""

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
QUESTION = "How many lines has a.txt?"


def count_lines(path: str) -> str:
    """Count the lines of a file."""
    if path != "a.txt":
        raise FileNotFoundError(f"no such file: {path}")
    return "1"


def said(path: str) -> str:
    """What the tool says, an error as words."""
    try:
        return count_lines(path)
    except FileNotFoundError as error:
        return f"Error: {error}"


def chat_loop(url: str) -> None:
    """An agent by hand on the OpenAI SDK, its steps under one span as an application would have it."""
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key="stand-in")
    tools: Any = [{"type": "function", "function": {"name": "count_lines", "parameters": SCHEMA}}]
    messages: Any = [{"role": "system", "content": "Count lines."}, {"role": "user", "content": QUESTION}]
    with trace.get_tracer("app").start_as_current_span("answer"):
        while True:
            answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools).choices[0].message
            messages.append(answer.model_dump(exclude_none=True))
            if not answer.tool_calls:
                return
            for one in answer.tool_calls:
                arguments = json.loads(one.function.arguments)
                messages.append({"role": "tool", "tool_call_id": one.id, "content": said(**arguments)})


def messages_loop(url: str) -> None:
    """The same on the Anthropic SDK."""
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key="stand-in")
    tools: Any = [{"name": "count_lines", "input_schema": SCHEMA}]
    messages: Any = [{"role": "user", "content": QUESTION}]
    with trace.get_tracer("app").start_as_current_span("answer"):
        while True:
            answer = client.messages.create(
                model="claude-sonnet-4-5", max_tokens=1000, system="Count lines.", messages=messages, tools=tools
            )
            messages.append({"role": "assistant", "content": [block.model_dump() for block in answer.content]})
            made = [block for block in answer.content if block.type == "tool_use"]
            if not made:
                return
            results = [{"type": "tool_result", "tool_use_id": one.id, "content": said(**one.input)} for one in made]
            messages.append({"role": "user", "content": results})


def langgraph_agent(url: str) -> None:
    """LangGraph's agent with a tool node."""
    from langchain_core.tools import tool
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
    graph.compile().invoke({"messages": [("system", "Count lines."), ("user", QUESTION)]})


def pydantic_agent(url: str) -> None:
    """Pydantic AI, which makes its own spans."""
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="stand-in"))
    agent = Agent(model, instructions="Count lines.", name="counter")

    def counter(path: str) -> str:
        try:
            return count_lines(path)
        except FileNotFoundError as error:
            raise ModelRetry(str(error)) from error

    agent.tool_plain(name="count_lines", retries=3)(counter)
    Agent.instrument_all()
    agent.run_sync(QUESTION)


def pydantic_team(url: str) -> None:
    """Pydantic AI, where a tool of one agent asks another one."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="stand-in"))
    helper = Agent(model, name="helper")
    boss = Agent(model, name="boss")

    async def ask_helper(question: str) -> str:
        return str((await helper.run(question)).output)

    boss.tool_plain(ask_helper)
    Agent.instrument_all()
    boss.run_sync(QUESTION)


def openai_team(url: str) -> None:
    """The OpenAI Agents SDK, where one agent is a tool of another one."""
    from agents import Agent, OpenAIResponsesModel, Runner
    from openai import AsyncOpenAI

    model = OpenAIResponsesModel("gpt-5", AsyncOpenAI(base_url=f"{url}/v1", api_key="stand-in"))
    helper = Agent(name="helper", model=model)
    tool = helper.as_tool("ask_helper", "Asks the helper")
    Runner.run_sync(Agent(name="boss", model=model, tools=[tool]), QUESTION)


def openai_agent(url: str) -> None:
    """The OpenAI Agents SDK, under OpenInference's instrumentation of it."""
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="stand-in")
    agent = Agent(
        name="counter",
        instructions="Count lines.",
        model=OpenAIResponsesModel("gpt-5", client),
        tools=[function_tool(count_lines)],
    )
    Runner.run_sync(agent, QUESTION)


# What makes the spans (module, class; nothing for what makes its own), and the agent that runs under it.
KINDS: dict[str, tuple[str, str, Callable[[str], None]]] = {
    "openai-v2": ("opentelemetry.instrumentation.openai_v2", "OpenAIInstrumentor", chat_loop),
    "genai-openai": ("opentelemetry.instrumentation.genai.openai", "OpenAIInstrumentor", chat_loop),
    "genai-anthropic": ("opentelemetry.instrumentation.genai.anthropic", "AnthropicInstrumentor", messages_loop),
    "genai-langgraph": ("opentelemetry.instrumentation.genai.langchain", "LangChainInstrumentor", langgraph_agent),
    "genai-agents": ("opentelemetry.instrumentation.genai.openai_agents", "OpenAIAgentsInstrumentor", openai_agent),
    "openinference-openai": ("openinference.instrumentation.openai", "OpenAIInstrumentor", chat_loop),
    "openinference-anthropic": ("openinference.instrumentation.anthropic", "AnthropicInstrumentor", messages_loop),
    "openinference-langgraph": ("openinference.instrumentation.langchain", "LangChainInstrumentor", langgraph_agent),
    "openinference-agents": ("openinference.instrumentation.openai_agents", "OpenAIAgentsInstrumentor", openai_agent),
    "openinference-team": ("openinference.instrumentation.openai_agents", "OpenAIAgentsInstrumentor", openai_team),
    "pydantic-ai": ("", "", pydantic_agent),
    "pydantic-team": ("", "", pydantic_team),
}


def main(kind: str, model: str, collector: str) -> None:
    """Set up the exporters, the instrumentation, and run."""
    module, name, run = KINDS[kind]
    resource = Resource.create({"service.name": "counter"})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{collector}/v1/traces")))
    trace.set_tracer_provider(tracers)
    loggers = LoggerProvider(resource=resource)
    loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(f"{collector}/v1/logs")))
    if module:
        instrumentor = getattr(importlib.import_module(module), name)()
        instrumentor.instrument(tracer_provider=tracers, logger_provider=loggers)
    run(model)
    tracers.shutdown()
    loggers.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
