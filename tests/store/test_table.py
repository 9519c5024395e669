"""Tables are described once: what follows from a row struct, and that the migrations agree with it."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.store.duckdb.schema import MIGRATIONS
from scalepan.store.rows import TABLES
from scalepan.store.table import Json, Row, Table, Time, to_microsecond


class NoteRow(Row, frozen=True, gc=False):
    id: str
    ts: Time
    body: Json
    size: float | None = None
    open: bool = True


NOTES = Table("notes", NoteRow, key="id", owner=["id"])


def test_what_follows_from_a_row() -> None:
    assert NOTES.create == (
        "CREATE TABLE notes (id TEXT PRIMARY KEY, ts TIMESTAMP, body JSON, size DOUBLE, open BOOLEAN DEFAULT true)"
    )
    seconds = "CASE WHEN isinf(n.ts) THEN 'inf'::DOUBLE ELSE epoch(n.ts) END"
    assert NOTES.selected("n") == f"n.id, {seconds}, n.body::TEXT, n.size, n.open"


@pytest.mark.parametrize(
    "row",
    [
        NoteRow("a", 0.0, "{}"),
        NoteRow("b", 1_700_000_000.123456, '{"x":[1,null,"é\\u0000"]}', 0.1, open=False),
        NoteRow("a 'quoted' \x00 name", -1.5, "null", 1e300),
    ],
)
def test_a_row_comes_back_as_it_went_in(row: NoteRow) -> None:
    with duckdb.connect() as connection:
        connection.execute(NOTES.create)
        NOTES.insert(connection, [row])
        assert NOTES.select(connection, "WHERE id = ? ORDER BY rowid", [row.id]) == [row]


def test_a_time_that_was_edited_by_hand_can_be_read() -> None:
    with duckdb.connect() as connection:
        connection.execute(NOTES.create)
        connection.execute("INSERT INTO notes (id, ts) VALUES ('a', 'infinity'), ('b', NULL)")
        assert [row.ts for row in NOTES.select(connection, "ORDER BY id")] == [float("inf"), None]


@given(st.floats(0.0, 4e9))
def test_a_time_to_the_microsecond_is_read_as_it_was_written(seconds: float) -> None:
    with duckdb.connect() as connection:
        connection.execute(NOTES.create)
        at = to_microsecond(seconds)
        NOTES.insert(connection, [NoteRow("a", at, "{}")])
        (found,) = NOTES.select(connection, "")
    assert found.ts == at
    assert abs(at - seconds) < 1e-6


def test_the_migrations_make_the_tables_as_they_are_described() -> None:
    columns = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY ALL"
    with duckdb.connect() as migrated, duckdb.connect() as described:
        for script in MIGRATIONS:
            migrated.execute(script)
        for table in TABLES:
            described.execute(table.create)
        assert described.execute(columns).fetchall() == migrated.execute(columns).fetchall()
        keys = (
            "SELECT table_name, constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
        )
        assert sorted(described.execute(keys).fetchall()) == sorted(migrated.execute(keys).fetchall())
