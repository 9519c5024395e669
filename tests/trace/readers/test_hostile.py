"""Hostile and broken files through every reader: cut, mixed, huge, deep, binary, in another encoding, packed bombs."""

import gzip
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import duckdb
import pytest
import zstandard

from scalepan.errors import InputError
from scalepan.trace.batch import Skipped, read_files
from scalepan.trace.files import input_files
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers import BadRow, SeenRecords, Source, TraceLine, read_source, readers, source
from tests.trace.readers import test_langsmith
from tests.trace.readers.mutate import assert_one_line, damaged
from tests.trace.readers.samples import SAMPLES, Sample

LINES = [sample for sample in SAMPLES if sample.name.endswith(".jsonl")]


def shown(sample: Sample) -> str:
    return f"{sample.reader}-{sample.form}"


def outcome(data: bytes, name: str, reader: str | None = None) -> tuple[int, list[str]]:
    """How many traces a file gives, and what is wrong with the rest. Anything but an InputError fails the test."""
    traces, problems = 0, []
    try:
        for row in _rows(data, name, reader):
            if isinstance(row, TraceLine):
                traces += 1
                assert ReasoningTrace.from_json(row.trace.to_json()).id == row.trace.id
            else:
                assert_one_line(row.error)
                problems.append(str(row.error))
    except InputError as error:
        assert_one_line(error)
        problems.append(str(error))
    return traces, problems


def _rows(data: bytes, name: str, reader: str | None) -> Iterator[TraceLine | BadRow]:
    read = read_source(Source(io.BytesIO(data), name), reader, SeenRecords())
    yield from islice(read, 100_000)


@pytest.mark.parametrize("sample", SAMPLES, ids=shown)
def test_cut_anywhere(sample: Sample) -> None:
    for tenth in range(1, 10):
        cut = sample.data[: len(sample.data) * tenth // 10]
        traces, problems = outcome(cut, sample.name)
        assert traces or problems


@pytest.mark.parametrize("sample", LINES, ids=shown)
def test_a_cut_file_of_lines_gives_what_it_has(sample: Sample) -> None:
    """All but the last line are whole, so there is something to read."""
    traces, _ = outcome(sample.data[:-3], sample.name)
    assert traces


@pytest.mark.parametrize("first", LINES, ids=shown)
def test_another_format_in_the_same_file(first: Sample) -> None:
    """The file is what its beginning is. What follows is read, counted or reported; the beginning is not lost."""
    for second in LINES:
        traces, problems = outcome(first.data + b"\n" + second.data, first.name)
        assert traces or problems, shown(second)


@pytest.mark.parametrize("sample", LINES, ids=shown)
def test_a_line_that_is_too_long_is_reported_and_the_others_are_read(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = max(map(len, sample.data.splitlines())) + 2
    monkeypatch.setattr(source, "MAX_LINE_BYTES", limit)
    huge = b'{"content": "' + b"x" * (3 * limit)
    traces, problems = outcome(sample.data + b"\n" + huge + b"\n", sample.name)
    assert traces
    assert len([problem for problem in problems if f"is longer than {limit:,} bytes" in problem]) == 1


DEEP = {
    "list": b"[" * 100_000,
    "closed list": b"[" * 20_000 + b"]" * 20_000,
    "object": b'{"messages":' * 20_000,
    "closed object": b'{"content":' * 20_000 + b"1" + b"}" * 20_000,
    "inside": b'{"type":"user","message":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
}
BINARY = {
    "nothing": b"",
    "blank": b" \n\t\n",
    "NUL": b"\0" * 10_000,
    "bytes": bytes(range(256)) * 50,
    "PNG": b"\x89PNG\r\n\x1a\n" + bytes(200),
    "zip": b"PK\x03\x04" + bytes(100),
    "gzip": b"\x1f\x8b" + bytes(100),
    "zstd": b"\x28\xb5\x2f\xfd" + bytes(100),
    "UTF-16": '{"role": "user", "content": "a"}'.encode("utf-16"),
    "UTF-32": '{"role": "user", "content": "a"}'.encode("utf-32"),
}
# Records that are nearly right; a reader may take them for bookkeeping of its format.
RECORDS = {
    "Latin-1": '{"role": "user", "content": "é"}'.encode("latin-1"),
    "surrogate": b'{"role": "user", "content": "\\ud800"}',
    "NUL in a text": b'{"role": "user", "content": "\\u0000"}',
}
TEXTS = {
    "quotes": b'"' * 10_000,
    "commas": b"a,b,c\n" + b"," * 10_000,
    "open quote": b'a,b,c\n"' + b"x\n" * 10_000,
    "scalars": b"1\nnull\ntrue\n" * 100,
}


@pytest.mark.parametrize("reader", readers())
@pytest.mark.parametrize("kind", [*DEEP, *BINARY, *RECORDS, *TEXTS])
def test_what_is_no_log_at_all(reader: str, kind: str) -> None:
    """Also if the user says that it is one."""
    data = (DEEP | BINARY | RECORDS | TEXTS)[kind]
    outcome(data, "file.jsonl")
    traces, problems = outcome(data, "file.jsonl", reader)
    assert traces or problems or kind in RECORDS or not data.strip()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("sample", LINES, ids=shown)
def test_a_log_in_another_encoding_is_said_to_be_none(sample: Sample, encoding: str) -> None:
    traces, problems = outcome(sample.data.decode().encode(encoding), sample.name)
    assert traces == 0
    assert "is in no format that can be read" in problems[0]


@pytest.mark.parametrize("sample", LINES, ids=shown)
def test_nul_bytes_between_and_inside_lines(sample: Sample) -> None:
    """What a file system leaves at the end of a file after a crash."""
    traces, _ = outcome(sample.data + b"\n" + b"\0" * 4096, sample.name)
    assert traces
    outcome(sample.data.replace(b" ", b"\0"), sample.name, sample.reader)


BOMBS = {
    "gzip": lambda data: gzip.compress(data, 9, mtime=0),
    "zstd": lambda data: zstandard.ZstdCompressor(19).compress(data),
    "gzip in gzip": lambda data: gzip.compress(gzip.compress(data, 9, mtime=0), 9, mtime=0),
}


@pytest.mark.parametrize("packing", BOMBS)
@pytest.mark.parametrize(
    "content", [b"0", b"[", b'{"a":"', b'"', b'a,b,c\n"'], ids=["digits", "list", "text", "quote", "csv"]
)
def test_a_small_file_that_unpacks_to_a_huge_one_is_read_up_to_the_limits(
    packing: str, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 1 << 20
    monkeypatch.setattr(source, "MAX_LINE_BYTES", limit)
    monkeypatch.setattr(source, "MAX_DOCUMENT_BYTES", limit)
    packed = BOMBS[packing](content + b"0" * (16 * limit))
    assert len(packed) < 100_000
    for reader in readers():
        traces, problems = outcome(packed, "bomb.jsonl.gz", reader)
        assert (traces, bool(problems)) == (0, True), reader


def test_a_damaged_parquet_file_gives_traces_or_reasons(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_bytes(test_langsmith.SAMPLE)
    whole, broken = tmp_path / "runs.parquet", tmp_path / "broken" / "runs.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT * FROM read_json($1)) TO $2 (FORMAT parquet)", [str(tmp_path / "runs.jsonl"), str(whole)]
        )
    broken.parent.mkdir()
    for seed in range(40):
        broken.write_bytes(damaged(whole.read_bytes(), seed))
        for item in read_files(input_files(broken)):
            assert not isinstance(item, Skipped)
            if isinstance(item.row, BadRow):
                assert_one_line(item.row.error)
