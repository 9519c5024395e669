"""Is the file sound? Every value is read, and what should be there once is there once."""

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from scalepan.store.duckdb.schema import MIGRATIONS, duckdb, reason
from scalepan.store.operation import Operation, reads
from scalepan.store.own import Nothing

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.store.here import Here

UNIQUE = {"meta": "key", "requests": "id", "events": "id", "policies": "id", "scores": "id"}
_COLUMNS = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"


class Checked(msgspec.Struct, frozen=True):
    """How many rows were read, and what is wrong: nothing, it is hoped."""

    rows: int
    problems: list[str]


class _Column(NamedTuple):
    table: str
    name: str
    type: str


CHECK = Operation("store.check", Nothing, Checked)


@reads(CHECK)
def check(here: "Here", _: Nothing) -> Checked:
    """Compare the tables with those of a new store, read every value, and look for what is there twice."""
    cursor = here._connection
    found = {_Column(*row) for row in cursor.execute(_COLUMNS).fetchall()}
    wanted = _of_a_new_store()
    problems = [f"{c.table}.{c.name} is missing, or is not {c.type}" for c in sorted(wanted - found)]
    rows = 0
    for table in sorted({column.table for column in found}):
        try:
            # Blocks carry checksums, which DuckDB compares when it reads one; a hash needs every value.
            read = cursor.execute(f"SELECT count(*), bit_xor(hash(t)) FROM {_quoted(table)} t").fetchone()
            rows += read[0] if read else 0
            problems += _twice(cursor, table)
        except duckdb().FatalException:
            raise
        except duckdb().Error as error:
            problems.append(f"{table}: {reason(error)}")
    return Checked(rows, problems)


def _of_a_new_store() -> set[_Column]:
    with duckdb().connect(":memory:") as new:
        for script in MIGRATIONS:
            new.execute(script)
        return {_Column(*row) for row in new.execute(_COLUMNS).fetchall()}


def _twice(cursor: "DuckDBPyConnection", table: str) -> list[str]:
    if table not in UNIQUE:
        return []
    key = UNIQUE[table]
    found = cursor.execute(
        f"SELECT {key} FROM {table} GROUP BY {key} HAVING count(*) > 1 ORDER BY 1 LIMIT 3"
    ).fetchall()
    return [f"{table}: {key} '{value}' is there more than once" for (value,) in found]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
