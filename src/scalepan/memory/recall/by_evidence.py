"""Scores by evidence (profiles other than `spec`): the contract's formula, where both sides are probabilities.

Every candidate of either side has both, so how many a call asks for changes nothing but where the list ends.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scalepan.memory.halflife import recencies
from scalepan.memory.rank import Parameters
from scalepan.memory.recall.candidates.query import SearchQuery
from scalepan.memory.recall.curves import Curves
from scalepan.memory.recall.evidence import letters_beyond, observe
from scalepan.memory.recall.population import NO_SPREAD, Population
from scalepan.memory.recall.weigh import Candidates, SideFound, Weighed, calibrated, weigh
from scalepan.policy.evidence import TEXT, VECTOR, EncoderEvidence
from scalepan.policy.retrieval import Curve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

BEYOND_READING = "most letters of the query are beyond the encoder's reading: recall uses words only"
LEAST_ODDS = -12.0
"""Log-odds below this are as good as none."""
SHORTLIST = 256
"""Candidates that are looked at one by one: to be chosen, spread out or named as rejected."""


class ByEvidence(NamedTuple):
    """What came of it, and how many candidates there were before the list was cut."""

    weighed: Weighed
    text: SideFound
    vectors: SideFound
    candidates: int


def weigh_by_evidence(
    query: SearchQuery, chosen: Parameters, curves: Curves, now: float, encoder: EncoderEvidence | None, missing: str
) -> ByEvidence:
    """All candidates scored on both sides, and the best of them; `missing` says why there is no encoder.

    Hold the index's lock.
    """
    policy = query.policy
    if encoder is not None and encoder.reads == "latin" and letters_beyond(query.query):
        encoder, missing = None, BEYOND_READING
    usual = None if encoder is None else encoder.usual
    seen = observe(query, policy.evidence, usual, now, in_context=policy.profile == "best")
    s_text = _side(curves.text, seen.bm25, seen.probability(policy.evidence.text, TEXT))
    s_vec = np.full(len(seen.rows), np.nan)
    if encoder is not None:
        shipped = np.where(np.isnan(seen.cosine), np.nan, seen.probability(policy.evidence.vector, VECTOR))
        s_vec = _side(curves.vector, seen.cosine, shipped)
    # A claim without a vector is judged by its words.
    weight = np.where(np.isnan(s_vec), 0.0, chosen.alpha)
    relevance = weight * np.nan_to_num(s_vec) + (1 - weight) * s_text
    seen.columns["stronger"], seen.columns["weaker"] = strengths(s_text, s_vec)
    useful = seen.probability(policy.evidence.useful)
    p_useful = np.where(np.isnan(s_vec), seen.probability(policy.evidence.useful_alone), useful)
    if policy.profile == "best":
        relevance = seen.probability(policy.evidence.best)
    columns = query.index.columns
    people = columns.population(query.reach, query.kinds, now, policy.feedback) if len(seen.rows) else NO_SPREAD
    kept = _best(relevance * _g(query, seen.rows, now, people), max(SHORTLIST, 2 * chosen.k_final))
    rows = seen.rows[kept].tolist()
    found = Candidates([columns.claim(row) for row in rows], rows, *columns.numbers(rows, now, policy.feedback))
    sides = {
        "text_score": s_text,
        "text_raw": seen.bm25,
        "text_rank": seen.text_rank,
        "vector_score": s_vec,
        "vector_raw": seen.cosine,
        "vector_rank": seen.vector_rank,
    }
    observed = {**seen.columns, "p_useful": p_useful}
    sides, observed = ({name: column[kept] for name, column in some.items()} for some in (sides, observed))
    weighed = weigh(found, sides, weight[kept], relevance[kept], people, policy, "index", observed)
    text = SideFound("index", [], [], "", True, policy.evidence.pool)
    vectors = SideFound("index", [], [], "", True, policy.evidence.pool)
    return ByEvidence(weighed, text, vectors if encoder is not None else SideFound("", [], [], missing), len(seen.rows))


def _side(curve: Curve | None, raw: "Column", shipped: "Column") -> "Column":
    """A store's own curve replaces the one that ships."""
    return shipped if curve is None else np.asarray(calibrated(raw.tolist(), curve))


def strengths(s_text: "Column", s_vec: "Column") -> tuple["Column", "Column"]:
    """The stronger and the weaker of both sides, on the scale of log-odds: 0 as good as nothing, 1 even odds.

    A side that is alone is both.
    """
    text, vector = _log_odds(s_text), _log_odds(s_vec)
    found = np.fmax(text, vector), np.fmin(text, vector)
    stronger, weaker = (1 - np.maximum(side, LEAST_ODDS) / LEAST_ODDS for side in found)
    return stronger, weaker


def _log_odds(p: "Column") -> "Column":
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.log(p / (1 - p))


def _g(query: SearchQuery, rows: "NDArray[np.int64]", now: float, people: Population) -> "Column":
    """The coefficient of reranking for all candidates, equal to `rank.g` but for the last digit."""
    policy, columns = query.policy, query.index.columns
    utility, confidence, quality, age = columns.numbers(rows.tolist(), now, policy.feedback)
    codes, kinds = columns.words("kind")
    half_lives = np.array([policy.half_life(kind) for kind in kinds])[codes[rows]]
    measured = {
        "utility": people.about(utility),
        "confidence": np.clip(confidence, 0.0, 1.0),
        "recency": recencies(age, half_lives),
    }
    if policy.rerank.use_quality:
        measured["quality"] = np.clip(quality, 0.0, 1.0)
    product = np.ones(len(rows))
    for name, column in measured.items():
        factor = getattr(policy.rerank, name)
        product *= np.where(np.isnan(column), 1.0, factor.floor + factor.span * column)
    return product


def _best(scores: "Column", count: int) -> "NDArray[np.int64]":
    """Where the highest scores are, in no order; and all that equal the last of them, which only ids set apart."""
    if len(scores) <= count:
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    return np.flatnonzero(scores >= least * (1 - 1e-9))
