"""Files of traces: line by line, bad rows told and left out, any length in little memory."""

import io
import json
from collections.abc import Iterator

import pytest

from scalepan.errors import InputError
from scalepan.trace import BadRow, TraceLine, TraceValuer, read_jsonl
from scalepan.trace.batch import Skipped, TraceItem, value_items
from scalepan.trace.readers import source
from scalepan.trace.summary import Summary
from scalepan.trace.valued import Valued
from tests.trace.traces import trace_dict


def lines(*rows: object) -> bytes:
    return b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)


def value(data: bytes, *, strict: bool = False) -> Iterator[Valued | BadRow]:
    """The rows of a file as they are valued."""
    items = (TraceItem("t.jsonl", n, row) for n, row in enumerate(read_jsonl(io.BytesIO(data), "t.jsonl"), 1))
    for item in value_items(items, TraceValuer(embedder=None), strict=strict):
        assert not isinstance(item, Skipped)
        row = item.valued or item.row
        assert isinstance(row, (Valued, BadRow))
        yield row


def read(data: bytes) -> list[tuple[int, str]]:
    """Line and id, or line and error."""
    rows = read_jsonl(io.BytesIO(data), "t.jsonl")
    return [(row.line, row.trace.id if isinstance(row, TraceLine) else str(row.error)) for row in rows]


def test_bad_rows_say_their_line_and_the_others_are_read() -> None:
    good, other = trace_dict(id="kp:trace:a"), trace_dict(id="kp:trace:b")
    assert read(lines(good, b"{cut", b"", other)) == [
        (1, "kp:trace:a"),
        (2, "t.jsonl:2: is not JSON: JSON is malformed: object keys must be strings (byte 1)"),
        (4, "kp:trace:b"),
    ]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_a_byte_order_mark_do_not_matter(start: bytes, ending: bytes) -> None:
    data = start + json.dumps(trace_dict()).encode() + ending + json.dumps(trace_dict()).encode()
    assert read(data) == [(1, "kp:trace:1"), (2, "kp:trace:1")]


def test_a_line_too_long_to_be_a_trace_is_one_bad_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_LINE_BYTES", 5000)
    rows = read(b"x" * 30_000 + b"\n" + lines(trace_dict()))
    assert rows == [(1, "t.jsonl:1: is longer than 5,000 bytes"), (2, "kp:trace:1")]


def test_rows_keep_their_order_around_bad_ones() -> None:
    data = lines(trace_dict(id="kp:trace:a"), b"?", trace_dict(id="kp:trace:b"), b"?", b"?")
    rows = list(value(data))
    assert [row.trace.id if isinstance(row, Valued) else row.line for row in rows] == [
        "kp:trace:a",
        2,
        "kp:trace:b",
        4,
        5,
    ]


def test_strict_stops_at_the_first_bad_row() -> None:
    rows = value(lines(trace_dict(), b"?", trace_dict()), strict=True)
    next(rows)
    with pytest.raises(InputError, match=r"t\.jsonl:2: is not JSON"):
        next(rows)


def test_a_summary_counts_all_and_keeps_the_best() -> None:
    summary = Summary()
    many = [trace_dict(confidence=i / 200, id=f"kp:trace:{i}") for i in range(200)]
    for row in value(lines(*many, b"?")):
        summary.add(row)
    assert (summary.count, summary.rejects.count, sum(summary.bins.counts)) == (200, 1, 200)
    assert [row.id for row in summary.listing.best(3)] == ["kp:trace:199", "kp:trace:198", "kp:trace:197"]
    assert summary.missing.novelty == {"no encoder": 200}


def test_a_bad_row_knows_its_error() -> None:
    (row,) = read_jsonl(io.BytesIO(b"[]"), "t.jsonl")
    assert isinstance(row, BadRow)
    assert (row.error.file, row.error.line) == ("t.jsonl", 1)
