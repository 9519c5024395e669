"""Reads an export: records are gathered by trace, and each trace is built when all of it is there."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from scalepan.check import resolved
from scalepan.errors import InputError
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import TraceBuilder
from scalepan.trace.readers.lenient import items, mapping, text
from scalepan.trace.readers.runs.held import HeldTrace, HeldTraces
from scalepan.trace.readers.runs.merge import merge_runs
from scalepan.trace.readers.runs.run import LoggedRun
from scalepan.trace.readers.source import BadRow, JsonRecord, Source, TraceLine, decode_as
from scalepan.trace.readers.table import SeenRecords

Row = dict[str, Any]


class ExportKeys(msgspec.Struct):
    """What tells where a record belongs; the rest is decoded when its trace is complete."""

    trace_id: Any = None
    trace_id_: Any = msgspec.field(default=None, name="traceId")
    dotted_order: Any = None
    id: Any = None
    data: Any = msgspec.field(default=None, name="data")
    runs: Any = None


class Export(NamedTuple):
    """One tool's export."""

    name: str
    trace_of: Callable[[ExportKeys], str | None]
    """The trace that a record belongs to."""
    runs_of: Callable[[Row], list[LoggedRun]]
    """The runs of a record: one, or a whole tree."""
    describe: Callable[[list[Row], TraceBuilder], None]
    """Adds what the records say beside their runs."""


resolved(ExportKeys)
_KEYS = msgspec.json.Decoder(ExportKeys)
_ROW = msgspec.json.Decoder(dict[str, Any])


def read_export(export: Export, source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """The traces of a file."""
    held = HeldTraces()
    for record in source.records():
        if isinstance(record, BadRow):
            yield record
            continue
        try:
            for one in _inside(record):
                for trace in held.add(_named(export, one), one):
                    yield from _finished(export, trace, source, seen)
        except InputError as error:
            yield BadRow(record.line, error.at(file=source.name, line=record.line))
    for trace in held.close_all():
        yield from _finished(export, trace, source, seen)


def _inside(record: JsonRecord) -> Iterator[JsonRecord]:
    """The records in a record: an answer of the API has a list of them."""
    keys = decode_as(_KEYS, record.data)
    listed = next((found for found in (keys.runs, keys.data) if isinstance(found, list)), None)
    if listed is None:
        yield record
        return
    for number, item in enumerate(listed, record.line):
        yield JsonRecord(number, msgspec.json.encode(item))


def _named(export: Export, record: JsonRecord) -> str:
    name = export.trace_of(decode_as(_KEYS, record.data))
    if name is None:
        raise InputError("has no trace id")
    return name


def _finished(export: Export, held: HeldTrace, source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    rows: list[Row] = []
    for record in held.records:
        try:
            rows.append(decode_as(_ROW, record.data))
        except InputError as error:
            yield BadRow(record.line, error.at(file=source.name, line=record.line))
    if not rows:
        return
    try:
        made = _built(export, held.id, rows, seen)
    except InputError as error:
        yield BadRow(held.line, error.at(file=source.name, line=held.line))
        return
    if made is not None:
        yield TraceLine(held.line, made)


def _built(export: Export, id_: str, rows: list[Row], seen: SeenRecords) -> ReasoningTrace | None:
    """The trace of the rows; None if all of it was in another file."""
    runs = _latest([run for row in rows for run in export.runs_of(row)])
    fresh = [run for run in runs if run.kind == "other" or seen.first(f"{export.name}:{id_}:{run.id}")]
    if not any(run.kind != "other" for run in fresh) and any(run.kind != "other" for run in runs):
        return None
    builder = TraceBuilder(export.name)
    export.describe(rows, builder)
    # The rest of a trace that began in another file, or before it was closed here, is not that trace again.
    continued = not seen.first(f"{export.name}:{id_}")
    tree = merge_runs(fresh, builder, continued=continued)
    part = [tree.runs[0].id] if continued or tree.root is None else []
    return builder.build(id_, *part)


def _latest(runs: list[LoggedRun]) -> list[LoggedRun]:
    """Each run once: a client may log its start and its end, and an export may have a run twice."""
    merged: dict[str, LoggedRun] = {}
    for run in runs:
        before = merged.get(run.id)
        stated = {key: value for key, value in run._asdict().items() if value not in (None, (), {}, "")}
        merged[run.id] = run if before is None else before._replace(**stated)
    return list(merged.values())


def listed_rows(first: Row) -> list[Row]:
    """The first rows of a document: it is one, or has a list of them."""
    for key in ("runs", "data"):
        found = [row for row in items(first.get(key)) if isinstance(row, dict)]
        if found:
            return found
    return [first]


def named_text(row: Row, *keys: str) -> str | None:
    """The first of these fields that says something."""
    return next((found for key in keys if (found := text(row.get(key))) is not None), None)


def inner(row: Row, *path: str) -> Any:
    """A field inside objects; None if it is not there."""
    value: Any = row
    for key in path:
        value = mapping(value).get(key)
    return value
