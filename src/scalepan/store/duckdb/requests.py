"""Answered requests: a repeated call gets the answer of the first, and is not applied twice."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalepan.store.duckdb.values import among, as_json
from scalepan.store.rows import REQUESTS, RequestRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Requests:
    """The table of answered requests. An answer is written in the transaction of what it answers."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def add(self, rows: Sequence[RequestRow]) -> None:
        """Keep answers."""
        REQUESTS.insert(self._connection, rows)

    def answered(self, ids: Sequence[str]) -> list[RequestRow]:
        """Those of the requests that were applied before."""
        return REQUESTS.select(self._connection, f"WHERE {among('id')}", [as_json(ids)])
