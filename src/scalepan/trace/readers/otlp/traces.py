"""The traces in requests of OTLP: spans and events are joined by their trace, then each run of an agent is a trace.

The records of a trace may be in several requests and in any order. Traces are held until the end of the input, but not
more than `OPEN_TRACES` of them or `OPEN_BYTES` bytes: beyond that, the one that was longest without a new record is
closed. If more of it follows after that, it is a trace of its own.

Where a conversation goes on in another OpenTelemetry trace, its requests repeat the messages of the earlier ones. They
count once, in the trace where they were new.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from scalepan.errors import InputError
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import TraceBuilder, digest
from scalepan.trace.readers.entries import LogEntry, play
from scalepan.trace.readers.otlp.calls import ModelSpan, model_span, tool_span
from scalepan.trace.readers.otlp.kinds import agent_name, unmapped_name
from scalepan.trace.readers.otlp.records import DETAILS, LoggedEvent, SpanEvent, SpanRecord, logged_events_of, spans_of
from scalepan.trace.readers.otlp.runs import MAIN, SpanRun, runs_of
from scalepan.trace.readers.otlp.story import FIRM, RunStory, entry_key
from scalepan.trace.readers.otlp.values import when

OPEN_TRACES = 4096
OPEN_BYTES = 48 * 1024 * 1024
KNOWN_CONVERSATIONS = 65_536
_FORMAT = "otlp"
_INSTRUMENTATIONS = (
    "opentelemetry.instrumentation.genai.",
    "opentelemetry.instrumentation.",
    "openinference.instrumentation.",
)


class RunTrace(NamedTuple):
    """What became of a run: a trace, or the reason why it is none; and the record in which it began."""

    line: int
    trace: ReasoningTrace | InputError


class OpenTrace:
    """The records of one OpenTelemetry trace."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.size = 0
        self.own = False
        """Whether a record of it is in the file that was asked for."""
        self.spans: dict[str, SpanRecord] = {}
        self.events: dict[str, list[LoggedEvent]] = {}


class OpenTraces:
    """The traces that are being put together."""

    def __init__(self) -> None:
        self._open: dict[str, OpenTrace] = {}
        self._size = 0
        self._conversations = _Conversations()

    def add(self, request: dict[str, Any], line: int = 1, size: int = 0, *, own: bool = True) -> Iterator[RunTrace]:
        """One more request of `size` bytes; yields the traces that are closed to make room.

        A trace whose requests are all not `own` is left out.
        """
        spans = list(spans_of(request))
        events = list(logged_events_of(request))
        share = size // (len(spans) + len(events)) if spans or events else 0
        for span in spans:
            # An exporter that tries again sends a span twice.
            self._held(span.trace_id, line, share, own).spans.setdefault(span.id, span)
        for event in events:
            self._held(event.trace_id, line, share, own).events.setdefault(event.span_id, []).append(event)
        while self._open and (len(self._open) > OPEN_TRACES or self._size > OPEN_BYTES):
            yield from self._close(next(iter(self._open)))

    def close_all(self) -> Iterator[RunTrace]:
        """The traces that are left, in the order in which they began."""
        for trace_id in sorted(self._open, key=lambda one: self._open[one].line):
            yield from self._close(trace_id)

    def _held(self, trace_id: str, line: int, size: int, own: bool) -> OpenTrace:
        held = self._open.pop(trace_id, None) or OpenTrace(line)
        if own and not held.own:
            held.line, held.own = line, True
        self._open[trace_id] = held
        held.size += size
        self._size += size
        return held

    def _close(self, trace_id: str) -> Iterator[RunTrace]:
        held = self._open.pop(trace_id)
        self._size -= held.size
        return _traces(trace_id, held, self._conversations) if held.own else iter(())


def traces_of(requests: Iterable[dict[str, Any]]) -> list[ReasoningTrace]:
    """The traces of requests: decoded ExportTraceServiceRequest and ExportLogsServiceRequest bodies, in any order."""
    table = OpenTraces()
    found = [one for request in requests for one in table.add(request)]
    return [one.trace for one in (*found, *table.close_all()) if isinstance(one.trace, ReasoningTrace)]


def _traces(trace_id: str, held: OpenTrace, conversations: "_Conversations") -> Iterator[RunTrace]:
    """The traces of one OpenTelemetry trace; nothing for one without GenAI spans."""
    for span_id, events in held.events.items():
        if span_id not in held.spans:
            held.spans[span_id] = _span_of_events(trace_id, span_id, events)
    runs = runs_of(held.spans)
    ids = _ids(trace_id, runs)
    parents = {run.key: run.parent for run in runs}
    names = {run.key: parts for run, parts in zip(reversed(runs), reversed(ids), strict=True)}
    for run, id_parts in zip(runs, ids, strict=True):
        builder = _RunBuilder(run, held.events, conversations).builder
        if not builder.steps and len(runs) > 1 and not run.models and not run.tools:
            # A program that only starts agents is no agent. Runs are in the order of their beginning: it was first.
            parents = {key: run.parent if parent == run.key else parent for key, parent in parents.items()}
            continue
        parent = parents[run.key]
        if parent is not None and parent in names:
            builder.parent = ":".join(["kp:trace", _FORMAT, *names[parent]])
        try:
            yield RunTrace(held.line, builder.build(*id_parts))
        except InputError as error:
            yield RunTrace(held.line, error)


