"""Native traces from JSON lines: one per line, read one by one, bad lines reported and skipped."""

import os
from collections.abc import Iterator
from io import TextIOBase
from pathlib import Path
from typing import BinaryIO, NamedTuple

from scalepan.arguments import as_path, wrong
from scalepan.errors import InputError
from scalepan.files import open_source
from scalepan.trace.model import ReasoningTrace

MAX_LINE_BYTES = 64 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class TraceLine(NamedTuple):
    """A trace and its line number."""

    line: int
    trace: ReasoningTrace


class BadRow(NamedTuple):
    """A line that is not a trace, and why."""

    line: int
    error: InputError


def read_jsonl(source: BinaryIO | str | os.PathLike[str], name: str | None = None) -> Iterator[TraceLine | BadRow]:
    """Every line of a file as a trace, or as the reason why it is not one; blank lines are skipped.

    `source` is a path, or a file that is open for reading bytes; `name` is what errors call it.
    """
    if isinstance(source, (str, os.PathLike)):
        return _read_path(as_path("source", source), name)
    if isinstance(source, TextIOBase) or not callable(getattr(source, "readline", None)):
        raise wrong("source", source, "a path, or a file that is open for reading bytes: open(path, 'rb')")
    return _read(source, name or str(getattr(source, "name", "traces")))


def _read_path(path: Path, name: str | None) -> Iterator[TraceLine | BadRow]:
    try:
        with open_source(path) as stream:
            yield from _read(stream, name or str(path))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None


def _read(stream: BinaryIO, name: str) -> Iterator[TraceLine | BadRow]:
    for number, data in _lines(stream):
        if data is None:
            yield BadRow(number, InputError(f"is longer than {MAX_LINE_BYTES:,} bytes", file=name, line=number))
            continue
        data = data.removeprefix(_BOM).strip() if number == 1 else data.strip()
        if not data:
            continue
        try:
            yield TraceLine(number, ReasoningTrace.from_json(data))
        except InputError as error:
            yield BadRow(number, error.at(file=name, line=number))


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines; None for one that is too long to be a trace (a binary file may have no line breaks at all)."""
    number = 0
    while data := stream.readline(MAX_LINE_BYTES):
        number += 1
        if len(data) < MAX_LINE_BYTES or data.endswith(b"\n"):
            yield number, data
            continue
        while (rest := stream.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
        yield number, None
