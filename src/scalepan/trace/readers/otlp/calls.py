"""A span as a call: what was sent to a model and what it answered, or what a tool was given and what it returned."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.lenient import first_text, items, mapping, number, parsed, text, whole, words
from scalepan.trace.readers.otlp.messages import answer_entries, event_entries, history_entries
from scalepan.trace.readers.otlp.openinference import flat_entries
from scalepan.trace.readers.otlp.records import DETAILS, SpanEvent, SpanRecord

_READ = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_WROTE = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
_COST = ("llm.cost.total", "operation.cost")
_MODELS = (
    *("gen_ai.response.model", "llm.response.model_name", "gen_ai.request.model"),
    *("llm.model_name", "llm.request.model_name"),
)
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "tool_call.function.name")
_TOOL_IDS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")
_TOOL_INPUTS = ("gen_ai.tool.call.arguments", "tool_call.function.arguments", "tool_arguments", "input.value")
_TOOL_RESULTS = ("gen_ai.tool.call.result", "tool_response", "output.value")


class ModelSpan(NamedTuple):
    """One call of a model, or the input and output of a whole agent."""

    start: int
    end: int
    history: list[LogEntry]
    answer: list[LogEntry]
    failed: bool
    id: str | None
    model: str | None
    ended: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None

    @property
    def has_content(self) -> bool:
        """Whether anything that was said was captured."""
        return any(entry.kind != "skip" for entry in (*self.history, *self.answer))


class ToolSpan(NamedTuple):
    """One call of a tool."""

    start: int
    end: int
    name: str
    id: str | None
    span_id: str
    input: Any
    result: str | None
    failed: bool | None


def model_span(span: SpanRecord, also: Sequence[SpanRecord] = (), logged: Sequence[SpanEvent] = ()) -> ModelSpan:
    """A call of a model. `also` are spans inside that repeat it; `logged` are its events among the logs."""
    spans = [span, *also]
    events = [*(event for one in spans for event in one.events), *logged]
    stated: dict[str, Any] = {}
    # What the outer span says stands before what the inner ones and the events say.
    for held in [*(one.attributes for one in spans), *(event.attributes for event in events if event.name == DETAILS)]:
        stated |= {key: value for key, value in held.items() if key not in stated}
    history, answer, ended = _messages(stated, events)
    reasons = [reason for reason in items(stated.get("gen_ai.response.finish_reasons")) if text(reason)]
    failed = span.failed is True or text(stated.get("error.type")) is not None
    return ModelSpan(
        span.start,
        span.end,
        history,
        answer,
        failed,
        id=text(stated.get("gen_ai.response.id")),
        model=first_text(*(stated.get(key) for key in _MODELS)),
        ended=first_text(*reasons, stated.get("llm.finish_reason"), ended, stated.get("error.type")),
        input_tokens=_first(stated, _READ, whole),
        output_tokens=_first(stated, _WROTE, whole),
        cost_usd=_first(stated, _COST, number),
    )


def _messages(stated: dict[str, Any], events: list[SpanEvent]) -> tuple[list[LogEntry], list[LogEntry], str | None]:
    """What was sent and answered, each by the first of the conventions that has it."""
    by_events = event_entries(sorted(events, key=lambda event: event.nanos))
    history = (
        history_entries(stated.get("gen_ai.input.messages"))
        or flat_entries(stated, "llm.input_messages", "user")
        or by_events[0]
        or _plain(stated, "input", "request")
    )
    answer = (
        answer_entries(stated.get("gen_ai.output.messages"))
        or flat_entries(stated, "llm.output_messages", "assistant")
        or by_events[1]
        or _plain(stated, "output", "say")
    )
    if stated.get("gen_ai.system_instructions"):
        history.insert(0, LogEntry("skip", "system message"))
    return history, answer, by_events[2]


def _plain(stated: dict[str, Any], name: str, kind: Any) -> list[LogEntry]:
    """OpenInference's text of a whole input or output; JSON there is whatever a program handed over."""
    said = text(stated.get(f"{name}.value"))
    return [LogEntry(kind, said)] if said and stated.get(f"{name}.mime_type") != "application/json" else []


def tool_span(span: SpanRecord, also: Sequence[SpanRecord] = ()) -> ToolSpan:
    """A call of a tool; `also` are spans inside it, which are the same call."""
    stated: dict[str, Any] = {}
    for one in (span, *also):
        stated |= {key: value for key, value in one.attributes.items() if key not in stated}
    given = next((stated[key] for key in _TOOL_INPUTS if stated.get(key) is not None), None)
    returned = next((stated[key] for key in _TOOL_RESULTS if stated.get(key) is not None), None)
    message = _tool_message(returned)
    failed = [one for one in (span, *also) if one.failed]
    wrong = bool(failed) or text(stated.get("error.type")) is not None or message.get("status") == "error"
    said = words(message.get("content")) if message else words(returned)
    return ToolSpan(
        span.start,
        span.end,
        tool_name(span),
        first_text(*(stated.get(key) for key in _TOOL_IDS), message.get("tool_call_id")),
        span.id,
        parsed(given),
        said or next(filter(None, map(_error_text, failed)), None),
        True if wrong else span.failed,
    )


def tool_name(span: SpanRecord) -> str:
    """The tool that a span calls."""
    stated = (span.attributes.get(key) for key in _TOOL_NAMES)
    return first_text(*stated, span.name.removeprefix("execute_tool ")) or "unknown"


def same_tool_call(inner: SpanRecord, outer: SpanRecord) -> bool:
    """Whether the span of a tool inside that of a tool reports the same call."""
    inner_id, outer_id = (first_text(*(one.attributes.get(key) for key in _TOOL_IDS)) for one in (inner, outer))
    return tool_name(inner) == tool_name(outer) or (inner_id is not None and inner_id == outer_id)


def _tool_message(returned: Any) -> dict[str, Any]:
    """The message of LangChain that a tool returned, if it is one."""
    value = mapping(parsed(returned))
    data = mapping(value.get("data", value.get("kwargs")))
    return data if text(data.get("tool_call_id")) else {}


def _error_text(span: SpanRecord) -> str | None:
    """What an error says: the exception, else the status, of which some emitters make a whole traceback."""
    raised = [event.attributes.get("exception.message") for event in span.events if event.name == "exception"]
    said = first_text(*raised, span.message)
    return said.partition("Traceback (most recent call last)")[0].strip() or said if said else None


def _first(stated: dict[str, Any], keys: tuple[str, ...], kind: Any) -> Any:
    return next((found for key in keys if (found := kind(stated.get(key))) is not None), None)
