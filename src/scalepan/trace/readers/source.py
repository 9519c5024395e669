"""A file to read traces from: decompressed, looked at once to find its format, then read record by record.

Memory stays small whatever the size: a file of lines is read line by line. A JSON document, which has to be decoded as
a whole, is read up to `MAX_DOCUMENT_BYTES`.
"""

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice, starmap
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import msgspec

from scalepan.errors import InputError
from scalepan.files import open_source
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.csvrows import csv_header, csv_rows
from scalepan.trace.readers.packed import BROKEN, HEAD_BYTES, unpacked

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_DOCUMENT_BYTES = 512 * 1024 * 1024
HEAD_RECORDS = 32
T = TypeVar("T")
_BOM = b"\xef\xbb\xbf"
_PARQUET = b"PAR1"


class TraceLine(NamedTuple):
    """A trace and where it begins: a line of the file, or the number of the record in it."""

    line: int
    trace: ReasoningTrace


class BadRow(NamedTuple):
    """A record that is not a trace, and why."""

    line: int
    error: InputError


class JsonRecord(msgspec.Struct, frozen=True, gc=False):
    """One JSON value of a file and its line (in an array: its number), not decoded yet."""

    line: int
    data: bytes | memoryview | msgspec.Raw


class Head:
    """The beginning of a file, from which its format is found."""

    def __init__(self, name: str, start: bytes) -> None:
        self.name = name
        """The file's name without its folder and without `.gz` or `.zst`."""
        self.start = start.removeprefix(_BOM)
        """Up to `HEAD_BYTES` bytes, decompressed."""

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The first JSON objects: lines, items of an array, the one document, or rows; those that could be decoded."""
        return [record for record in self._values() if isinstance(record, dict)][:HEAD_RECORDS]

    @cached_property
    def columns(self) -> list[str] | None:
        """The columns of a CSV file; None if it is something else."""
        return csv_header(self.start)

    @property
    def first(self) -> dict[str, Any]:
        """The first of them, or an empty one."""
        return self.records[0] if self.records else {}

    def has(self, *keys: str) -> bool:
        """Whether the first object has all of these keys."""
        return all(key in self.first for key in keys)

    def _values(self) -> Iterator[Any]:
        text = self.start.strip()
        if self.columns is not None:
            rows = csv_rows(io.BytesIO(self.start).readline, self.columns, HEAD_BYTES)
            yield from (_decoded(row) for _, row in islice(rows, HEAD_RECORDS) if isinstance(row, bytes))
            return
        if text[:1] not in (b"{", b"["):
            return
        values = [_decoded(line) for line in text.split(b"\n", HEAD_RECORDS)[:HEAD_RECORDS] if line.strip()]
        if any(isinstance(value, dict) for value in values):
            yield from values
            return
        document = _decoded(text)
        if document is None:
            # Too long for the head: whatever can be decoded of its beginning.
            document = beginning_of(text)
        yield from document if isinstance(document, list) else [document]


class Source:
    """One input. Reading it twice works for files; standard input can be read once, after its head."""

    def __init__(self, stream: BinaryIO, name: str, path: Path | None = None) -> None:
        self.name = name
        """What errors call it."""
        self.path = path
        """Where it is on disk; None for standard input."""
        self._raw = stream
        self._stream, start = unpacked(stream, name)
        base = os.path.basename(name)
        for ending in (".gz", ".zst", ".zstd"):
            base = base.removesuffix(ending)
        self._parquet = start.startswith(_PARQUET)
        if self._parquet:
            start = b"\n".join(islice(self._parquet_rows(), HEAD_RECORDS))
        self.head = Head(base, start)

    @property
    def position(self) -> int:
        """How many bytes of the file have been read, as they are on disk; 0 if that is not known."""
        try:
            return self._raw.tell()
        except (OSError, ValueError):
            return 0

    def lines(self) -> Iterator[tuple[int, bytes | None]]:
        """Numbered lines, blank ones left out; None for one that is longer than `MAX_LINE_BYTES`."""
        readline, limit = self._stream.readline, MAX_LINE_BYTES
        number = 0
        try:
            while data := readline(limit):
                number += 1
                if len(data) >= limit and not data.endswith(b"\n"):
                    while (rest := readline(limit)) and not rest.endswith(b"\n"):
                        pass
                    yield number, None
                    continue
                data = data.strip() if number > 1 else data.removeprefix(_BOM).strip()
                if data:
                    yield number, data
        except BROKEN as error:
            raise self._broken(error) from None

    def records(self) -> Iterator[JsonRecord | BadRow]:
        """Every JSON value: a line, an item of an array, the one document that the file is, a row of Parquet or CSV."""
        if self._parquet:
            yield from starmap(JsonRecord, enumerate(self._parquet_rows(), 1))
            return
        if self.head.columns is not None:
            for number, row in csv_rows(self._readline, self.head.columns, MAX_LINE_BYTES):
                yield JsonRecord(number, row) if isinstance(row, bytes) else self.bad(number, row)
            return
        if self._is_document():
            yield from self._items(self.whole())
            return
        for number, data in self.lines():
            if data is None:
                yield self.bad(number, f"is longer than {MAX_LINE_BYTES:,} bytes")
            else:
                yield JsonRecord(number, data)

    def whole(self) -> bytes:
        """All of it, decompressed."""
        try:
            data = self._stream.read(MAX_DOCUMENT_BYTES + 1)
        except BROKEN as error:
            raise self._broken(error) from None
        if len(data) > MAX_DOCUMENT_BYTES:
            raise InputError(f"is one document of more than {MAX_DOCUMENT_BYTES:,} bytes", file=self.name)
        return data

    def _parquet_rows(self) -> Iterator[bytes]:
        """Each row as JSON; a row of one text column is that text."""
        from scalepan.store.duckdb.parquet import parquet_rows

        if self.path is None:
            raise InputError("is Parquet, which cannot be read from a pipe; give the file", file=self.name)
        for row in parquet_rows(self.path):
            only = next(iter(row.values())) if len(row) == 1 else None
            yield only.encode() if isinstance(only, str) else msgspec.json.encode(row, enc_hook=str)

    def bad(self, line: int, problem: str) -> BadRow:
        """A record that cannot be read, with its place."""
        return BadRow(line, InputError(problem, file=self.name, line=line))

    def _readline(self) -> bytes:
        try:
            return self._stream.readline(MAX_LINE_BYTES)
        except BROKEN as error:
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> InputError:
        said = getattr(error, "strerror", None) or str(error)
        return InputError(f"cannot be read to its end: {said}", file=self.name)

    def _is_document(self) -> bool:
        """Whether it is an array, or one JSON value over several lines: then no line alone is an object."""
        text = self.head.start.strip()
        if text[:1] == b"[":
            return True
        first, _, rest = text.partition(b"\n")
        second = rest.lstrip().partition(b"\n")[0]
        return text[:1] == b"{" and bool(second) and _cut_short(first) and not isinstance(_decoded(second), dict)

    def _items(self, data: bytes) -> Iterator[JsonRecord | BadRow]:
        text = data.removeprefix(_BOM).strip()
        if not text.startswith(b"["):
            yield JsonRecord(1, text)
            return
        try:
            items = msgspec.json.decode(text, type=list[msgspec.Raw])
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            yield self.bad(1, f"is not JSON: {error}")
            return
        if not items:
            yield JsonRecord(1, text)
        for number, item in enumerate(items, 1):
            yield JsonRecord(number, item)


@contextmanager
def open_path(path: str | os.PathLike[str], name: str | None = None) -> Iterator[Source]:
    """A file on disk as a source; what cannot be opened is an InputError."""
    shown = name or os.fspath(path)
    try:
        file = open_source(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=shown) from None
    with file:
        yield Source(file, shown, Path(path))


def decode(data: bytes | memoryview | msgspec.Raw) -> dict[str, Any]:
    """One record as plain data; an InputError says why it is none."""
    try:
        value = msgspec.json.decode(data)
    except UnicodeError:
        raise InputError("is not UTF-8 text") from None
    except RecursionError:
        raise InputError("is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise InputError(f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError("is not a JSON object")
    return value


def decode_as(decoder: msgspec.json.Decoder[T], data: bytes | memoryview | msgspec.Raw, path: str = "") -> T:
    """One record, or the part of it at `path`, as what a decoder makes of it; an InputError says why it cannot."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        path = f"{path}{where.rstrip('`')}".lstrip(".")
    except UnicodeError:
        problem = "is not UTF-8 text"
    except RecursionError:
        problem = "is nested too deeply"
    except msgspec.DecodeError as error:
        problem = f"is not JSON: {error}"
        if mended := _without_half_characters(bytes(data)):
            return decode_as(decoder, mended, path)
    raise InputError(problem, path=path)


