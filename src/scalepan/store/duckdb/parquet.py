"""Parquet files, read and written by DuckDB: rows in and out, in constant memory. No store is opened."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalepan.errors import InputError, printable
from scalepan.files import make_file

if TYPE_CHECKING:
    import duckdb

GROUP_ROWS = 30_720
"""Rows that are held in memory together; DuckDB's own choice is four times as many."""


def write_parquet(lines: Path, target: Path, columns: dict[str, str]) -> None:
    """JSON lines as a Parquet file with these columns (name to DuckDB type). It appears when it is complete."""
    draft = target.with_name(f".{target.name}.draft")
    make_file(draft)
    described = ", ".join(f"{name}: '{type_}'" for name, type_ in columns.items())
    statement = (
        f"COPY (SELECT * FROM read_json($lines, format = 'newline_delimited', columns = {{{described}}})) "
        f"TO $draft (FORMAT parquet, ROW_GROUP_SIZE {GROUP_ROWS})"
    )
    _run(statement, {"lines": str(lines), "draft": str(draft)}, target)
    os.replace(draft, target)


def write_json_lines(source: Path, lines: Path) -> None:
    """A Parquet file as JSON lines, so that rows can be appended."""
    make_file(lines)
    _run(
        "COPY (SELECT * FROM read_parquet($source)) TO $lines (FORMAT json)",
        {"source": str(source), "lines": str(lines)},
        source,
    )


def parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Every row as plain data, a batch at a time."""
    import duckdb

    try:
        with _connected() as connection:
            found = connection.execute("SELECT * FROM read_parquet($path)", {"path": str(path)})
            while batch := found.fetchmany(1000):
                names = [column[0] for column in found.description or ()]
                for row in batch:
                    yield dict(zip(names, row, strict=True))
    except duckdb.Error as error:
        raise _broken(path, error) from None


def _connected() -> "duckdb.DuckDBPyConnection":
    """A database in memory. One thread needs half the memory of two; DuckDB's progress bar would go to stdout."""
    import duckdb

    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET enable_progress_bar = false")
    return connection


def _run(statement: str, values: dict[str, str], file: Path) -> None:
    import duckdb

    try:
        with _connected() as connection:
            connection.execute(statement, values)
    except duckdb.Error as error:
        raise _broken(file, error) from None


def _broken(file: Path, error: Exception) -> InputError:
    first = str(error).strip().partition("\n")[0]
    return InputError(f"as Parquet: {printable(first)}", file=str(file))
