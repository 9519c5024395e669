"""L2 and L3: DuckDB's search extensions. The claims in reach are copied aside, until they or the reach change."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from scalepan.memory.recall.candidates.query import Hit, SearchQuery, ranked
from scalepan.store.duckdb.extensions import FullText, NearestNeighbors

Copy = TypeVar("Copy", FullText, NearestNeighbors)
Found = list[tuple[int, float]]
"""Rows and scores, best first."""


class Side(Generic[Copy]):
    """A database beside the store, filled with what one reach may read."""

    stage = ""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: object = None
        self._copy: Copy | None = None

    def search(self, query: SearchQuery, k: int) -> list[Hit]:
        """The k best claims."""
        # The index's lock comes first wherever both are held, so that no two searches wait for each other.
        with query.deadline.not_counted(), query.index.lock, self._lock:
            ask = self._asking(self._filled(query), query, k)
        with self._lock, query.deadline.seconds_left(self.stage) as seconds:
            found = ask(seconds)
        with query.index.lock:
            return ranked(query.index, found)

    def _filled(self, query: SearchQuery) -> Copy:
        key = (query.index.columns.stage(query.reach), query.kinds, query.index.changes)
        if self._copy is None or self._key != key:
            self._copy, self._key = self._copied(query, np.flatnonzero(query.mask()).tolist()), key
        return self._copy

    def _copied(self, query: SearchQuery, rows: list[int]) -> Copy:
        raise NotImplementedError

    def _asking(self, copy: Copy, query: SearchQuery, k: int) -> Callable[[float], Found]:
        """What finds the best rows of the copy, in so many seconds at most."""
        raise NotImplementedError


class TextSide(Side[FullText]):
    """L2."""

    stage = "fts"

    def _copied(self, query: SearchQuery, rows: list[int]) -> FullText:
        words = query.index.words
        return FullText((row, words.coded(row)) for row in rows)

    def _asking(self, copy: FullText, query: SearchQuery, k: int) -> Callable[[float], Found]:
        codes, text = query.index.words.codes(query.terms), query.policy.text
        return lambda seconds: copy.search(codes, k, text.k1, text.b, seconds) if codes else []


class VectorSide(Side[NearestNeighbors]):
    """L3."""

    stage = "vss"

    def _copied(self, query: SearchQuery, rows: list[int]) -> NearestNeighbors:
        vectors = query.index.vectors
        there = [row for row in rows if vectors.has(row)]
        return NearestNeighbors(there, vectors.of(there), vectors.width)

    def _asking(self, copy: NearestNeighbors, query: SearchQuery, k: int) -> Callable[[float], Found]:
        return lambda seconds: copy.search(query.vector, k, seconds)


class Sides:
    """Both, kept from one query to the next."""

    def __init__(self) -> None:
        self.full_text = TextSide()
        self.nearest = VectorSide()