def _without_half_characters(data: bytes) -> bytes | None:
    """JSON without halves of surrogate pairs. JavaScript writes them when a text is cut inside an emoji."""
    if b"\\ud" not in data.lower():
        return None
    try:
        text = json.dumps(json.loads(data), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    mended = text.encode("utf-8", "replace")
    return mended if mended != data else None


def beginning_of(text: bytes) -> Any:
    """The beginning of a JSON document that was cut off, as far as it can be closed again.

    >>> beginning_of(b'{"a": {"b": 1}, "c": [1, 2, {"d": "x')
    {'a': {'b': 1}, 'c': [1, 2]}
    """
    closers: list[int] = []
    last: tuple[int, bytes] | None = None
    in_string = escaped = False
    for at, byte in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_string = False
        elif byte == 0x22:
            in_string = True
        elif byte in b"{[":
            closers.append(0x7D if byte == 0x7B else 0x5D)
        elif byte in b"}]" and closers:
            closers.pop()
        elif byte == 0x2C and closers:
            # Before a comma, everything so far is complete.
            last = (at, bytes(reversed(closers)))
    return _decoded(text[: last[0]] + last[1]) if last else None


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _cut_short(line: bytes) -> bool:
    """Whether a line is only the beginning of a JSON value, as in a document that is printed over many lines."""
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except (UnicodeError, RecursionError):
        return False
    return False
