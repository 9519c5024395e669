"""Candidates of both sides become scored claims: join, normalize, fuse, rerank (spec memory.md, sections 1 to 4)."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from karat.memory.answers import Features, Gain
from karat.memory.candidates.sought import Hit
from karat.memory.model import Claim
from karat.memory.population import Population
from karat.memory.rank import (
    Gains,
    fuse,
    g_factors,
    norm_bm25,
    norm_cos,
    norm_rank,
    recency,
)
from karat.policy.retrieval import Curve, Retrieval
from karat.score import Part, Rule, Score
from karat.stats.calibration import apply_platt, apply_points


class SideFound(NamedTuple):
    """What one side found: hits with their scores from 0 to 1. `level` is empty if the side did not run."""

    level: str
    hits: list[Hit]
    scores: list[float]
    note: str = ""
    """Why it did not run, or where its scores come from."""
    calibrated: bool = False

    def by_id(self) -> dict[str, tuple[Hit, float]]:
        """Hit and score by claim."""
        return {hit.id: (hit, score) for hit, score in zip(self.hits, self.scores, strict=True)}


def text_scores(level: str, hits: Sequence[Hit], policy: Retrieval, curve: Curve | None) -> list[float]:
    """Raw text scores to 0..1: by rank at L0, by the fitted curve where there is one, else min-max."""
    if level == "L0":
        return [norm_rank(hit.rank) for hit in hits]
    raw = [hit.raw for hit in hits]
    return calibrated(raw, curve) if curve is not None else norm_bm25(raw, policy.normalize)


def vector_scores(hits: Sequence[Hit], curve: Curve | None) -> list[float]:
    """Cosines to 0..1."""
    raw = [hit.raw for hit in hits]
    return calibrated(raw, curve) if curve is not None else [norm_cos(sim) for sim in raw]


def calibrated(raw: Sequence[float], curve: Curve) -> list[float]:
    """Raw scores as the fitted curve has them."""
    if not raw:
        return []
    scores = np.asarray(raw, dtype=float)
    if curve.method == "platt":
        return list(map(float, apply_platt(scores, *curve.x)))
    return list(map(float, apply_points(scores, np.asarray(curve.x), np.asarray(curve.y))))


class Weighed(NamedTuple):
    """A candidate with its score and everything that went into it."""

    claim: Claim
    age_days: float
    score: float
    features: Features
    factors: list[tuple[str, float]]
    weights: tuple[float, float]
    """Of meaning and of words."""


def weigh(
    claims: Sequence[tuple[Claim, float]],
    text: SideFound,
    vectors: SideFound,
    alpha: float,
    people: Population,
    policy: Retrieval,
) -> list[Weighed]:
    """Score every candidate, given with its age in days; best first, of equals the newer."""
    by_text, by_vector = text.by_id(), vectors.by_id()
    weighed = []
    for one, age_days in claims:
        found_text, found_vector = by_text.get(one.id), by_vector.get(one.id)
        s_text = found_text[1] if found_text else None
        s_vec = found_vector[1] if found_vector else None
        weights = side_weights(alpha, text.level, vectors.level, s_text, s_vec, policy)
        relevance = fuse(s_vec or 0.0, s_text or 0.0, weights[0])
        gains = Gains(
            people.gain(one.utility),
            min(max(one.confidence, 0.0), 1.0),
            recency(age_days, policy.half_life(one.kind)),
            min(max(one.quality, 0.0), 1.0) if policy.rerank.use_quality and one.quality is not None else None,
        )
        factors = g_factors(gains, policy.rerank)
        score = relevance
        for _, factor in factors:
            score *= factor
        features = Features(
            s_text,
            s_vec,
            relevance,
            Gain(*gains),
            found_text[0].rank if found_text else None,
            found_vector[0].rank if found_vector else None,
            found_text[0].raw if found_text and text.level != "L0" else None,
            found_vector[0].raw if found_vector else None,
        )
        weighed.append(Weighed(one, age_days, score, features, factors, weights))
    return sorted(weighed, key=lambda item: (-item.score, item.age_days, item.claim.id))


def side_weights(
    alpha: float, text_level: str, vector_level: str, s_text: float | None, s_vec: float | None, policy: Retrieval
) -> tuple[float, float]:
    """How much meaning and words count. A side that did not run at all leaves the other as it is."""
    if not vector_level:
        return 0.0, 1.0
    if not text_level:
        return 1.0, 0.0
    if policy.normalize.missing_side == "as_is":
        if s_vec is None:
            return 0.0, 1.0
        if s_text is None:
            return 1.0, 0.0
    return alpha, 1 - alpha


def score_of(item: Weighed, text: SideFound, vectors: SideFound, version: str) -> Score:
    """The score with its reasons: what each side gave, and what use, certainty and age made of it."""
    features = item.features
    parts = (
        _part("s_vec", features.s_vec, item.weights[0], vectors),
        _part("s_text", features.s_text, item.weights[1], text),
    )
    rules = []
    at = features.S
    gains = {
        "utility": features.g.util,
        "confidence": features.g.conf,
        "recency": features.g.rec,
        "quality": features.g.qual,
    }
    for name, factor in item.factors:
        if at * factor != at:  # what changes nothing is no rule
            rules.append(Rule(name, at, at * factor, f"x {factor:.3f}, {name} {gains[name]:.3f}"))
        at *= factor
    return Score("score_final", at, parts=parts, base=features.S, rules=tuple(rules), policy=version)


def _part(name: str, value: float | None, weight: float, side: SideFound) -> Part:
    if not side.level:
        return Part(name, 0.0, weight, "default", side.note)
    if value is None:
        return Part(name, 0.0, weight, "default", f"not among the candidates of {side.level}")
    return Part(name, value, weight, "measured", side.note)


def reason(item: Weighed, fate: str = "", *, below_threshold: bool = False) -> str:
    """Why a claim stands where it does: `FTS=rank:2; cos=0.92; recent=12d; util=0.86; conf=0.72`."""
    features = item.features
    said = []
    if features.text_rank is not None:
        said.append(f"FTS=rank:{features.text_rank}")
    if features.cos is not None:
        said.append(f"cos={features.cos:.2f}")
    said += [
        f"recent={max(item.age_days, 0.0):.0f}d",
        f"util={features.g.util:.2f}",
        f"conf={features.g.conf:.2f}",
    ]
    if fate:
        said.append(fate)
    if below_threshold:
        said.append("below_threshold")
    return "; ".join(said)


def statistics(weighed: Sequence[Weighed]) -> dict[str, dict[str, float]]:
    """Average, median and 90th percentile over the candidates, for the event."""
    if not weighed:
        return {}
    columns = {
        "s_text": [item.features.s_text or 0.0 for item in weighed],
        "s_vec": [item.features.s_vec or 0.0 for item in weighed],
        "S": [item.features.S for item in weighed],
        "g": [prod(factor for _, factor in item.factors) for item in weighed],
        "score_final": [item.score for item in weighed],
    }
    numbers = np.array(list(columns.values()))
    rows = zip(numbers.mean(axis=1).tolist(), *np.percentile(numbers, [50, 90], axis=1).tolist(), strict=True)
    return {name: dict(zip(("avg", "p50", "p90"), row, strict=True)) for name, row in zip(columns, rows, strict=True)}
