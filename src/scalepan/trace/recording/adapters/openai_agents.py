"""The OpenAI Agents SDK, recorded by what it traces: `agents.add_trace_processor(recording.openai_agents(file=...))`.

Its spans say what hooks do not: that a tool failed, where a run begins and ends, and which run is inside which. Each
run of an agent is a trace; agents that are handed over to go on in it, agents as tools are sub-agents. Where tracing is
disabled, or without sensitive data, there is as little to record as there is to trace.
"""

import os
import threading
from collections.abc import Callable
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple

from scalepan.errors import ScalepanError
from scalepan.trace.readers.bodies.chat import message_entries
from scalepan.trace.readers.build import UNKNOWN_DOMAIN
from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.items import item_entries
from scalepan.trace.readers.lenient import parsed
from scalepan.trace.recording.adapters.quiet import quiet
from scalepan.trace.recording.adapters.run import AgentRun, Destination, OnTrace, destination, start_run
from scalepan.trace.recording.texts import as_plain

FRAMEWORK = "openai-agents"


def openai_agents(
    *, domain: str = UNKNOWN_DOMAIN, file: str | os.PathLike[str] | None = None, on_trace: OnTrace | None = None
) -> Any:
    """A trace processor that records every run of the OpenAI Agents SDK.

    Traces go to the `file` as JSON lines and to `on_trace`; inside `scalepan.record`, steps join that recording.
    """
    to = destination(domain, file, on_trace)
    try:
        from agents.tracing import TracingProcessor
    except ImportError:
        raise ScalepanError("recording the OpenAI Agents SDK needs it: pip install openai-agents") from None

    class RecordingProcessor(SpanRecorder, TracingProcessor):  # type: ignore[misc, unused-ignore]
        """Spans become steps."""

    return RecordingProcessor(to)


class _SpanPlace(NamedTuple):
    """Where a span is. The span itself is not held: each has the whole conversation up to it."""

    id: str
    kind: str
    parent: str | None


class _Traced:
    """What is open of one of the SDK's traces."""

    def __init__(self, trace_id: str) -> None:
        self.id = trace_id
        self.spans: dict[str | None, _SpanPlace] = {}
        self.runs: dict[str, AgentRun | None] = {}
        """By the id of the span that is the run; None if it cannot be recorded."""
        self.problems: dict[str, str] = {}
        """What went wrong in a run and was not made good."""


class SpanRecorder:
    """Spans in, steps out. The SDK calls it from any thread."""

    def __init__(self, to: Destination) -> None:
        self._to = to
        self._open: dict[str, _Traced] = {}
        self._lock = threading.RLock()

    @quiet
    def on_trace_start(self, trace: Any) -> None:
        """A workflow begins: one run, or several."""
        self._open[trace.trace_id] = _Traced(trace.trace_id)

    @quiet
    def on_trace_end(self, trace: Any) -> None:
        """A workflow ends, and with it all runs that have no span of their own."""
        traced = self._open.pop(trace.trace_id, None)
        if traced is not None:
            for key in list(traced.runs):
                self._end(traced, key)

    @quiet
    def on_span_start(self, span: Any) -> None:
        """Something begins; the recording that is active now is the run's."""
        with self._lock:
            traced = self._open.setdefault(span.trace_id, _Traced(span.trace_id))
            link = traced.spans[span.span_id] = _SpanPlace(span.span_id, span.span_data.type, span.parent_id)
            if link.kind in ("task", "agent"):
                run = self._run(traced, link)
                if run is not None and link.kind == "agent":
                    run.name(span.span_data.name)

    @quiet
    def on_span_end(self, span: Any) -> None:
        """Something ended: only now a span has what it is about."""
        with self._lock:
            traced = self._open.get(span.trace_id)
            link = traced.spans.get(span.span_id) if traced is not None else None
            if traced is None or link is None:
                return
            ended, key = _ENDED.get(link.kind), self._key(traced, link)
            run = self._run(traced, link) if ended is not None else None
            if ended is not None and run is not None:
                ended(run, span)
            if link.kind in _ANSWERS:
                traced.problems.pop(key, None)
            if span.error and link.kind != "function":
                traced.problems[key] = _problem(span.error)
            if link.id in traced.runs:
                self._end(traced, link.id)

    def shutdown(self) -> None:
        """Nothing waits here: a trace is handed over when its run ends."""

    def force_flush(self) -> None:
        """Nothing waits here."""

    @staticmethod
    def _end(traced: _Traced, key: str) -> None:
        run = traced.runs.pop(key)
        if run is not None:
            run.end(traced.problems.pop(key, None))

    def _key(self, traced: _Traced, link: _SpanPlace) -> str:
        """What is the run of this span: a task, else the tool or guardrail that runs an agent, else the trace."""
        while link.kind != "task":
            parent = traced.spans.get(link.parent)
            if parent is None:
                return traced.id
            if parent.kind in _AROUND:
                return parent.id
            link = parent
        return link.id

    def _run(self, traced: _Traced, link: _SpanPlace) -> AgentRun | None:
        key = self._key(traced, link)
        if key not in traced.runs:
            around = self._around(traced, link)
            parent = self._run(traced, around) if around is not None else None
            traced.runs[key] = start_run(self._to, FRAMEWORK, parent=parent)
        return traced.runs[key]

    @staticmethod
    def _around(traced: _Traced, link: _SpanPlace | None) -> _SpanPlace | None:
        """The tool or guardrail whose work this span is part of."""
        while link is not None and (link := traced.spans.get(link.parent)) is not None:
            if link.kind in _AROUND:
                return link
        return None


