"""Native traces from JSON lines: one a line, read line by line, bad lines reported and left out."""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from scalepan.errors import InputError
from scalepan.trace.model import ReasoningTrace

MAX_LINE_BYTES = 64 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class Row(NamedTuple):
    """A trace and the line it stands on."""

    line: int
    trace: ReasoningTrace


class BadRow(NamedTuple):
    """A line that is no trace, and why."""

    line: int
    error: InputError


def read_jsonl(stream: BinaryIO, name: str) -> Iterator[Row | BadRow]:
    """Every line of `stream` as a trace or as the reason why it is none; blank lines are passed over."""
    for number, data in _lines(stream):
        if data is None:
            yield BadRow(number, InputError(f"is longer than {MAX_LINE_BYTES:,} bytes", file=name, line=number))
            continue
        data = data.removeprefix(_BOM).strip() if number == 1 else data.strip()
        if not data:
            continue
        try:
            yield Row(number, ReasoningTrace.from_json(data))
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