def _ids(trace_id: str, runs: list[SpanRun]) -> list[list[str]]:
    """The name of each run: the trace, the span that it began with, and its conversation if that has several."""
    ids = []
    keys = set()
    for run in runs:
        parts = [trace_id, run.key] if run.key != MAIN else [trace_id]
        ids.append([*parts, digest(run.conversation or "")] if run.key in keys else parts)
        keys.add(run.key)
    return ids


def _span_of_events(trace_id: str, span_id: str, events: list[LoggedEvent]) -> SpanRecord:
    """A call whose events were logged and whose span was not."""
    times = [one.event.nanos for one in events]
    details = next((one.event.attributes for one in events if one.event.name == DETAILS), {})
    stated = {"gen_ai.operation.name": "chat"} | details
    first = events[0]
    return SpanRecord(
        trace_id, span_id, None, "", min(times), max(times), None, None, stated, [], first.scope, first.service
    )


class _RunBuilder:
    """Makes a trace of a run."""

    def __init__(self, run: SpanRun, logged: dict[str, list[LoggedEvent]], conversations: "_Conversations") -> None:
        self._conversations = conversations
        self._logged = logged
        self._story = RunStory()
        spans = sorted(run.spans, key=lambda span: span.start)
        root = next(iter(run.around), None)
        scope = next((span.scope for span in spans if span.scope), None)
        self.builder = builder = TraceBuilder(_FORMAT, framework=_framework(scope))
        builder.session = run.conversation
        builder.project = next((span.service for span in spans if span.service), None)
        builder.agent_id = next((name for span in spans if (name := agent_name(span.attributes))), None)
        builder.created_at = next((when(span.start) for span in spans if span.start), None)
        calls = [self._model(call) for call in run.models.values()]
        self._converse(calls, run.around)
        self._story.add_tools([tool_span(*_with_inner(call)) for call in run.tools.values()])
        for span in run.others:
            builder.skip(unmapped_name(span.attributes))
        if root is not None and root.failed and builder.ended is None:
            builder.ended = "error"
        play(self._story.entries(), builder)

    def _model(self, spans: list[SpanRecord]) -> ModelSpan:
        return model_span(spans[0], spans[1:], [event for span in spans for event in self._events(span.id)])

    def _events(self, span_id: str) -> list[SpanEvent]:
        return [one.event for one in self._logged.get(span_id, [])]

    def _converse(self, calls: list[ModelSpan], around: list[SpanRecord]) -> None:
        """The calls of the model; if none has content, what the agent was asked and answered."""
        answers: set[str] = set()
        first = True
        for call in calls:
            if call.id is not None and call.id in answers:
                # Two instrumentations beside each other.
                continue
            answers.add(call.id or "")
            self._count(call)
            if first and call.history:
                self._story.share(self._conversations.known(call.history))
                first = False
            self._story.add_history(call.history, call.start)
            self._story.add_answer(call)
            self._conversations.note([*call.history, *call.answer])
        if not any(call.has_content for call in calls):
            whole = (model_span(span, (), self._events(span.id)) for span in around)
            told = next((one for one in whole if one.has_content), None)
            if told is not None:
                self._story.add_history(told.history, told.start)
                for entry in told.answer:
                    self._story.add_history(
                        [entry], max(told.end, *(call.end for call in calls)) if calls else told.end
                    )

    def _count(self, call: ModelSpan) -> None:
        builder = self.builder
        builder.model = call.model or builder.model
        builder.ended = call.ended or builder.ended
        builder.input_tokens = _sum(builder.input_tokens, call.input_tokens)
        builder.output_tokens = _sum(builder.output_tokens, call.output_tokens)
        builder.cost_usd = _sum(builder.cost_usd, call.cost_usd)


class _Conversations:
    """How conversations stood after each answer, so that a later trace does not tell them again."""

    def __init__(self) -> None:
        self._ends: dict[bytes, None] = {}

    def note(self, entries: list[LogEntry]) -> None:
        """The conversation as it is now."""
        end = _chain(entries)[-1]
        self._ends.pop(end, None)
        self._ends[end] = None
        while len(self._ends) > KNOWN_CONVERSATIONS:
            del self._ends[next(iter(self._ends))]

    def known(self, history: list[LogEntry]) -> list[LogEntry]:
        """The beginning of a history that an earlier trace has."""
        firm = [index for index, entry in enumerate(history) if entry.kind in FIRM]
        chain = _chain(history)
        for count in range(len(firm), 0, -1):
            if chain[count] in self._ends:
                return history[: firm[count - 1] + 1]
        return []


def _chain(entries: list[LogEntry]) -> list[bytes]:
    """A name for every beginning of a conversation."""
    chain = [b""]
    for entry in entries:
        if entry.kind in FIRM:
            chain.append(hashlib.blake2b(chain[-1] + entry_key(entry), digest_size=16).digest())
    return chain


def _with_inner(spans: list[SpanRecord]) -> tuple[SpanRecord, list[SpanRecord]]:
    return spans[0], spans[1:]


def _framework(scope: str | None) -> str | None:
    """The library that made the spans, by the name of its instrumentation."""
    if scope is not None and scope.startswith("opentelemetry.util."):
        return None
    for start in _INSTRUMENTATIONS:
        if scope is not None and scope.startswith(start):
            return scope.removeprefix(start)
    return scope


def _sum(one: Any, other: Any) -> Any:
    return other if one is None else one + (other or 0)
