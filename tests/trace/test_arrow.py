"""Arrow in, Arrow out: DuckDB relations, struct columns, JSON text in every type of text, bad rows in their place."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import nanoarrow as na
import pytest

from scalepan.arrowstream import ArrowStream
from scalepan.errors import InputError
from scalepan.policy import Policy
from scalepan.trace import TraceValuer, value_table
from scalepan.trace.rows import COLUMNS
from tests.trace.traces import trace, trace_dict

TYPES = ("thought", "tool_call", "observation", "error_recovery")
TRACES = [trace_dict(TYPES[: 1 + i % 4], ("search", "edit"), id=f"kp:trace:{i}") for i in range(8)]
LINES = [json.dumps(one) for one in TRACES]


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def table(*columns: tuple[str, Any, list[Any]]) -> Any:
    shape = na.struct({name: type_ for name, type_, _ in columns})
    children = [na.c_array(cells, type_) for _, type_, cells in columns]
    return na.Array(na.c_array_from_buffers(shape, len(columns[0][2]), [None], children=children))


def rows(traces: Any, **options: Any) -> list[dict[str, Any]]:
    stream = value_table(traces, policy=Policy(), embedder=None, **options)
    return [row for batch in stream for row in batch.iter_py()]


def expected() -> list[tuple[str, float]]:
    valuer = TraceValuer(Policy(), embedder=None)
    return [(one["id"], float(valuer.evaluate_value(one))) for one in TRACES]


def told(found: list[dict[str, Any]]) -> list[tuple[str, float]]:
    return [(row["id"], row["value"]) for row in found]


@pytest.mark.parametrize("type_", [na.string(), na.large_string()])
def test_json_text_in_every_type_of_text(type_: Any) -> None:
    found = rows(table(("trace", type_, LINES)))
    assert told(found) == expected()
    assert [row["number"] for row in found] == list(range(1, 9))
    assert {row["error"] for row in found} == {None}


@pytest.mark.parametrize("type_", [na.binary(), na.large_binary()])
def test_json_as_bytes(type_: Any) -> None:
    assert told(rows(table(("trace", type_, [line.encode() for line in LINES])))) == expected()


def test_the_columns_are_those_of_a_file_of_values_without_the_file() -> None:
    (found, *_) = rows(table(("trace", na.string(), LINES)))
    assert list(found) == [*(name for name in COLUMNS if name != "file"), "error"]
    assert (found["domain"], found["steps"], found["success"], found["format"]) == ("default", 1, True, "native")


def test_bad_rows_stay_in_their_place_with_a_reason() -> None:
    wrong = json.dumps(trace_dict(id="kp:trace:9") | {"task": {}})
    asks = json.dumps(trace_dict() | {"id": "ann@example.com"})
    found = rows(table(("trace", na.string(), [LINES[0], "{", None, wrong, asks, LINES[1]])))
    assert [row["id"] for row in found] == ["kp:trace:0", None, None, None, None, "kp:trace:1"]
    assert [row["error"] for row in found] == [
        None,
        "is not JSON: Input data was truncated",
        "null is not a trace",
        "trace kp:trace:9: task.objective: is missing",
        # The reason quotes the row, so it is redacted.
        "trace [pii:email]: id: '[pii:email]' does not start with 'kp:trace:'",
        None,
    ]
    assert [row["number"] for row in found] == [1, 2, 3, 4, 5, 6]
    assert {(row["value"], row["verdict"], row["steps"]) for row in found[1:5]} == {(None, None, None)}


def test_text_that_is_not_utf8_is_a_bad_row() -> None:
    class Text:
        """Bytes that are said to be text."""

        def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
            held = table(("trace", na.binary(), [b'{"id": "\xff\xfe"}', LINES[0].encode()]))
            return na.c_schema(na.struct({"trace": na.string()})).__arrow_c_schema__(), held.__arrow_c_array__()[1]

    assert [row["error"] for row in rows(na.Array(Text()))] == ["is not UTF-8 text", None]


def test_strict_raises_the_first() -> None:
    with pytest.raises(InputError, match="is not JSON"):
        rows(table(("trace", na.string(), [LINES[0], "{"])), strict=True)


def test_a_duckdb_relation_in_and_duckdb_out(database: duckdb.DuckDBPyConnection) -> None:
    database.execute("CREATE TABLE logs AS SELECT unnest($1) AS trace, 7 AS day", [LINES])
    values = value_table(database.table("logs"), policy=Policy(), embedder=None)
    with duckdb.connect() as other:
        other.register("value_rows", values)
        found = other.execute("SELECT id, value FROM value_rows ORDER BY number").fetchall()
    assert found == expected()


@pytest.mark.parametrize("query", ["SELECT trace FROM logs", "SELECT {'a': [trace]} AS other, trace FROM logs"])
def test_string_views_as_polars_exports_them(database: duckdb.DuckDBPyConnection, query: str) -> None:
    database.execute("CREATE TABLE logs AS SELECT unnest($1) AS trace", [LINES])
    database.execute("SET arrow_output_version = '1.4'; SET produce_arrow_string_view = true")
    relation = database.sql(query)
    assert "string_view" in str(na.ArrayStream(relation).schema)
    assert told(rows(relation)) == expected()


def test_rows_whose_columns_are_those_of_a_trace(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    # DuckDB makes structs of JSON, and a timestamp of created_at.
    file = tmp_path / "traces.jsonl"
    file.write_text("\n".join(LINES))
    relation = database.read_json(str(file))
    assert "TIMESTAMP" in str(dict(zip(relation.columns, relation.types, strict=True))["metadata"])
    found = rows(relation)
    assert told(found) == expected()
    assert {row["created_at"] for row in found} == {"2026-01-31T12:00:00+00:00"}


def test_a_struct_in_one_column(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text("\n".join(LINES))
    relation = database.sql(f"SELECT t AS trace, MAP {{'a': 1}} AS other FROM read_json('{file}') t")
    assert told(rows(relation)) == expected()


@pytest.mark.parametrize(
    ("columns", "column", "read"),
    [
        (["trace", "note"], None, "trace"),
        (["note", "body"], "body", "body"),
        (["body"], None, "body"),
    ],
)
def test_which_column(columns: list[str], column: str | None, read: str) -> None:
    cells = {name: LINES if name == read else ["x"] * len(LINES) for name in columns}
    given = table(*((name, na.string(), cells[name]) for name in columns))
    assert told(rows(given, column=column)) == expected()


@pytest.mark.parametrize(
    ("columns", "column", "problem"),
    [
        ([("a", na.string()), ("b", na.string())], None, "no column 'trace'; name the one with the traces: a, b"),
        ([("a", na.string())], "b", "no column 'b'; there are a"),
        ([("a", na.int64())], "a", "'a' has int64, not JSON text or structs"),
        ([("trace", na.int64())], None, "'trace' has int64, not JSON text or structs"),
    ],
)
def test_no_such_column(columns: list[tuple[str, Any]], column: str | None, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        rows(table(*((name, type_, []) for name, type_ in columns)), column=column)


@pytest.mark.parametrize("given", [None, 3, "traces.jsonl", LINES, {"trace": LINES}])
def test_what_is_no_table(given: Any) -> None:
    with pytest.raises(InputError, match="an Arrow table, record batch or stream"):
        value_table(given)


def test_a_column_is_not_a_table() -> None:
    with pytest.raises(InputError, match="traces: is a column of string, not a table"):
        rows(na.Array(LINES, na.string()))


def test_an_empty_table() -> None:
    assert rows(table(("trace", na.string(), []))) == []


def test_batches_are_read_while_the_result_is() -> None:
    shape, read = na.struct({"trace": na.string()}), 0

    def batches() -> Iterator[Any]:
        nonlocal read
        for _ in range(5):
            read += 1
            yield table(("trace", na.string(), LINES[:1] * 1024))

    stream = iter(value_table(ArrowStream(shape, batches), policy=Policy(), embedder=None))
    assert read == 0
    assert len(next(stream)) == 1024
    assert read <= 2
    assert sum(len(batch) for batch in stream) == 4 * 1024


def test_reading_the_result_twice_gives_the_same_twice() -> None:
    class Counts:
        """An encoder: every text has the same vector, so that the second trace is a repeat of the first."""

        def encode(self, texts: Sequence[str]) -> list[list[float]]:
            return [[1.0, 0.0]] * len(texts)

    stream = value_table(table(("trace", na.string(), LINES)), policy=Policy(), embedder=Counts())
    once, twice = ([row for batch in stream for row in batch.iter_py()] for _ in range(2))
    assert once == twice
    assert [row["novelty"] for row in once] == [0.5, *[0.0] * 7]


def test_a_trace_object_is_valued_the_same() -> None:
    (found,) = rows(table(("trace", na.string(), [trace().to_json().decode()])))
    assert found["value"] == float(TraceValuer(Policy(), embedder=None).evaluate_value(trace()))


def test_one_connection_gives_the_traces_and_reads_the_values(database: duckdb.DuckDBPyConnection) -> None:
    """A connection runs one query at a time: asking for the traces while it reads the values would wait for itself."""
    logs = database.sql("SELECT unnest($1::VARCHAR[]) AS trace", params=[LINES])
    values = value_table(logs, policy=Policy(), embedder=None)
    assert database.sql("SELECT id, value FROM values").fetchall() == expected()
    assert values is not None
