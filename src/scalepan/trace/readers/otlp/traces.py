"""The traces in requests of OTLP: spans and events are joined by their trace, then each run of an agent is a trace.

The records of a trace may be in several requests and in any order. Traces are held until the end of the input, but not
more than `OPEN_TRACES` of them or `OPEN_BYTES` bytes: beyond that, the one that was longest without a new record is
closed. If more of it follows after that, it is a trace of its own.

Where a conversation goes on in another OpenTelemetry trace, its requests repeat the messages of the earlier ones. They
count once, in the trace where they were new.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from scalepan.errors import InputError
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import digest
from scalepan.trace.readers.lenient import as_json
from scalepan.trace.readers.otlp.build import FORMAT, Logged, built_run, span_of_events
from scalepan.trace.readers.otlp.conversations import KnownConversations
from scalepan.trace.readers.otlp.records import LoggedEvent, SpanRecord, logged_events_of, spans_of
from scalepan.trace.readers.otlp.runs import MAIN, SpanRun, runs_of

OPEN_TRACES = 4096
OPEN_BYTES = 48 * 1024 * 1024


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
        self.cut = False
        """Whether the input ended after it inside a record."""
        self.spans: dict[str, SpanRecord] = {}
        self.events: Logged = {}
        self._seen: set[str] = set()

    def add_span(self, span: SpanRecord) -> None:
        """One more span; an exporter that tries again sends it twice."""
        self.spans.setdefault(span.id, span)

    def add_event(self, one: LoggedEvent) -> None:
        """One more event; the same goes for it, and it has no id."""
        event = one.event
        key = digest(as_json([one.span_id, event.name, event.nanos, event.body, event.attributes]))
        if event.nanos == 0 or key not in self._seen:
            self._seen.add(key)
            self.events.setdefault(one.span_id, []).append(one)


class OpenTraces:
    """The traces that are being put together."""

    def __init__(self) -> None:
        self._open: dict[str, OpenTrace] = {}
        self._size = 0
        self._conversations = KnownConversations()

    def add(self, request: dict[str, Any], line: int = 1, size: int = 0, *, own: bool = True) -> Iterator[RunTrace]:
        """One more request of `size` bytes; yields the traces that are closed to make room. Read it to its end.

        A trace whose requests are all not `own` is left out.
        """
        spans = list(spans_of(request))
        events = list(logged_events_of(request))
        share = size // (len(spans) + len(events)) if spans or events else 0
        for span in spans:
            self._held(span.trace_id, line, share, own).add_span(span)
        for event in events:
            self._held(event.trace_id, line, share, own).add_event(event)
        while self._open and (len(self._open) > OPEN_TRACES or self._size > OPEN_BYTES):
            yield from self._close(next(iter(self._open)))

    def cut(self) -> bool:
        """The input ends inside a record, which is counted in the last trace; False if there is none."""
        last = next((held for held in reversed(self._open.values()) if held.own), None)
        if last is not None:
            last.cut = True
        return last is not None

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


def _traces(trace_id: str, held: OpenTrace, conversations: KnownConversations) -> Iterator[RunTrace]:
    """The traces of one OpenTelemetry trace; nothing for one without GenAI spans."""
    for span_id, events in held.events.items():
        if span_id not in held.spans:
            held.spans[span_id] = span_of_events(trace_id, span_id, events)
    runs = runs_of(held.spans)
    ids = _ids(trace_id, runs)
    parents = {run.key: run.parent for run in runs}
    names = {run.key: parts for run, parts in zip(reversed(runs), reversed(ids), strict=True)}
    for run, id_parts in zip(runs, ids, strict=True):
        builder = built_run(run, held.events, conversations)
        if held.cut and run is runs[-1]:
            builder.skip("cut line")
        if not builder.steps and len(runs) > 1 and not run.models and not run.tools:
            # A program that only starts agents is no agent. Runs are in the order of their beginning: it was first.
            parents = {key: run.parent if parent == run.key else parent for key, parent in parents.items()}
            continue
        parent = parents[run.key]
        if parent is not None and parent in names:
            builder.parent = ":".join(["kp:trace", FORMAT, *names[parent]])
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
