"""Which files are read, in which order, and what a file that breaks does to the others."""

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest
import zstandard

from scalepan.errors import InputError
from scalepan.trace.batch import Skipped, TraceItem, read_files
from scalepan.trace.files import input_files
from scalepan.trace.readers import BadRow, Source, TraceLine
from tests.trace.traces import trace_dict


def native(*ids: str) -> bytes:
    return b"".join(json.dumps(trace_dict(id=f"kp:trace:{id_}")).encode() + b"\n" for id_ in ids)


def outcome(*names: str | Path, format_: str | None = None) -> list[str]:
    """File and id of every trace, or the error."""
    shown = []
    for item in read_files(input_files(names), format=format_):
        if isinstance(item, Skipped):
            shown.append(f"{Path(item.file).name} skipped")
        elif isinstance(item.row, TraceLine):
            shown.append(f"{Path(item.file).name}#{item.number} {item.row.trace.id}")
        else:
            shown.append(f"{Path(item.file).name}#{item.number} {item.row.error.problem[:40]}")
    return shown


def test_folders_are_read_in_order_and_what_holds_no_traces_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.jsonl").write_bytes(native("two"))
    (tmp_path / "a.jsonl").write_bytes(native("one", "three"))
    (tmp_path / "package.json").write_text('{"name": "other"}')
    (tmp_path / "notes.txt").write_bytes(native("not looked at"))
    assert outcome(tmp_path) == [
        "a.jsonl#1 kp:trace:one",
        "a.jsonl#2 kp:trace:three",
        "package.json skipped",
        "2.jsonl#1 kp:trace:two",
    ]


def test_a_file_that_is_named_is_looked_at_whatever_its_name_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(native("one"))
    (tmp_path / "other.json").write_text('{"name": "other"}')
    assert outcome(tmp_path / "notes.txt") == ["notes.txt#1 kp:trace:one"]
    assert outcome(tmp_path / "other.json")[0].startswith("other.json#1 is in no format that can be read")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.jsonl.gz", gzip.compress(native("one", "two"))),
        ("t.jsonl.zst", zstandard.compress(native("one", "two"))),
        ("t.jsonl", b"\xef\xbb\xbf" + native("one", "two")),
        ("t.json", b"[" + native("one").strip() + b",\n" + native("two").strip() + b"]"),
    ],
)
def test_compressed_files_and_arrays_are_read_like_lines(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert outcome(tmp_path) == [f"{name}#1 kp:trace:one", f"{name}#2 kp:trace:two"]


@pytest.mark.parametrize(
    "query",
    ["SELECT * FROM read_json($1, timestampformat = '%Y')", "SELECT json AS trace FROM read_ndjson_objects($1)"],
)
def test_rows_of_a_parquet_file_are_traces_nested_or_as_text(tmp_path: Path, query: str) -> None:
    (tmp_path / "t.jsonl").write_bytes(native("one", "two"))
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY ({query}) TO $2 (FORMAT parquet)", [str(tmp_path / "t.jsonl"), str(tmp_path / "t.parquet")]
        )
    assert outcome(tmp_path / "t.parquet") == ["t.parquet#1 kp:trace:one", "t.parquet#2 kp:trace:two"]


def test_a_broken_parquet_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1" + bytes(50))
    (shown,) = outcome(tmp_path)
    assert shown.startswith("t.parquet#1 as Parquet: ")


def test_one_document_over_many_lines_is_one_trace(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(trace_dict(), indent=2))
    assert outcome(tmp_path / "t.json") == ["t.json#1 kp:trace:1"]


def test_patterns_name_files_and_each_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(native("one"))
    (tmp_path / "b.jsonl").write_bytes(native("two"))
    assert outcome(tmp_path / "b.jsonl", f"{tmp_path}/*.jsonl", tmp_path) == [
        "b.jsonl#1 kp:trace:two",
        "a.jsonl#1 kp:trace:one",
    ]


def test_a_compressed_file_that_breaks_off_gives_what_it_has_and_then_the_next(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(native(str(number)) for number in range(3000)), 1)
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "b.jsonl").write_bytes(native("next"))
    shown = outcome(tmp_path)
    assert shown[0] == "a.jsonl.gz#1 kp:trace:0"
    assert "cannot be read to its end" in shown[-2]
    assert shown[-1] == "b.jsonl#1 kp:trace:next"


MANY = native(*map(str, range(3000)))
GZIP, ZSTD = gzip.compress(MANY, 1), zstandard.ZstdCompressor(write_checksum=True).compress(MANY)


@pytest.mark.parametrize(
    ("name", "data", "least", "problem"),
    [
        ("whole.zst", ZSTD, 3000, None),
        ("two frames.zst", ZSTD + ZSTD, 6000, None),
        ("a frame to skip.zst", ZSTD + b"\x50\x2a\x4d\x18\x02\x00\x00\x00hi" + ZSTD, 6000, None),
        ("cut.zst", ZSTD[:-9], 1000, "cannot be read to its end: Compressed file ended"),
        ("half a frame more.zst", ZSTD + ZSTD[:9], 3000, "cannot be read to its end: Compressed file ended"),
        ("more.zst", ZSTD + b"more", 3000, "cannot be read to its end: zstd"),
        ("wrong sum.zst", ZSTD[:-1] + b"?", 1000, "cannot be read to its end: zstd"),
        ("two.gz", GZIP + GZIP, 6000, None),
        ("padded.gz", GZIP + bytes(9), 3000, None),
        ("cut.gz", GZIP[:-9], 2900, "cannot be read to its end: Compressed file ended"),
        ("more.gz", GZIP + b"more", 3000, "cannot be read to its end: Not a gzipped file"),
        ("wrong sum.gz", GZIP[:-5] + bytes(5), 3000, "cannot be read to its end: CRC"),
    ],
)
def test_a_damaged_file_gives_what_comes_before_the_damage(
    tmp_path: Path, name: str, data: bytes, least: int, problem: str | None
) -> None:
    (tmp_path / name).write_bytes(data)
    rows = [item.row for item in read_files(input_files(tmp_path / name)) if isinstance(item, TraceItem)]
    ids = [row.trace.id for row in rows if isinstance(row, TraceLine)]
    assert least <= len(ids) <= 6000
    assert ids == [f"kp:trace:{number % 3000}" for number in range(len(ids))]
    errors = [row.error.problem for row in rows if isinstance(row, BadRow)]
    assert (len(errors), problem is None or errors[-1].startswith(problem)) == (problem is not None, True)


def test_a_line_of_a_pipe_is_read_when_it_is_written() -> None:
    there, here = os.pipe()
    with open(there, "rb") as pipe, ThreadPoolExecutor(1) as pool, open(here, "wb", buffering=0) as writer:
        writer.write(native("one"))
        source = Source(pipe, "stdin")
        lines = source.lines()
        assert pool.submit(next, lines).result(20)[0] == 1
        for number in (2, 3):
            second = pool.submit(next, lines)
            writer.write(native("more"))
            assert second.result(20)[0] == number


def test_a_format_that_does_not_exist_names_those_that_do(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(native("one"))
    with pytest.raises(InputError, match=r"nonsense.*native"):
        outcome(tmp_path, format_="nonsense")


def test_a_bad_line_has_its_number_and_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\n" + native("one") + b"\n{}\n")
    last = list(read_files(input_files(tmp_path)))[-1]
    assert isinstance(last, TraceItem)
    assert isinstance(last.row, BadRow)
    assert (last.number, last.row.line) == (2, 4)
