"""The reader of OpenTelemetry traces: OTLP JSON by lines, as a document or an array, and OTLP protobuf."""

from collections.abc import Iterator
from typing import Any

from scalepan.errors import InputError
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import digest
from scalepan.trace.readers.lenient import as_json
from scalepan.trace.readers.otlp import wire
from scalepan.trace.readers.otlp.records import LOGS, SPANS, is_request
from scalepan.trace.readers.otlp.traces import OpenTraces, RunTrace
from scalepan.trace.readers.source import BadRow, Head, Source, TraceLine, decode
from scalepan.trace.readers.table import Reader, SeenRecords


def read_otlp(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """The traces of a file and its bad records. A trace begins where its first record is."""
    table = OpenTraces()
    found = False
    for request in _requests(source):
        if isinstance(request, BadRow):
            found = True
            yield request
            continue
        line, size, data = request
        for row in _rows(table.add(data, line, size), source, seen):
            found = True
            yield row
    for row in _rows(table.close_all(), source, seen):
        found = True
        yield row
    if not found:
        yield source.bad(1, "has no span of an agent: none has gen_ai.* or openinference.* attributes")


def _rows(runs: Iterator[RunTrace], source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    for line, made in runs:
        if not isinstance(made, ReasoningTrace):
            yield BadRow(line, made.at(file=source.name, line=line))
        elif seen.first(f"{made.id}:{_content(made)}"):
            yield TraceLine(line, made)


def _content(trace: ReasoningTrace) -> str:
    """Copies of a file have the same traces; parts of one trace in two files differ."""
    return digest(as_json([(step.type, step.content, step.input) for step in trace.steps]))


def _requests(source: Source) -> Iterator[tuple[int, int, dict[str, Any]] | BadRow]:
    if _is_text(source.head):
        yield from _json_requests(source)
    else:
        yield from _protobuf_requests(source)


def _json_requests(source: Source) -> Iterator[tuple[int, int, dict[str, Any]] | BadRow]:
    for record in source.records():
        if isinstance(record, BadRow):
            yield record
            continue
        try:
            data = decode(record.data)
        except InputError as error:
            yield BadRow(record.line, error.at(file=source.name, line=record.line))
            continue
        if is_request(data):
            yield record.line, len(bytes(record.data)), data
        else:
            yield source.bad(record.line, f"is not an OTLP request: it has no {SPANS} and no {LOGS}")


def _protobuf_requests(source: Source) -> Iterator[tuple[int, int, dict[str, Any]] | BadRow]:
    """Lines are numbers of requests."""
    data = source.whole()
    bodies = wire.frames(data) if wire.is_framed(data[:4096]) else iter([data])
    number = 0
    try:
        for body in bodies:
            number += 1
            try:
                yield number, len(body), wire.decoded(body)
            except InputError as error:
                yield BadRow(number, error.at(file=source.name, line=number))
    except InputError as error:
        yield BadRow(number + 1, error.at(file=source.name, line=number + 1))


def _is_text(head: Head) -> bool:
    return head.start.lstrip()[:1] in (b"{", b"[")


def _sniff(head: Head) -> bool:
    if _is_text(head):
        return any(is_request(record) for record in head.records[:8])
    return wire.is_framed(head.start) or wire.is_request(head.start)


READER = Reader("otlp", "OpenTelemetry traces of agents: OTLP JSON and protobuf", _sniff, read_otlp)
