"""Rewrites the file without deleted rows: DuckDB leaves their bytes until the space is reused."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scalepan.files import close_to_others
from scalepan.store.duckdb.generation import Note, checkpoint
from scalepan.store.duckdb.opening import create, work_folder
from scalepan.store.duckdb.schema import backups, duckdb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

KEY = "rewrite"
ROOM = 2
"""Free disk that it asks for, in files: the new one stands beside the old for a moment."""


def ask_for_rewrite(connection: "DuckDBPyConnection") -> None:
    """In a write: have the file written anew when its owner closes it. The wish is kept with the write."""
    connection.execute(f"INSERT OR REPLACE INTO meta VALUES ('{KEY}', 'true')")


def rewrite_if_asked(connection: "DuckDBPyConnection", path: Path, note: Note) -> bool:
    """Just before the owner lets go, when nobody writes any more: whether the path is another file now.

    What does not work now is left for the next owner.
    """
    before = path.stat().st_ino
    # In the folder that only its owner can enter: DuckDB makes files under the umask.
    fresh = work_folder(path) / path.name
    with suppress(duckdb().Error, OSError):
        asked = connection.execute(f"SELECT 1 FROM meta WHERE key = '{KEY}'").fetchone()
        if asked and shutil.disk_usage(path.parent).free >= ROOM * path.stat().st_size:
            _rewrite(connection, path, fresh, note)
    with suppress(OSError):
        fresh.unlink(missing_ok=True)
    return path.stat().st_ino != before


def quoted(name: str) -> str:
    """A name as SQL writes it: that of a file is one too, and may have quotes."""
    return '"' + name.replace('"', '""') + '"'


def _rewrite(connection: "DuckDBPyConnection", path: Path, fresh: Path, note: Note) -> None:
    fresh.unlink(missing_ok=True)
    # After this there is no log: one that is left would be taken for the new file's.
    checkpoint(connection, note)
    create(fresh)
    place = str(fresh).replace("'", "''")
    connection.execute(f"ATTACH '{place}' AS fresh")
    try:
        # COPY FROM DATABASE wants to change settings, which are locked here.
        (old,) = connection.execute("SELECT current_database()").fetchone() or ("",)
        tables = "SELECT table_name FROM duckdb_tables() WHERE database_name = ? AND NOT internal"
        connection.execute("DELETE FROM fresh.meta")
        for (table,) in connection.execute(tables, [old]).fetchall():
            _copy(connection, old, table)
        connection.execute(f"DELETE FROM fresh.meta WHERE key = '{KEY}'")
    finally:
        connection.execute("DETACH fresh")
    close_to_others(fresh)
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    # The lock stays with the old file until it is closed; who waits for it sees that the path is another file now.
    fresh.replace(path)
    # What Scalepan itself copied before an upgrade has the deleted in it too.
    for copy in backups(path):
        copy.unlink(missing_ok=True)


def _copy(connection: "DuckDBPyConnection", old: str, table: str) -> None:
    """A table with all its columns, also those that somebody added by hand: they must not stop the rewrite."""
    name = quoted(table)
    there, made = _columns(connection, old, table), _columns(connection, "fresh", table)
    if made and made.items() <= there.items():
        for column in there.keys() - made.keys():
            connection.execute(f"ALTER TABLE fresh.{name} ADD COLUMN {quoted(column)} {there[column]}")
        connection.execute(f"INSERT INTO fresh.{name} BY NAME SELECT * FROM {quoted(old)}.{name}")
    else:  # a table that somebody added, or vectors, which are as wide as their model makes them
        connection.execute(f"CREATE OR REPLACE TABLE fresh.{name} AS FROM {quoted(old)}.{name}")


def _columns(connection: "DuckDBPyConnection", database: str, table: str) -> dict[str, str]:
    query = "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = ? AND table_name = ?"
    return dict(connection.execute(query, [database, table]).fetchall())
