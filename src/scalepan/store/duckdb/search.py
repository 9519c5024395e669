"""Search in SQL, over what is within reach: L0 by ILIKE, L1 by the exact cosine."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scalepan.store.duckdb.reach import reach_sql
from scalepan.store.duckdb.schema import duckdb
from scalepan.store.duckdb.values import among, as_json
from scalepan.store.reach import Reach

if TYPE_CHECKING:
    import numpy as np
    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray


class Search:
    """What the tables themselves find. TimeoutError if it takes longer than `seconds`."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def containing(self, text: str, reach: Reach, kinds: Sequence[str] | None, k: int, seconds: float) -> list[str]:
        """Claims whose normal form has a text in it, newest first."""
        pattern = "".join(f"\\{character}" if character in "\\%_" else character for character in text)
        where, values = _within(reach, kinds)
        query = (
            f"SELECT id FROM claims WHERE {where} AND normalized_text ILIKE ? ESCAPE '\\' "
            f"ORDER BY coalesce(updated_at, created_at) DESC, rowid LIMIT {k:d}"
        )
        return [id_ for (id_,) in self._found(query, [*values, f"%{pattern}%"], seconds)]

    def nearest(
        self, vector: "NDArray[np.float32]", reach: Reach, kinds: Sequence[str] | None, k: int, seconds: float
    ) -> list[tuple[str, float]]:
        """Claims with their cosine to a vector, the nearest first."""
        where, values = _within(reach, kinds)
        query = (
            f"SELECT c.id, cos_sim(v.embedding, {vector_literal(vector)}) AS sim "
            f"FROM claim_vectors v JOIN claims c ON c.id = v.claim_id WHERE {where} "
            f"ORDER BY sim DESC, coalesce(c.updated_at, c.created_at) DESC LIMIT {k:d}"
        )
        return self._found(query, values, seconds)

    def _found(self, query: str, values: Sequence[Any], seconds: float) -> list[Any]:
        with interrupted_after(seconds, self._connection):
            return self._connection.execute(query, list(values)).fetchall()


@contextmanager
def interrupted_after(seconds: float, connection: "DuckDBPyConnection") -> Iterator[None]:
    """Stop what a connection is doing when the time is up: TimeoutError."""
    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        yield
    except duckdb().InterruptException:
        raise TimeoutError from None
    finally:
        timer.cancel()


def vector_literal(vector: "NDArray[np.float32]") -> str:
    """A vector written out: bound as a list it takes 30 ms, and DuckDB's index needs a constant."""
    # As text: a list of numbers takes DuckDB three times as long to read.
    return f"'{vector.tolist()}'::FLOAT[{len(vector)}]"


def _within(reach: Reach, kinds: Sequence[str] | None) -> tuple[str, list[Any]]:
    where, values = reach_sql(reach)
    if kinds is not None:
        where += f" AND {among('kind')}"
        values.append(as_json(kinds))
    return where, values
