"""Exact search by meaning: one product of a matrix with the query's vector."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from karat.memory.candidates.top import top

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 0.25
"""Below this share of rows it is cheaper to pick them out than to multiply all."""


class Vectors:
    """A unit vector for each row of a shelf that has one."""

    def __init__(self) -> None:
        self._matrix = np.zeros((0, 0), dtype=np.float32)
        self._there = np.zeros(0, dtype=bool)

    def put(self, rows: Sequence[int], vectors: "NDArray[np.float32]") -> None:
        """Take in the vectors of these rows. A vector of another width starts the matrix anew."""
        if not len(rows):
            return
        self._reserve(max(rows) + 1, vectors.shape[1])
        index = np.asarray(rows)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        self._matrix[index] = vectors / np.where(lengths > 0, lengths, 1.0)
        self._there[index] = True

    @property
    def width(self) -> int:
        """How many numbers a vector has; 0 if there is none."""
        return self._matrix.shape[1]

    def of(self, rows: Sequence[int]) -> "NDArray[np.float32]":
        """The vectors of rows that have one."""
        some: NDArray[np.float32] = self._matrix[list(rows)]
        return some

    def has(self, row: int) -> bool:
        """Whether this row has a vector."""
        return row < len(self._there) and bool(self._there[row])

    def missing(self, mask: "NDArray[np.bool_]") -> int:
        """How many rows of the mask have no vector."""
        known = min(len(mask), len(self._there))
        return int(mask.sum()) - int((mask[:known] & self._there[:known]).sum())

    def search(
        self, query: "NDArray[np.float32]", mask: "NDArray[np.bool_]", k: int, newest: "NDArray[np.float64]"
    ) -> list[tuple[int, float]]:
        """The k rows of the mask that are nearest to the query, with their cosine."""
        known = min(len(mask), len(self._there))
        wanted = mask[:known] & self._there[:known]
        count = int(wanted.sum())
        if not count:
            return []
        unit = query / (float(np.linalg.norm(query)) or 1.0)
        if count < FEW * known:
            rows = np.flatnonzero(wanted)
            sims = self._matrix[rows] @ unit
            return [(int(rows[i]), sim) for i, sim in top(sims, np.ones(count, dtype=bool), k, newest[rows])]
        return top(self._matrix[:known] @ unit, wanted, k, newest[:known])

    def unit_vectors(self, rows: Sequence[int]) -> "NDArray[np.float32]":
        """The vectors of some rows; zeros for what has none."""
        there = np.array([self.has(row) for row in rows], dtype=bool)
        some = np.zeros((len(rows), self._matrix.shape[1]), dtype=np.float32)
        some[there] = self._matrix[np.asarray(rows, dtype=np.int64)[there]]
        return some

    def _reserve(self, rows: int, width: int) -> None:
        if self._matrix.shape[1] != width:
            self._matrix, self._there = np.zeros((0, width), dtype=np.float32), np.zeros(0, dtype=bool)
        if rows > len(self._there):
            grown = max(rows, 2 * len(self._there), 1024)
            matrix, there = np.zeros((grown, width), dtype=np.float32), np.zeros(grown, dtype=bool)
            matrix[: len(self._there)], there[: len(self._there)] = self._matrix, self._there
            self._matrix, self._there = matrix, there
