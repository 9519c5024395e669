"""Vectors of claims. A store has those of one model, which its first vectors name."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scalepan.errors import ConflictError
from scalepan.store.duckdb.values import among, as_json, column_of
from scalepan.store.rows import CLAIMS, ClaimRow

if TYPE_CHECKING:
    import numpy as np
    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray

    from scalepan.store.duckdb.claims import Claims

MODEL = "memory_model"
"""Key of the table `meta`: which model made the vectors."""
PAGE = 20_000
_HAS_NONE = "id NOT IN (SELECT claim_id FROM claim_vectors)"


class VectorPage(NamedTuple):
    """Some claims and their vectors, row by row."""

    ids: list[str]
    vectors: "NDArray[np.float32]"


class Vectors:
    """The table of vectors."""

    def __init__(self, connection: "DuckDBPyConnection", claims: "Claims") -> None:
        self._connection = connection
        self._claims = claims

    def model(self) -> str | None:
        """The model that made the vectors; None if there are none."""
        found = column_of(self._connection, f"SELECT value FROM meta WHERE key = '{MODEL}'")
        return found[0] if found else None

    def put(self, ids: Sequence[str], vectors: "NDArray[np.float32]", model: str) -> None:
        """Vectors of claims that have none; ConflictError if those that are there are by another model."""
        from scalepan.store.duckdb.arrow import vector_table

        known = self.model()
        if known is None:
            self.reset(model, vectors.shape[1])
        elif known != model:
            raise ConflictError(f"the store's vectors are by {known}, not by {model}")
        self._connection.register("incoming_vectors", vector_table(ids, vectors))
        try:
            self._connection.execute("INSERT INTO claim_vectors SELECT id, vector, ? FROM incoming_vectors", [model])
        finally:
            self._connection.unregister("incoming_vectors")
        self._claims.touch(ids)

    def clear(self, claim: str) -> None:
        """Delete the vector of a claim, if it has one."""
        self._connection.execute("DELETE FROM claim_vectors WHERE claim_id = ?", [claim])
        self._claims.touch([claim])

    def reset(self, model: str, width: int) -> None:
        """Drop all vectors and name another model. No saved index fits after that."""
        self._connection.execute(
            f"CREATE OR REPLACE TABLE claim_vectors (claim_id TEXT, embedding FLOAT[{width:d}], model TEXT)"
        )
        self._connection.execute(f"INSERT OR REPLACE INTO meta VALUES ('{MODEL}', ?)", [model])
        self._claims.forget_saved_index()

    def missing(self, limit: int) -> list[ClaimRow]:
        """Claims that have no vector, of all tenants, the oldest first."""
        return CLAIMS.select(self._connection, f"WHERE {_HAS_NONE} ORDER BY rowid LIMIT {limit:d}")

    def missing_among(self, ids: Sequence[str]) -> dict[str, ClaimRow]:
        """Those of these claims that have no vector."""
        rows = CLAIMS.select(self._connection, f"WHERE {among('id')} AND {_HAS_NONE}", [as_json(ids)])
        return {row.id: row for row in rows}

    def missing_count(self) -> int:
        """How many claims have no vector."""
        (count,) = column_of(self._connection, f"SELECT count(*) FROM claims WHERE {_HAS_NONE}")
        return int(count)

    def of(self, ids: Sequence[str]) -> VectorPage:
        """The vectors of those of these claims that have one."""
        where, values = f"WHERE {among('claim_id')} ORDER BY rowid", [as_json(ids)]
        there = column_of(self._connection, f"SELECT claim_id FROM claim_vectors {where}", values)
        return self._page(there, where, values)

    def all(self) -> Iterator[VectorPage]:
        """All vectors, page by page."""
        ids = column_of(self._connection, "SELECT claim_id FROM claim_vectors ORDER BY rowid")
        for start in range(0, len(ids), PAGE):
            yield self._page(ids[start : start + PAGE], f"ORDER BY rowid LIMIT {PAGE} OFFSET {start}", [])

    def _page(self, ids: list[str], rest: str, values: list[str]) -> VectorPage:
        """Read flat: as lists of Python numbers they would take a hundred times as long."""
        import numpy as np

        query = f"SELECT unnest(embedding) AS x FROM (SELECT embedding FROM claim_vectors {rest})"
        flat = self._connection.execute(query, values).fetchnumpy()["x"]
        vectors: NDArray[np.float32] = np.asarray(flat, dtype=np.float32)
        return VectorPage(ids, vectors.reshape(len(ids), -1) if ids else vectors.reshape(0, 0))