def _response(run: AgentRun, span: Any) -> None:
    """The Responses API answered."""
    data = span.span_data
    shown = [{"role": "user", "content": data.input}] if isinstance(data.input, str) else list(data.input or [])
    _see(run, [entry for item in map(_plain, shown) for entry in item_entries(item)])
    if data.response is not None:
        usage = data.response.usage
        run.used(data.response.model, usage and usage.input_tokens, usage and usage.output_tokens)
        for item in data.response.output:
            run.play(item_entries(_plain(item)))


def _generation(run: AgentRun, span: Any) -> None:
    """Another model answered, in the words of Chat Completions."""
    data = span.span_data
    _see(run, [entry for message in map(_plain, data.input or []) for entry in message_entries(message)])
    usage = data.usage or {}
    run.used(data.model, usage.get("input_tokens"), usage.get("output_tokens"))
    for message in map(_plain, data.output or []):
        run.play(message_entries({"role": "assistant"} | message))


def _plain(item: Any) -> dict[str, Any]:
    """An item or message of the SDK as plain data."""
    plain = as_plain(item.model_dump(mode="json", exclude_none=True) if hasattr(item, "model_dump") else item)
    return plain if isinstance(plain, dict) else {}


def _see(run: AgentRun, shown: list[LogEntry]) -> None:
    """What the model was shown: results that no span had, and what a person asked last."""
    run.play(entry for entry in shown if entry.kind == "result")
    last = list(takewhile(lambda entry: entry.kind in ("request", "skip"), reversed(shown)))
    run.play(entry for entry in reversed(last) if entry.kind == "request")
    run.resume(next((entry.text for entry in reversed(shown) if entry.kind == "request"), None))


def _function(run: AgentRun, span: Any) -> None:
    """A tool is done."""
    data, problem = span.span_data, span.error
    call_id = _call_of(run, data.name, parsed(data.input))
    if call_id is None:
        if run.waiting:
            return  # under another name; its result is shown to the model next
        call_id = run.call(data.name, parsed(data.input), None, server=(data.mcp_data or {}).get("server"))
    output = _problem(problem) if data.output is None and problem else data.output
    run.result(call_id, output, failed=bool(problem), latency_ms=_took(span))


def _problem(error: Any) -> str:
    """What a span says went wrong."""
    more = (error.get("data") or {}).get("error")
    return f"{error.get('message')}: {more}" if isinstance(more, str) else str(error.get("message"))


def _call_of(run: AgentRun, name: str, given: Any) -> str | None:
    """The first waiting call of this tool with this input; else the first of this tool."""
    same = [(id_, call) for id_, call in run.waiting.items() if name == call.name or name.endswith(f".{call.name}")]
    exact = [id_ for id_, call in same if call.input == given]
    return next(iter(exact + [id_ for id_, _ in same]), None)


def _took(span: Any) -> float | None:
    try:
        start, end = datetime.fromisoformat(span.started_at), datetime.fromisoformat(span.ended_at)
    except (TypeError, ValueError):
        return None
    return (end - start).total_seconds() * 1000.0


_ENDED: dict[str, Callable[[AgentRun, Any], None]] = {
    "response": _response,
    "generation": _generation,
    "function": _function,
}
_ANSWERS = frozenset(("response", "generation"))
_AROUND = frozenset(("function", "guardrail"))
"""Spans that are somebody else's work if an agent runs inside."""
