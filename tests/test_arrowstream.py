"""Batches that are made while they are asked for, handed to nanoarrow and DuckDB."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import duckdb
import nanoarrow as na
import pytest

from scalepan.arrowstream import ArrowStream
from scalepan.errors import InputError

SCHEMA = na.struct({"number": na.int64(), "word": na.string()})


def batch(*numbers: int) -> Any:
    words = [None if number % 2 else f"n{number}" for number in numbers]
    children = [na.c_array(list(numbers), na.int64()), na.c_array(words, na.string())]
    return na.Array(na.c_array_from_buffers(SCHEMA, len(numbers), [None], children=children))


class Made:
    """Three batches, and how many of them were made."""

    def __init__(self, fails: BaseException | None = None) -> None:
        self.count = 0
        self.fails = fails

    def __call__(self) -> Iterator[Any]:
        for start in (0, 2, 4):
            self.count += 1
            yield batch(start, start + 1)
        if self.fails is not None:
            raise self.fails


def test_nanoarrow_reads_it_batch_by_batch() -> None:
    made = Made()
    stream = na.ArrayStream(ArrowStream(SCHEMA, made))
    assert [field.name for field in stream.schema.fields] == ["number", "word"]
    assert made.count == 0
    chunks = iter(stream)
    assert next(chunks).to_pylist() == [{"number": 0, "word": "n0"}, {"number": 1, "word": None}]
    assert made.count == 1
    assert [row["number"] for chunk in chunks for row in chunk.iter_py()] == [2, 3, 4, 5]


def test_duckdb_reads_it_as_a_table_as_often_as_it_likes() -> None:
    stream = ArrowStream(SCHEMA, Made())
    with duckdb.connect() as connection:
        connection.register("stream", stream)
        for _ in range(2):
            found = connection.execute("SELECT sum(number), count(word), count(*) FROM stream").fetchall()
            assert found == [(15, 3, 6)]


def test_python_reads_it_too() -> None:
    assert [len(made) for made in ArrowStream(SCHEMA, Made())] == [2, 2, 2]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("1.7 is not between 0 and 1", path="steps"), "InputError: steps: 1.7 is not between 0 and 1"),
        (KeyError("order"), "KeyError: 'order'"),
        (InputError("日本"), "InputError: 日本"),
    ],
)
def test_an_error_reaches_the_consumer_as_one_of_its_own(error: Exception, message: str) -> None:
    stream = ArrowStream(SCHEMA, Made(error))
    with pytest.raises(Exception, match=message) as raised:
        list(na.ArrayStream(stream))
    assert not isinstance(raised.value, type(error))
    with duckdb.connect() as connection:
        connection.register("stream", stream)
        with pytest.raises(duckdb.Error, match=message):
            connection.execute("SELECT sum(number) FROM stream").fetchall()


def test_what_a_consumer_leaves_is_freed() -> None:
    made = Made()
    stream = ArrowStream(SCHEMA, made)
    for _ in range(10):
        stream.__arrow_c_stream__()
        next(iter(na.ArrayStream(stream)))
    assert made.count == 10
    held = weakref.ref(made)
    del stream, made
    gc.collect()
    assert held() is None


def test_a_stream_without_batches() -> None:
    with duckdb.connect() as connection:
        connection.register("stream", ArrowStream(SCHEMA, lambda: iter(())))
        assert connection.execute("SELECT * FROM stream").fetchall() == []


def test_two_consumers_do_not_disturb_each_other() -> None:
    stream = ArrowStream(SCHEMA, Made())
    first, second = iter(na.ArrayStream(stream)), iter(na.ArrayStream(stream))
    pairs = [(a.to_pylist(), b.to_pylist()) for a, b in zip(first, second, strict=True)]
    assert len(pairs) == 3
    assert all(a == b for a, b in pairs)
