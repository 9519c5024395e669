"""BM25 over terms, with the statistics of the reach that is searched: what others wrote does not shift a score."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scalepan.memory.recall.candidates.top import top
from scalepan.policy.retrieval import Text

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Postings:
    """Where a term stands: rows, and how often."""

    __slots__ = ("counts", "rows")

    def __init__(self) -> None:
        self.rows = array("i")
        self.counts = array("i")


class SavedWords(NamedTuple):
    """Words as arrays: terms, in how many rows each stands, and for each of these the row and how often."""

    names: list[str]
    spread: "NDArray[np.int32]"
    rows: "NDArray[np.int32]"
    counts: "NDArray[np.int32]"
    lengths: "NDArray[np.int32]"
    """How many terms each row has."""


class Words:
    """Terms to rows and rows to terms. Rows are those of the columns, and come in rising order."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}
        self._names: list[str] = []
        self._postings: list[_Postings] = []
        self._forward = array("i")
        self._ends = array("q")
        self._lengths = array("i")

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, documents: Iterable[Sequence[str]]) -> None:
        """Take in the terms of the next rows."""
        for document in documents:
            row = len(self._ends)
            for term, count in Counter(document).items():
                number = self._terms.setdefault(term, len(self._terms))
                if number == len(self._postings):
                    self._postings.append(_Postings())
                    self._names.append(term)
                postings = self._postings[number]
                postings.rows.append(row)
                postings.counts.append(count)
                self._forward.append(number)
            self._ends.append(len(self._forward))
            self._lengths.append(len(document))

    def saved(self, rows: Sequence[int]) -> SavedWords:
        """These rows, in rising order, as arrays; they are counted from 0 there."""
        place = np.full(len(self), -1, dtype=np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        all_rows = np.frombuffer(b"".join(postings.rows for postings in self._postings), dtype=np.int32)
        all_counts = np.frombuffer(b"".join(postings.counts for postings in self._postings), dtype=np.int32)
        numbers = np.repeat(np.arange(len(self._postings)), [len(postings.rows) for postings in self._postings])
        alive = place[all_rows] >= 0
        spread = np.bincount(numbers[alive], minlength=len(self._postings)).astype(np.int32)
        lengths = np.frombuffer(self._lengths, dtype=np.int32)[rows]
        return SavedWords(self._names, spread, place[all_rows[alive]], all_counts[alive], lengths)

    @classmethod
    def restored(cls, saved: SavedWords) -> "Words":
        """The words of saved arrays."""
        words = cls()
        words._names = list(saved.names)
        words._terms = {name: number for number, name in enumerate(saved.names)}
        rows, counts = memoryview(saved.rows.tobytes()), memoryview(saved.counts.tobytes())
        at = 0
        for end in (np.cumsum(saved.spread) * saved.rows.itemsize).tolist():
            postings = _Postings()
            postings.rows.frombytes(rows[at:end])
            postings.counts.frombytes(counts[at:end])
            words._postings.append(postings)
            at = end
        words._lengths.frombytes(saved.lengths.tobytes())
        # The same by rows: what stands in row 0, in row 1, and so on.
        numbers = np.repeat(np.arange(len(saved.names), dtype=np.int32), saved.spread)
        words._forward.frombytes(numbers[np.argsort(saved.rows, kind="stable")].tobytes())
        ends = np.cumsum(np.bincount(saved.rows, minlength=len(saved.lengths)))
        words._ends.frombytes(ends.astype(np.int64).tobytes())
        return words

    def search(
        self, terms: Iterable[str], mask: "NDArray[np.bool_]", k: int, newest: "NDArray[np.float64]", policy: Text
    ) -> list[tuple[int, float]]:
        """The k best rows of the mask with their BM25 scores; of equals the newest first."""
        numbers = [self._terms[term] for term in dict.fromkeys(terms) if term in self._terms]
        if not numbers:
            return []
        lengths = np.frombuffer(self._lengths, dtype=np.int32)
        population = int(np.count_nonzero(mask))
        average = float(lengths[mask].mean()) if population else 0.0
        scores = np.zeros(len(mask))
        for number in numbers:
            postings = self._postings[number]
            rows = np.frombuffer(postings.rows, dtype=np.int32)
            seen = mask[rows]
            rows = rows[seen]
            if len(rows):
                counts = np.frombuffer(postings.counts, dtype=np.int32)[seen]
                scores[rows] += bm25(counts, lengths[rows], average, len(rows), population, policy)
        return top(scores, scores > 0, k, newest)

    def matches(self, terms: Iterable[str], mask: "NDArray[np.bool_]", policy: Text, beside: int = 0) -> "Matches":
        """What every row of the mask shares with a query. Terms that no row has count too: they are not covered.

        How rare a covered term is, is told as if so many unrelated claims were `beside` those of the mask: among three
        claims a term that none has is not rarer than one that one has.
        """
        lengths = np.frombuffer(self._lengths, dtype=np.int32)
        population = int(np.count_nonzero(mask))
        average = float(lengths[mask].mean()) if population else 0.0
        found: list[tuple[int, NDArray[np.int32], NDArray[np.int32]]] = []
        for term in dict.fromkeys(terms):
            rows = counts = np.zeros(0, dtype=np.int32)
            if term in self._terms:
                postings = self._postings[self._terms[term]]
                rows = np.frombuffer(postings.rows, dtype=np.int32)
                seen = mask[rows]
                rows, counts = rows[seen], np.frombuffer(postings.counts, dtype=np.int32)[seen]
            found.append((len(rows), rows, counts))
        scores, covered, rarest = np.zeros(len(mask)), np.zeros(len(mask)), np.zeros(len(mask))
        # The rarest last, so that its weight is the one that stays.
        found.sort(key=lambda one: -one[0])
        every = reach = highest = 0.0
        for having, rows, counts in found:
            weight, idf = rarity(having, population + beside), rarity(having, population)
            every, reach, highest = every + weight, reach + idf * (policy.k1 + 1), weight
            if len(rows):
                scores[rows] += idf * saturation(counts, lengths[rows], average, policy)
                covered[rows] += weight
                rarest[rows] = weight
        return Matches(scores, covered / (every or 1.0), rarest / (highest or 1.0), reach)

    def overlap(self, one: int, other: int) -> float:
        """How many of the terms of two rows they share: 0 for none, 1 for all.

        >>> words = Words()
        >>> words.add([["a", "b"], ["b", "c"]])
        >>> round(words.overlap(0, 1), 3)
        0.333
        """
        return shared(*self.sets([one, other]))

    def sets(self, rows: Iterable[int]) -> list[set[int]]:
        """The terms of rows, as numbers."""
        return [self._set(row) for row in rows]

    def has_any(self, row: int, terms: Iterable[str]) -> bool:
        """Whether a row has one of these terms."""
        return not self._set(row).isdisjoint({self._terms[term] for term in terms if term in self._terms})

    def bag(self, row: int) -> dict[str, int]:
        """The terms of a row, and how often each stands there."""
        return {self._names[number]: self._count(number, row) for number in self._numbers(row)}

    def codes(self, terms: Iterable[str]) -> list[str]:
        """Known terms as words that any tokenizer leaves whole."""
        return [f"t{self._terms[term]}" for term in dict.fromkeys(terms) if term in self._terms]

    def coded(self, row: int) -> list[str]:
        """The terms of a row as such words, each as often as it stands there."""
        return [f"t{number}" for number in self._numbers(row) for _ in range(self._count(number, row))]

    def _count(self, number: int, row: int) -> int:
        postings = self._postings[number]
        return postings.counts[bisect_left(postings.rows, row)]

    def _set(self, row: int) -> set[int]:
        return set(self._numbers(row))

    def _numbers(self, row: int) -> "array[int]":
        start = self._ends[row - 1] if row else 0
        return self._forward[start : self._ends[row]]


class Matches(NamedTuple):
    """By row: BM25; the share of the query's terms that it has, weighted by rarity; and that of the rarest of them."""

    bm25: "NDArray[np.float64]"
    coverage: "NDArray[np.float64]"
    rarest: "NDArray[np.float64]"
    reach: float
    """The most that BM25 could come to, if a text consisted of the query's terms."""


def shared(a: set[int], b: set[int]) -> float:
    """How much of two sets of terms is in both: 0 for nothing, 1 for all."""
    either = len(a | b)
    return len(a & b) / either if either else 0.0


def bm25(
    counts: "NDArray[np.int32]",
    lengths: "NDArray[np.int32]",
    average: float,
    found: int,
    population: int,
    policy: Text,
) -> "NDArray[np.float64]":
    """What one term adds to texts that have it `counts` times in `lengths` terms; `found` of `population` have it."""
    weight: NDArray[np.float64] = rarity(found, population) * saturation(counts, lengths, average, policy)
    return weight


def rarity(found: int, population: int) -> float:
    """The inverse document frequency of a term that `found` of `population` texts have."""
    return log(1 + (population - found + 0.5) / (found + 0.5))


def saturation(
    counts: "NDArray[np.int32]", lengths: "NDArray[np.int32]", average: float, policy: Text
) -> "NDArray[np.float64]":
    """How much repeats of a term count in texts of this length: 0 to k1 + 1."""
    damping = policy.k1 * (1 - policy.b + policy.b * lengths / average)
    weight: NDArray[np.float64] = counts * (policy.k1 + 1) / (counts + damping)
    return weight
