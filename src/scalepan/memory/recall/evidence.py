"""What speaks for each claim? Observations by words and by meaning that can be compared between stores.

Candidates are the best of each side, as many whatever a call asks for, and each of them is observed on both sides.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scalepan.memory.recall.candidates.query import SearchQuery
from scalepan.memory.recall.candidates.top import best_rows
from scalepan.memory.recall.candidates.vectors import Cosines
from scalepan.memory.recall.candidates.words import Matches
from scalepan.memory.recall.context import context
from scalepan.policy.evidence import EvidenceWeights, RecallEvidence, Usual

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Rows = NDArray[np.int64]


class Observed(NamedTuple):
    """Candidates, and what was observed of each."""

    rows: "Rows"
    columns: dict[str, "Column"]
    """By the names of `EvidenceWeights`; NaN where there is no vector, absent where a side was not searched."""
    bm25: "Column"
    cosine: "Column"
    text_rank: "Column"
    """From 1; NaN where a side's pool does not have it."""
    vector_rank: "Column"

    def probability(self, weights: EvidenceWeights, names: Iterable[str] | None = None) -> "Column":
        """What the evidence comes to: all of it, or that of these names. What is not known adds nothing."""
        odds = np.full(len(self.rows), weights.bias)
        for name in self.columns if names is None else names:
            weight = getattr(weights, name)
            if weight and name in self.columns:
                odds += weight * np.nan_to_num(self.columns[name])
        found: Column = 1 / (1 + np.exp(-odds))
        return found


def observe(
    query: SearchQuery, evidence: RecallEvidence, usual: Usual | None, now: float, *, in_context: bool
) -> Observed:
    """Candidates of both sides, or of words alone where nothing usual is known of meaning. Hold the index's lock.

    `in_context`: their neighbors, sources, speakers and times are observed too.
    """
    index, mask = query.index, query.mask()
    newest = index.columns.column("ts")
    matches = index.words.matches(query.terms, mask, query.policy.text, evidence.words.claims)
    rows = best_rows(matches.bm25, matches.bm25 > 0, evidence.pool, newest)
    cosines = None
    if usual is not None:
        few = query.policy.vectors.rescore * query.policy.hybrid.k_vec
        cosines = index.vectors.cosines(query.vector, mask, rows, query.policy.vectors, max(few, evidence.pool))
        near = best_rows(cosines.by_row, ~np.isnan(cosines.by_row), evidence.pool, newest)
        rows = np.union1d(rows, near)
    population = int(np.count_nonzero(mask))
    columns = _by_words(matches, rows, population, evidence.words)
    unknown = np.full(len(rows), np.nan)
    cosine = vector_rank = unknown
    if cosines is not None and usual is not None:
        columns |= _by_meaning(cosines, rows, usual)
        cosine = cosines.by_row[rows]
        vector_rank = _ranks(cosine, newest[rows], evidence.pool)
    bm25 = matches.bm25[rows]
    if in_context:
        z = None if cosines is None or usual is None else _z(cosines, cosines.by_row, usual)
        columns |= context(query, rows, matches.bm25, z, now)
    text_rank = _ranks(np.where(bm25 > 0, bm25, np.nan), newest[rows], evidence.pool)
    return Observed(rows, columns, bm25, cosine, text_rank, vector_rank)


def _by_words(matches: Matches, rows: "Rows", population: int, usual: Usual) -> dict[str, "Column"]:
    bm25 = matches.bm25
    # Sorted, so that the order of the rows does not show in the last digits.
    some = np.sort(bm25[bm25 > 0])
    best = float(some[-1]) if len(some) else 0.0
    mean = float(some.sum()) / population if population else 0.0
    variance = max(float((some**2).sum()) / population - mean**2, 0.0) if population else 0.0
    # What is usual is known relative to the most that the query could reach, BM25 without saturation.
    z = usual.scaled(matches.reach).z(bm25[rows], mean, variance, population)
    return {
        "coverage": matches.coverage[rows],
        "rarest": matches.rarest[rows],
        "text_z": np.log1p(np.maximum(z, 0.0)),
        "of_best": bm25[rows] / best if best else np.zeros(len(rows)),
    }


def _by_meaning(cosines: Cosines, rows: "Rows", usual: Usual) -> dict[str, "Column"]:
    return {"cosine_z": _z(cosines, cosines.by_row[rows], usual)}


def _z(cosines: Cosines, some: "Column", usual: Usual) -> "Column":
    found: Column = usual.z(some, cosines.mean, cosines.deviation**2, cosines.compared)
    return found


def _ranks(scores: "Column", newest: "Column", most: int) -> "Column":
    """Places from 1, best first and of equals the newest; NaN for those without a score, or beyond `most`."""
    order = np.lexsort((-newest, -scores))  # NaN sorts last
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    ranks[np.isnan(scores) | (ranks > most)] = np.nan
    return ranks


def letters_beyond(query: str) -> bool:
    """Whether most letters of a query are in other scripts than Latin.

    >>> letters_beyond("解約方法を教えて"), letters_beyond("how to cancel 解約?")
    (True, False)
    """
    letters = [character for character in query if character.isalpha()]
    latin = sum(1 for letter in letters if letter < "\u0250" or "\u1e00" <= letter < "\u1f00")
    return 2 * latin < len(letters)
