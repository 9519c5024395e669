"""The index that lives in the owner of a store: shelf, words and vectors, kept in step with the tables."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from scalepan.memory.claim import Claim, Entity, Provenance, written
from scalepan.memory.claims import indexed_text
from scalepan.memory.recall.candidates.columns import Entry, Shelf
from scalepan.memory.recall.candidates.vectors import Vectors
from scalepan.memory.recall.candidates.words import Words
from scalepan.redact import Redactor
from scalepan.store.duckdb.values import among, as_json
from scalepan.text import Morphology, terms

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray

PAGE = 20_000
WORN = 4096
"""So many dead rows, and as many as live ones, and the index is made anew."""


class Index:
    """Rows of shelf, words and vectors are the same rows. Hold `lock` while reading more than one of them."""

    def __init__(self, morphology: Morphology, redactor: Redactor, rules: str = "") -> None:
        self.morphology: Morphology = morphology
        self.redactor = redactor
        """Cuts what may be kept in a text and yet not be found by."""
        self.rules = rules
        """The version of the redactor's policy."""
        self.lock = threading.RLock()
        self.shelf = Shelf()
        self.words = Words()
        self.vectors = Vectors()
        self.generation = 0
        """Counts up with every change: what was made from the index before is stale."""
        self.unsaved = 0
        """How many claims have changed since the index was last saved."""

    def add(self, entries: Sequence[Entry], terms_of: Sequence[Sequence[str]]) -> None:
        """Take in claims with their terms; one that was there before is replaced, and needs its vector again."""
        with self.lock:
            self.shelf.add(entries)
            self.words.add(terms_of)
            self._changed(len(entries))

    def restore(self, entries: Sequence[Entry], words: Words, vectors: Vectors) -> None:
        """Take in claims whose terms and vectors are known, into an empty index."""
        with self.lock:
            self.shelf.add(entries)
            self.words, self.vectors = words, vectors

    def put_vectors(self, ids: Sequence[str], vectors: "NDArray[np.float32]") -> None:
        """Vectors of claims that had none; a claim that has gone meanwhile is passed over."""
        with self.lock:
            there = [i for i, id_ in enumerate(ids) if id_ in self.shelf.row_of]
            self.vectors.put([self.shelf.row_of[ids[i]] for i in there], vectors[there])
            self._changed(len(there))

    def drop_vectors(self) -> None:
        """Forget all vectors: another model will make new ones."""
        with self.lock:
            self.vectors = Vectors()
            self._changed(len(self.shelf.row_of))

    def change(self, id_: str, **numbers: float) -> None:
        """New numbers for a claim. Who may see it stays, and what it is found by, so nothing made from it is stale."""
        with self.lock:
            self.shelf.change(id_, numbers)
            self.unsaved += 1

    def remove(self, ids: Sequence[str]) -> None:
        """Take claims out."""
        with self.lock:
            self.shelf.remove(ids)
            self._changed(len(ids))

    def _changed(self, claims: int) -> None:
        self.generation += 1
        self.unsaved += claims

    @property
    def worn(self) -> bool:
        """Whether most rows are dead."""
        return self.shelf.dead > max(WORN, len(self.shelf.row_of))


_CLAIMS = """
    SELECT c.id, c.tenant, c.project, c.session, c.text, c.kind, c.scope, c.boundary_class, c.content_hash, c.utility,
        c.confidence, c.quality, epoch(c.created_at), epoch(c.updated_at), c.provenance::TEXT,
        (SELECT list({'name': e.name, 'type': e.type} ORDER BY e.name, e.type)
         FROM claim_entities l JOIN entities e ON e.id = l.entity_id WHERE l.claim_id = c.id),
        epoch(c.utility_at), epoch(c.quality_at)
    FROM claims c WHERE c.merged_into IS NULL
"""


def build(cursor: "DuckDBPyConnection", index: Index) -> None:
    """Fill an empty index with everything that the tables hold, as one transaction sees them."""
    found = cursor.execute(f"{_CLAIMS} ORDER BY c.rowid")
    while page := found.fetchmany(PAGE):
        _take_in(index, page)
    _load_vectors(cursor, index)


def refresh(cursor: "DuckDBPyConnection", index: Index, ids: Sequence[str]) -> None:
    """Bring some claims up to what the tables say; those that are not there any more, or merged, go."""
    page = cursor.execute(f"{_CLAIMS} AND {among('c.id')}", [as_json(ids)]).fetchall()
    there = [row[0] for row in page]
    vectors = {
        id_: np.asarray(vector, dtype=np.float32)
        for id_, vector in cursor.execute(
            f"SELECT claim_id, embedding FROM claim_vectors WHERE {among('claim_id')}", [as_json(there)]
        ).fetchall()
    }
    with index.lock:
        index.remove(ids)
        _take_in(index, page)
        if vectors:
            index.put_vectors(list(vectors), np.stack(list(vectors.values())))


def _take_in(index: Index, page: Sequence[Sequence[Any]]) -> None:
    entries = [_entry(row) for row in page]
    texts = [indexed_text(entry.claim.text, entry.claim.boundary_class, index.redactor) for entry in entries]
    index.add(entries, [terms(text, index.morphology) for text in texts])


def _entry(row: Sequence[Any]) -> Entry:
    created, updated, provenance, entities, utility_at, quality_at = row[12:]
    claim = Claim(
        **dict(zip(Claim.__struct_fields__[:12], row, strict=False)),
        created_at=written(created),
        updated_at=None if updated is None else written(updated),
        merged_into=None,
        provenance=msgspec.json.decode(provenance or "{}", type=Provenance),
        entities=[Entity(**entity) for entity in entities or ()],
    )
    return Entry(claim, utility_at, quality_at, created if updated is None else updated)


def _load_vectors(cursor: "DuckDBPyConnection", index: Index) -> None:
    """All vectors, flat: as lists of Python numbers they would take a hundred times as long."""
    ids = [id_ for (id_,) in cursor.execute("SELECT claim_id FROM claim_vectors ORDER BY rowid").fetchall()]
    for start in range(0, len(ids), PAGE):
        some = ids[start : start + PAGE]
        page = f"SELECT embedding FROM claim_vectors ORDER BY rowid LIMIT {PAGE} OFFSET {start}"
        flat = cursor.execute(f"SELECT unnest(embedding) AS x FROM ({page})").fetchnumpy()["x"]
        index.put_vectors(some, np.asarray(flat, dtype=np.float32).reshape(len(some), -1))
