"""Tables are described once: what follows from a row struct, and that the migrations agree with it."""

import duckdb
import pytest

from scalepan.store.duckdb.schema import MIGRATIONS
from scalepan.store.rows import TABLES
from scalepan.store.table import Json, Row, Table, Time


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
    assert NOTES.selected("n") == "n.id, epoch(n.ts), n.body::TEXT, n.size, n.open"


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
        found = connection.execute(f"SELECT {NOTES.selected()} FROM notes").fetchall()
    assert [NOTES.read(values) for values in found] == [row]


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
