"""The index in the owner of a store: claim columns, terms and vectors, updated with the tables."""

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scalepan.memory.recall.candidates.columns import ClaimColumns, Entry
from scalepan.memory.recall.candidates.vectors import VectorIndex
from scalepan.memory.recall.candidates.words import Words
from scalepan.redact import Redactor
from scalepan.store.rows import ClaimRow, EntityName
from scalepan.text import Morphology, terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from scalepan.store import Here

WORN = 4096
"""Rebuild the index when dead rows exceed this number and outnumber live ones."""


class Index:
    """Rows of columns, words and vectors are the same rows. Hold `lock` while reading more than one of them."""

    def __init__(self, morphology: Morphology, redactor: Redactor, rules: str = "") -> None:
        self.morphology: Morphology = morphology
        self.redactor = redactor
        """Cuts what may be kept in a text and yet not be found by."""
        self.rules = rules
        """The version of the redactor's policy."""
        self.lock = threading.RLock()
        self.columns = ClaimColumns()
        self.words = Words()
        self.vectors = VectorIndex()
        self.changes = 0
        """Counts up with every change: what was made from the index before is stale."""
        self.unsaved = 0
        """How many claims have changed since the index was last saved."""

    def add(self, entries: Sequence[Entry], terms_of: Sequence[Sequence[str]]) -> None:
        """Take in claims with their terms; one that was there before is replaced, and needs its vector again."""
        with self.lock:
            self.columns.add(entries)
            self.words.add(terms_of)
            self._changed(len(entries))

    def restore(self, entries: Sequence[Entry], words: Words, vectors: VectorIndex) -> None:
        """Take in claims whose terms and vectors are known, into an empty index."""
        with self.lock:
            self.columns.add(entries)
            self.words, self.vectors = words, vectors

    def put_vectors(self, ids: Sequence[str], vectors: "NDArray[np.float32]") -> None:
        """Vectors of claims that had none; a claim that has gone meanwhile is passed over."""
        with self.lock:
            there = [i for i, id_ in enumerate(ids) if id_ in self.columns.row_of]
            self.vectors.put([self.columns.row_of[ids[i]] for i in there], vectors[there])
            self._changed(len(there))

    def drop_vectors(self) -> None:
        """Forget all vectors: another model will make new ones."""
        with self.lock:
            self.vectors = VectorIndex()
            self._changed(len(self.columns.row_of))

    def change(self, id_: str, **numbers: float) -> None:
        """New numbers for a claim. Who may see it stays, and what it is found by, so nothing made from it is stale."""
        with self.lock:
            self.columns.change(id_, numbers)
            self.unsaved += 1

    def remove(self, ids: Sequence[str]) -> None:
        """Take claims out."""
        with self.lock:
            self.columns.remove(ids)
            self._changed(len(ids))

    def _changed(self, claims: int) -> None:
        self.changes += 1
        self.unsaved += claims

    @property
    def worn(self) -> bool:
        """Whether most rows are dead."""
        return self.columns.dead > max(WORN, len(self.columns.row_of))


def build(here: "Here", index: Index) -> None:
    """Fill an empty index with everything that the tables hold, as one transaction sees them."""
    entities = here.entities.of_all()
    for page in here.claims.indexable():
        _take_in(index, page, entities)
    for ids, vectors in here.vectors.all():
        index.put_vectors(ids, vectors)


def refresh(here: "Here", index: Index, ids: Sequence[str]) -> None:
    """Bring some claims up to what the tables say; those that are not there any more, or merged, go."""
    there = [row for row in here.claims.by_ids(ids).values() if row.merged_into is None]
    entities = here.entities.of(row.id for row in there)
    vectors = here.vectors.of([row.id for row in there])
    with index.lock:
        index.remove(ids)
        _take_in(index, there, entities)
        if vectors.ids:
            index.put_vectors(*vectors)


def indexed_text(text: str, boundary_class: str, redactor: Redactor) -> str:
    """What search sees of a claim. Personal data may be kept in the text, but is found by nobody."""
    return redactor.redact(text).text if boundary_class == "pii" else text


def spoken(text: str, speaker: str | None) -> str:
    """What words and vectors are made from: who said it is part of it, because people ask by name.

    >>> spoken("I painted a sunrise.", "Melanie")
    'Melanie: I painted a sunrise.'
    """
    return text if speaker is None else f"{speaker}: {text}"


def _take_in(index: Index, rows: Sequence[ClaimRow], entities: Mapping[str, Sequence[EntityName]]) -> None:
    texts = [spoken(indexed_text(row.text, row.boundary_class, index.redactor), row.speaker) for row in rows]
    entries = [Entry.of(row, entities.get(row.id, ())) for row in rows]
    index.add(entries, [terms(text, index.morphology) for text in texts])
