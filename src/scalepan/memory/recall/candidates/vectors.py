"""Search by meaning: one product of a matrix with the query's vector, or, of very many, with its likely neighbors.

Vectors that are near each other agree in most of their signs. Signs take a 32nd of the memory, and memory is what a
product waits for; so among very many claims those with the most signs in common are found first, and only they are
compared. That they include the nearest is measured in docs/benchmarks.md.
"""

import sys
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scalepan.memory.recall.candidates.top import top
from scalepan.policy.retrieval import VectorsPolicy as Policy
from scalepan.stats.products import product

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT = Policy(exact_claims=sys.maxsize)
TOO_MANY = np.iinfo(np.uint16).max
FEW = 0.25
"""Below this share of rows it is cheaper to pick them out than to multiply all."""


class Cosines(NamedTuple):
    """By row, NaN where there is no vector or it was not compared; and mean and deviation over all that have one."""

    by_row: "NDArray[np.float64]"
    mean: float
    deviation: float
    compared: int


class VectorIndex:
    """A unit vector for each row that has one."""

    def __init__(self) -> None:
        self._matrix = np.zeros((0, 0), dtype=np.float32)
        self._there = np.zeros(0, dtype=bool)
        self._signs = np.zeros((0, 0), dtype=np.uint64)
        """Signs of 64 numbers in each, a column for each row."""

    def put(self, rows: Sequence[int], vectors: "NDArray[np.float32]") -> None:
        """Take in the vectors of these rows. A vector of another width starts the matrix anew."""
        if not len(rows):
            return
        self._reserve(max(rows) + 1, vectors.shape[1])
        index = np.asarray(rows)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        self._matrix[index] = vectors / np.where(lengths > 0, lengths, 1.0)
        self._signs[:, index] = _signs(vectors)
        self._there[index] = True

    @classmethod
    def restored(cls, rows: "NDArray[np.int64]", units: "NDArray[np.float32]", count: int) -> "VectorIndex":
        """The unit vectors of some of `count` rows, as they were saved."""
        vectors = cls()
        if len(rows) == count:
            vectors._matrix, vectors._there, vectors._signs = units, np.ones(count, dtype=bool), _signs(units)
        else:
            vectors.put(rows.tolist(), units)
        return vectors

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
        return int(np.count_nonzero(mask)) - int(np.count_nonzero(mask[:known] & self._there[:known]))

    def search(
        self,
        query: "NDArray[np.float32]",
        mask: "NDArray[np.bool_]",
        k: int,
        newest: "NDArray[np.float64]",
        policy: Policy = EXACT,
    ) -> list[tuple[int, float]]:
        """The k rows of the mask that are nearest to the query, with their cosine."""
        known = min(len(mask), len(self._there))
        wanted = mask[:known] & self._there[:known]
        count = int(np.count_nonzero(wanted))
        if not count:
            return []
        unit = query / (float(np.linalg.norm(query)) or 1.0)
        few = k * policy.rescore
        if count > max(policy.exact_claims, few):
            rows = self._likely(unit, wanted, few)
        elif count < FEW * known:
            rows = np.flatnonzero(wanted)
        else:
            return top(product(self._matrix[:known], unit), wanted, k, newest[:known])
        sims = product(self._matrix[rows], unit)
        return [(int(rows[i]), sim) for i, sim in top(sims, np.ones(len(rows), dtype=bool), k, newest[rows])]

    def cosines(
        self,
        query: "NDArray[np.float32]",
        mask: "NDArray[np.bool_]",
        also: "NDArray[np.int64]",
        policy: Policy,
        few: int,
    ) -> "Cosines":
        """Cosine of the query with every row of the mask; of very many, with `few` likely ones and those of `also`."""
        known = min(len(mask), len(self._there))
        wanted = mask[:known] & self._there[:known]
        count = int(np.count_nonzero(wanted))
        found = np.full(len(mask), np.nan)
        if not count:
            return Cosines(found, 0.0, 0.0, 0)
        unit = query / (float(np.linalg.norm(query)) or 1.0)
        if count > max(policy.exact_claims, few):
            rows, mean, deviation = self._near(unit, wanted, few)
            also = also[also < known]
            rows = np.union1d(rows, also[wanted[also]])
            found[rows] = product(self._matrix[rows], unit)
            return Cosines(found, mean, deviation, count)
        rows = np.flatnonzero(wanted)
        if count < FEW * known:
            found[rows] = product(self._matrix[rows], unit)
        else:
            found[rows] = product(self._matrix[:known], unit)[rows]
        # In the order of their size, so that the order of the rows does not show in the last digits.
        sims = np.sort(found[rows])
        return Cosines(found, float(sims.mean()), float(sims.std()), count)

    def _near(
        self, unit: "NDArray[np.float32]", wanted: "NDArray[np.bool_]", count: int
    ) -> "tuple[NDArray[np.int64], float, float]":
        """Likely rows; and mean and deviation of all cosines, estimated from the signs."""
        differing = self._differing(unit, wanted)
        how_many = np.bincount(differing, minlength=TOO_MANY + 1)
        likely = np.flatnonzero(differing <= np.searchsorted(np.cumsum(how_many), count))
        width = len(unit)
        share = np.arange(width + 1) / width
        weights = how_many[: width + 1] / how_many[: width + 1].sum()
        estimates = np.cos(np.pi * share)
        mean = float(weights @ estimates)
        # A cosine estimated from signs scatters around the true one: that scatter is no deviation between claims.
        scatter = np.pi**2 * np.sin(np.pi * share) ** 2 * share * (1 - share) / width
        variance = float(weights @ (estimates - mean) ** 2 - weights @ scatter)
        return likely, mean, max(variance, 0.0) ** 0.5

    def _differing(self, unit: "NDArray[np.float32]", wanted: "NDArray[np.bool_]") -> "NDArray[np.uint16]":
        """In how many signs each row differs from the query; TOO_MANY for rows that are not wanted."""
        differing = np.zeros(len(wanted), dtype=np.uint16)
        for ours, theirs in zip(self._signs, _signs(unit[None])[:, 0], strict=True):
            differing += np.bitwise_count(ours[: len(wanted)] ^ theirs)
        differing[~wanted] = TOO_MANY
        return differing

    def _likely(self, unit: "NDArray[np.float32]", wanted: "NDArray[np.bool_]", count: int) -> "NDArray[np.int64]":
        """At least this many rows, those whose sign bits differ least from the query's."""
        differing = self._differing(unit, wanted)
        how_many = np.cumsum(np.bincount(differing, minlength=TOO_MANY + 1))
        return np.flatnonzero(differing <= np.searchsorted(how_many, count))

    def unit_vectors(self, rows: Sequence[int]) -> tuple["NDArray[np.float32]", "NDArray[np.bool_]"]:
        """The vectors of some rows, zeros for what has none; and which have one."""
        index = np.asarray(rows, dtype=np.int64)
        known = index < len(self._there)
        has_one = np.zeros(len(rows), dtype=bool)
        has_one[known] = self._there[index[known]]
        some = np.zeros((len(rows), self._matrix.shape[1]), dtype=np.float32)
        some[has_one] = self._matrix[index[has_one]]
        return some, has_one

    def _reserve(self, rows: int, width: int) -> None:
        if self._matrix.shape[1] != width:
            self._matrix, self._there = np.zeros((0, width), dtype=np.float32), np.zeros(0, dtype=bool)
            self._signs = np.zeros((ceil(width / 64), 0), dtype=np.uint64)
        have = len(self._there)
        if rows > have:
            more = max(rows, 2 * have, 1024) - have
            self._matrix = np.pad(self._matrix, ((0, more), (0, 0)))
            self._there = np.pad(self._there, (0, more))
            self._signs = np.pad(self._signs, ((0, 0), (0, more)))


def _signs(vectors: "NDArray[np.float32]") -> "NDArray[np.uint64]":
    """The signs of vectors, 64 in a number; a column for each vector."""
    missing = -vectors.shape[1] % 64
    bits = np.pad(np.packbits(vectors > 0, axis=1), ((0, 0), (0, missing // 8)))
    return np.ascontiguousarray(bits).view(np.uint64).T
