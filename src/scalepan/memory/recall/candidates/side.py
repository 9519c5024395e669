"""L2 and L3: DuckDB's search extensions, each in a database of its own in memory.

An index of theirs inside the store would lock out everyone who lacks the extension, and FTS knows no Japanese. So the
claims in reach are copied aside, their terms as numbers, and the copy is kept until the claims or the reach change.
"""

import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from scalepan.errors import MissingExtraError
from scalepan.memory.recall.candidates.sought import Hit, Sought, ranked
from scalepan.store.duckdb.arrow import vector_table
from scalepan.store.duckdb.schema import duckdb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

EXTRA = "search"


def extension_file(name: str) -> Path:
    """The extension inside its package; MissingExtraError says how to add it."""
    spec = find_spec(f"duckdb_extension_{name}")
    files = sorted(Path(spec.origin).parent.rglob(f"{name}.duckdb_extension")) if spec and spec.origin else []
    if not files:
        raise MissingExtraError(f"DuckDB's {name} extension", EXTRA)
    return files[-1]


class Side:
    """A database beside the store, filled with what one reach may read."""

    extension = ""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: object = None
        self._database: DuckDBPyConnection | None = None

    def search(self, sought: Sought, k: int) -> list[Hit]:
        """The k best claims."""
        # The index's lock comes first wherever both are held, so that no two searches wait for each other.
        with sought.deadline.not_counted(), sought.index.lock, self._lock:
            database = self._filled(sought)
            query = self._query(sought, k)
        with self._lock, sought.deadline.interrupting(database, self.extension):
            found = self._scored(database.execute(query).fetchall()) if query else []
        with sought.index.lock:
            return ranked(sought.index, found)

    def _filled(self, sought: Sought) -> "DuckDBPyConnection":
        key = (sought.reach, sought.kinds, sought.index.generation)
        if self._database is None or self._key != key:
            file = extension_file(self.extension)
            database: DuckDBPyConnection = duckdb().connect(":memory:", config={"threads": 1})
            database.execute(f"LOAD '{str(file).replace(chr(39), chr(39) * 2)}'")
            self._fill(database, sought)
            self._database, self._key = database, key
        return self._database

    def _fill(self, database: "DuckDBPyConnection", sought: Sought) -> None:
        raise NotImplementedError

    def _query(self, sought: Sought, k: int) -> str:
        """The SQL that finds the k best rows of the copy, best first; empty if there is nothing to look for."""
        raise NotImplementedError

    def _scored(self, found: list[tuple[Any, float]]) -> list[tuple[int, float]]:
        """What it finds as rows and scores."""
        return found


class FullText(Side):
    """L2."""

    extension = "fts"

    def _fill(self, database: "DuckDBPyConnection", sought: Sought) -> None:
        rows = np.flatnonzero(sought.mask()).tolist()
        words = sought.index.words
        documents: list[Any] = [{"row": row, "terms": " ".join(words.coded(row))} for row in rows]
        database.execute("CREATE TABLE claims (row INTEGER, terms TEXT)")
        database.execute(
            'INSERT INTO claims SELECT unnest(from_json_strict(?, \'[{"row": "INTEGER", "terms": "VARCHAR"}]\'), '
            "max_depth := 2)",
            [msgspec.json.encode(documents).decode()],
        )
        database.execute(
            "PRAGMA create_fts_index('claims', 'row', 'terms', stemmer = 'none', stopwords = 'none', "
            "ignore = '[^a-z0-9]+', strip_accents = 0, lower = 0)"
        )

    def _query(self, sought: Sought, k: int) -> str:
        coded = " ".join(sought.index.words.codes(sought.terms))
        if not coded:
            return ""
        policy = sought.policy.text
        return (
            f"SELECT row, fts_main_claims.match_bm25(row, '{coded}', k := {policy.k1!r}, b := {policy.b!r}) AS score "
            f"FROM claims WHERE score IS NOT NULL ORDER BY score DESC, row DESC LIMIT {k:d}"
        )


class NearestNeighbors(Side):
    """L3."""

    extension = "vss"

    def _fill(self, database: "DuckDBPyConnection", sought: Sought) -> None:
        index = sought.index
        rows = [row for row in np.flatnonzero(sought.mask()).tolist() if index.vectors.has(row)]
        width = index.vectors.width
        database.execute(f"CREATE TABLE claims (row TEXT, embedding FLOAT[{width:d}])")
        if rows:
            database.register("incoming", vector_table(list(map(str, rows)), index.vectors.of(rows)))
            database.execute("INSERT INTO claims SELECT id, vector FROM incoming")
            database.unregister("incoming")
        database.execute("CREATE INDEX near ON claims USING HNSW (embedding) WITH (metric = 'cosine')")

    def _query(self, sought: Sought, k: int) -> str:
        return (
            f"SELECT row, array_cosine_distance(embedding, {sought.vector_literal()}) AS distance "
            f"FROM claims ORDER BY distance LIMIT {k:d}"
        )

    def _scored(self, found: list[tuple[Any, float]]) -> list[tuple[int, float]]:
        # Distance and cosine are kept apart nowhere else: sim = 1 - dist.
        return [(int(row), 1 - distance) for row, distance in found]


class Sides:
    """Both, kept from one query to the next."""

    def __init__(self) -> None:
        self.full_text = FullText()
        self.nearest = NearestNeighbors()
