"""Values on their way into a statement. DuckDB takes 0.2 ms for each value that is bound, so many go as one."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.store.table import TIMESTAMP

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

AT = TIMESTAMP.format("?::DOUBLE")
"""A time that is bound as seconds since 1970."""


def utc(seconds: float) -> datetime:
    """As the store keeps times."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def among(column: str) -> str:
    """The condition that a column is one of many texts, which are bound as one value: see `as_json`."""
    return f"{column} IN (SELECT unnest(from_json_strict(?, '[\"VARCHAR\"]')))"


def as_json(values: Iterable[str]) -> str:
    """Texts as one bound value: DuckDB takes 0.2 ms for each."""
    return msgspec.json.encode(list(values)).decode()


def column_of(connection: "DuckDBPyConnection", query: str, values: Sequence[Any] = ()) -> list[Any]:
    """The first column of what a query finds."""
    return [row[0] for row in connection.execute(query, list(values)).fetchall()]
