"""What a reader makes of some bytes, in a form that a table in a test can hold."""

import io
from typing import Any

import msgspec

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers import BadRow, SeenRecords, Source, TraceLine, find_reader, read_source

StepRow = tuple[str, str | None, str | None]


def rows_of(data: Any, name: str = "log.json", seen: SeenRecords | None = None) -> list[TraceLine | BadRow]:
    """The rows of a file. `data` is its bytes, or one JSON document, or a list of them, one per line."""
    if isinstance(data, list):
        data = b"\n".join(map(msgspec.json.encode, data))
    raw = data if isinstance(data, bytes) else msgspec.json.encode(data)
    return list(read_source(Source(io.BytesIO(raw), name), seen=seen))


def traces_of(data: Any, name: str = "log.json", seen: SeenRecords | None = None) -> list[ReasoningTrace]:
    """The traces of a file that has no bad record."""
    rows = rows_of(data, name, seen)
    assert all(isinstance(row, TraceLine) for row in rows), rows
    return [row.trace for row in rows if isinstance(row, TraceLine)]


def problems_of(data: Any, name: str = "log.json") -> list[str]:
    """What is wrong with the records of a file that has no good one."""
    rows = rows_of(data, name)
    assert all(isinstance(row, BadRow) for row in rows), rows
    return [str(row.error) for row in rows if isinstance(row, BadRow)]


def steps_of(trace: ReasoningTrace) -> list[StepRow]:
    """Type, tool and text of every step; of a call without text, its input as JSON."""
    return [(step.type, step.tool.name if step.tool else None, _text(step)) for step in trace.steps]


def _text(step: Any) -> str | None:
    if step.content is None and step.input is not None:
        return msgspec.json.encode(step.input).decode()
    text: str | None = step.content
    return text


def reader_of(data: bytes, name: str = "log.json") -> str | None:
    """The name of the reader that takes a file with this content."""
    reader = find_reader(Source(io.BytesIO(data), name).head)
    return reader.name if reader else None
