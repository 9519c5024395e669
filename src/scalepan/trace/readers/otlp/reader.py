"""The reader of OpenTelemetry traces: OTLP JSON by lines, as a document or an array, and OTLP protobuf."""

from collections.abc import Iterator

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import digest
from scalepan.trace.readers.lenient import as_json
from scalepan.trace.readers.otlp import wire
from scalepan.trace.readers.otlp.records import is_told
from scalepan.trace.readers.otlp.requests import is_text, requests_with_others
from scalepan.trace.readers.otlp.traces import OpenTraces, RunTrace
from scalepan.trace.readers.source import BadRow, Head, Source, TraceLine
from scalepan.trace.readers.table import Reader, SeenRecords


def read_otlp(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """The traces of a file and its bad records. The line of a trace is that of its first record."""
    table = OpenTraces()
    found = False
    for request in requests_with_others(source):
        if isinstance(request, BadRow):
            found = True
            yield request
            continue
        if request.cut is not None and request.own and not table.cut():
            found = True
            yield request.cut
        for run in table.add(request.data, request.line, request.size, own=request.own):
            found = True
            yield from _row(run, source, seen)
    for run in table.close_all():
        found = True
        yield from _row(run, source, seen)
    if not found:
        yield source.bad(1, "has no GenAI span or event: nothing in it has gen_ai.* or openinference.* attributes")


def _row(run: RunTrace, source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    line, made = run
    if not isinstance(made, ReasoningTrace):
        yield BadRow(line, made.at(file=source.name, line=line))
    elif seen.first(f"{made.id}:{_content(made)}"):
        yield TraceLine(line, made)


def _content(trace: ReasoningTrace) -> str:
    """Copies of a file have the same traces; parts of one trace in two files differ."""
    return digest(as_json([(step.type, step.content, step.input) for step in trace.steps]))


def _sniff(head: Head) -> bool:
    if is_text(head):
        return any(is_told(record) for record in head.records[:8])
    return wire.is_framed(head.start) or wire.is_request(head.start)


READER = Reader("otlp", "OpenTelemetry traces of agents: OTLP JSON and protobuf", _sniff, read_otlp)
