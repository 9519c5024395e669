"""DuckDB's search extensions, each in a database of its own in memory, filled with rows that are numbered.

An index of theirs inside the store would lock out everyone who lacks the extension, and FTS knows no Japanese: so terms
are given as codes.
"""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from scalepan.errors import MissingExtraError
from scalepan.store.duckdb.schema import duckdb
from scalepan.store.duckdb.search import interrupted_after, vector_literal

if TYPE_CHECKING:
    import numpy as np
    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray

EXTRA = "search"
_ROWS = '[{"row": "INTEGER", "terms": "VARCHAR"}]'


def extension_file(name: str) -> Path:
    """The extension inside its package; MissingExtraError says how to add it."""
    spec = find_spec(f"duckdb_extension_{name}")
    files = sorted(Path(spec.origin).parent.rglob(f"{name}.duckdb_extension")) if spec and spec.origin else []
    if not files:
        raise MissingExtraError(f"DuckDB's {name} extension", EXTRA)
    return files[-1]


def _database(extension: str) -> "DuckDBPyConnection":
    file = str(extension_file(extension)).replace("'", "''")
    database: DuckDBPyConnection = duckdb().connect(":memory:", config={"threads": 1})
    database.execute(f"LOAD '{file}'")
    return database


class FullText:
    """BM25 by the extension fts."""

    def __init__(self, documents: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Rows, each with the codes of its terms."""
        self._database = _database("fts")
        rows = [{"row": row, "terms": " ".join(codes)} for row, codes in documents]
        self._database.execute("CREATE TABLE claims (row INTEGER, terms TEXT)")
        self._database.execute(
            f"INSERT INTO claims SELECT unnest(from_json_strict(?, '{_ROWS}'), max_depth := 2)",
            [msgspec.json.encode(rows).decode()],
        )
        self._database.execute(
            "PRAGMA create_fts_index('claims', 'row', 'terms', stemmer = 'none', stopwords = 'none', "
            "ignore = '[^a-z0-9]+', strip_accents = 0, lower = 0)"
        )

    def search(self, codes: Sequence[str], k: int, k1: float, b: float, seconds: float) -> list[tuple[int, float]]:
        """The k best rows and their scores. TimeoutError if it takes longer than `seconds`."""
        query = (
            f"SELECT row, fts_main_claims.match_bm25(row, '{' '.join(codes)}', k := {k1!r}, b := {b!r}) AS score "
            f"FROM claims WHERE score IS NOT NULL ORDER BY score DESC, row DESC LIMIT {k:d}"
        )
        with interrupted_after(seconds, self._database):
            return self._database.execute(query).fetchall()


class NearestNeighbors:
    """The HNSW index of the extension vss: approximate."""

    def __init__(self, rows: Sequence[int], vectors: "NDArray[np.float32]", width: int) -> None:
        """Rows, each with its vector."""
        from scalepan.store.duckdb.arrow import vector_table

        self._database = _database("vss")
        self._database.execute(f"CREATE TABLE claims (row TEXT, embedding FLOAT[{width:d}])")
        if rows:
            self._database.register("incoming", vector_table(list(map(str, rows)), vectors))
            self._database.execute("INSERT INTO claims SELECT id, vector FROM incoming")
            self._database.unregister("incoming")
        self._database.execute("CREATE INDEX near ON claims USING HNSW (embedding) WITH (metric = 'cosine')")

    def search(self, vector: "NDArray[np.float32]", k: int, seconds: float) -> list[tuple[int, float]]:
        """The k nearest rows and their cosines. TimeoutError if it takes longer than `seconds`."""
        query = (
            f"SELECT row, array_cosine_distance(embedding, {vector_literal(vector)}) AS distance "
            f"FROM claims ORDER BY distance LIMIT {k:d}"
        )
        with interrupted_after(seconds, self._database):
            # Distance and cosine are kept apart nowhere else: sim = 1 - dist.
            return [(int(row), 1 - distance) for row, distance in self._database.execute(query).fetchall()]
