"""Native traces from JSON lines: one per line, read one by one, bad lines reported and skipped (contract value.1)."""

import os
from collections.abc import Iterator
from io import TextIOBase
from typing import BinaryIO

from scalepan.arguments import as_path, wrong
from scalepan.errors import InputError
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.source import BadRow, Head, Source, TraceLine, open_path
from scalepan.trace.readers.table import Reader, SeenRecords


def read_jsonl(source: BinaryIO | str | os.PathLike[str], name: str | None = None) -> Iterator[TraceLine | BadRow]:
    """Every line of a file as a native trace, or as the reason why it is not one; blank lines are skipped.

    `source` is a path, or a file that is open for reading bytes; `name` is what errors call it.
    """
    if isinstance(source, (str, os.PathLike)):
        return _read_path(os.fspath(as_path("source", source)), name)
    if isinstance(source, TextIOBase) or not callable(getattr(source, "readline", None)):
        raise wrong("source", source, "a path, or a file that is open for reading bytes: open(path, 'rb')")
    return read_native(Source(source, name or str(getattr(source, "name", "traces"))))


def _read_path(path: str, name: str | None) -> Iterator[TraceLine | BadRow]:
    with open_path(path, name) as source:
        yield from read_native(source)


def read_native(source: Source, seen: SeenRecords | None = None) -> Iterator[TraceLine | BadRow]:  # noqa: ARG001 - ids decide
    """The native traces of a source."""
    for record in source.records():
        if isinstance(record, BadRow):
            yield record
            continue
        try:
            yield TraceLine(record.line, ReasoningTrace.from_json(record.data))
        except InputError as error:
            yield BadRow(record.line, error.at(file=source.name, line=record.line))


def _sniff(head: Head) -> bool:
    return any(record.get("@type") == "ReasoningTrace" or "@context" in record for record in head.records)


READER = Reader("native", "Scalepan's own JSON lines", _sniff, read_native)
