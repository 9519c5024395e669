"""Candidates of both sides become scored claims: join, normalize, fuse, rerank (contract memory.5 to memory.36)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from scalepan.memory.claim import Claim
from scalepan.memory.halflife import recencies
from scalepan.memory.rank import Gains, norm_bm25, norm_cos, norm_rank, score_best, score_final
from scalepan.memory.recall.answers import Features, Gain
from scalepan.memory.recall.candidates.query import Hit
from scalepan.memory.recall.population import Population
from scalepan.policy.evidence import TEXT, VECTOR, EvidenceWeights
from scalepan.policy.retrieval import Curve, Factor, Rerank, Retrieval
from scalepan.score import Part, Score
from scalepan.stats.calibration import apply_platt, apply_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


class SideFound(NamedTuple):
    """What one side found: hits with their scores from 0 to 1. `level` is empty if the side did not run."""

    level: str
    hits: list[Hit]
    scores: list[float]
    note: str = ""
    """Why it did not run, or where its scores come from."""
    calibrated: bool = False
    pool: int = 0
    """How many candidates it put up where they are observed together and not listed as hits."""

    @property
    def candidates(self) -> int:
        """How many candidates it put up."""
        return self.pool or len(self.hits)

    def columns(self, ids: Sequence[str]) -> dict[str, "Column"]:
        """Score, raw score and rank of these claims; NaN where this side did not find one."""
        place_of = {hit.id: place for place, hit in enumerate(self.hits)}
        places = np.array([place_of.get(id_, -1) for id_ in ids], dtype=np.int64)
        raw = [hit.raw if self.level != "L0" else np.nan for hit in self.hits]
        columns: dict[str, list[float]] = {"score": self.scores, "raw": raw, "rank": [hit.rank for hit in self.hits]}
        # The last place is that of what was not found.
        return {name: np.array([*column, np.nan])[places] for name, column in columns.items()}


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


class Candidates(NamedTuple):
    """Claims of both sides, and their numbers as of now."""

    claims: "Sequence[Claim]"
    """As they were stored: their own numbers may have faded since."""
    rows: "Sequence[int]"
    utility: "Column"
    confidence: "Column"
    quality: "Column"
    """NaN where it is not known."""
    age_days: "Column"

    def in_order(self, order: "NDArray[np.int64]") -> "Candidates":
        """The same, rearranged."""
        claims, rows = [self.claims[i] for i in order], [self.rows[i] for i in order]
        return Candidates(claims, rows, *(column[order] for column in self[2:]))


class Weighed(NamedTuple):
    """Candidates with their scores and everything that went into them, best first. Columns: there are hundreds."""

    of: Candidates
    score: "Column"
    S: "Column"
    sides: dict[str, "Column"]
    """Score, raw score and rank by `text_` and `vector_`; NaN where that side did not find it."""
    gains: dict[str, "Column"]
    """What each factor of g is measured by, by its name."""
    factors: dict[str, "Column"]
    weight: "Column"
    """Of meaning; that of words is what is left."""
    rerank: Rerank
    """How much each of them counts."""
    people: Population
    """What utility was measured against."""
    text_level: str
    """The level that the ranks by words come from."""
    observed: dict[str, "Column"]
    """The evidence that the sides' scores come from, by its name in the policy; `p_useful` too. Empty by `spec`."""
    profile: str
    """How it was scored."""
    best: EvidenceWeights
    """What evidence is worth in profile best."""

    def __len__(self) -> int:
        return len(self.score)

    @property
    def ids(self) -> list[str]:
        """The claims' ids."""
        return [claim.id for claim in self.of.claims]

    def claim(self, place: int) -> Claim:
        """A claim with its numbers as of now."""
        one = self.of
        quality = _known(one.quality[place])
        numbers = {"utility": float(one.utility[place]), "confidence": float(one.confidence[place])}
        return replace(one.claims[place], quality=quality, **numbers)

    def enough(self, policy: Retrieval) -> "NDArray[np.bool_]":
        """Which may enter an active context: by the contract those whose score, by evidence whose use is likely."""
        if self.profile == "spec":
            return self.score >= policy.threshold
        return self.observed["p_useful"] >= policy.evidence.threshold

    def nothing(self, policy: Retrieval) -> str:
        """Why nothing may enter an active context."""
        if not len(self):
            return "nothing was found: no claim that may be read shares a word or a meaning with the query"
        if self.profile == "spec":
            return f"nothing fits: the best candidate scores {self.score[0]:.3f}, below {policy.threshold:g}"
        best, least = self.best_useful() or 0.0, policy.evidence.threshold
        return f"nothing fits: the likeliest claim helps with a probability of {best:.3f}, below {least:g}"

    def to_diversify(self) -> "Column":
        """What MMR weighs against likeness. A probability counts relative to the best one: likeness is not one."""
        return self.score / self.score.max() if self.observed and len(self) and self.score.max() > 0 else self.score

    def best_useful(self) -> float | None:
        """How likely it is that any of them helps: that of the likeliest."""
        column = self.observed.get("p_useful")
        return None if column is None else float(column.max(initial=0.0))

    def observations(self, place: int) -> dict[str, float]:
        """What was observed of one, as far as it is known."""
        seen = ((name, column[place]) for name, column in self.observed.items() if name != "p_useful")
        return {name: float(value) for name, value in seen if not np.isnan(value)}

    def p_useful(self, place: int) -> float | None:
        """How likely it is that this one helps; None where nothing says so."""
        column = self.observed.get("p_useful")
        return None if column is None else _known(column[place])

    def features(self, place: int, score_div: float | None = None) -> Features:
        """What was measured of one."""
        side = {name: _known(column[place]) for name, column in self.sides.items()}
        gain = {name: _known(column[place]) for name, column in self.gains.items()}
        return Features(
            side["text_score"],
            side["vector_score"],
            float(self.S[place]),
            Gain(gain["utility"] or 0.0, gain["confidence"] or 0.0, gain["recency"] or 0.0, gain.get("quality")),
            None if side["text_rank"] is None else int(side["text_rank"]),
            None if side["vector_rank"] is None else int(side["vector_rank"]),
            side["text_raw"],
            side["vector_raw"],
            score_div,
        )


def joined(ids: Sequence[str], text: SideFound, vectors: SideFound) -> dict[str, "Column"]:
    """Score, raw score and rank of these claims by `text_` and `vector_`; NaN where a side did not find one."""
    sides = {f"text_{name}": column for name, column in text.columns(ids).items()}
    return sides | {f"vector_{name}": column for name, column in vectors.columns(ids).items()}


def weigh(
    found: Candidates,
    sides: dict[str, "Column"],
    weight: "Column",
    relevance: "Column",
    people: Population,
    policy: Retrieval,
    text_level: str,
    observed: Mapping[str, "Column"] | None = None,
) -> Weighed:
    """Score every candidate; best first, of equals the newer. `weight` is that of meaning, for each."""
    ids = [claim.id for claim in found.claims]
    half_lives = np.array([policy.half_life(claim.kind) for claim in found.claims])
    gains = {
        "utility": people.gains(found.utility),
        "confidence": np.clip(found.confidence, 0.0, 1.0),
        "recency": recencies(found.age_days, half_lives),
    }
    if policy.rerank.use_quality:
        gains["quality"] = np.clip(found.quality, 0.0, 1.0)
    factors = {name: _factor(getattr(policy.rerank, name), gain) for name, gain in gains.items()}
    score = relevance.copy()
    for factor in factors.values():
        score *= factor
    order = np.lexsort((np.array(ids), found.age_days, -score))
    sides, gains, factors, observed = (
        {name: column[order] for name, column in columns.items()} for columns in (sides, gains, factors, observed or {})
    )
    return Weighed(
        found.in_order(order),
        score[order],
        relevance[order],
        sides,
        gains,
        factors,
        weight[order],
        policy.rerank,
        people,
        text_level,
        observed,
        policy.profile if observed else "spec",
        policy.evidence.best,
    )


def _factor(policy: Factor, gain: "Column") -> "Column":
    """One factor of g; 1 where nothing is known, which is quality alone."""
    factor: Column = np.where(np.isnan(gain), 1.0, policy.floor + policy.span * gain)
    return factor


def fused(sides: Mapping[str, "Column"], weight: "Column") -> "Column":
    """S: both sides in one number; a side that did not find a claim counts 0."""
    s_vec, s_text = np.nan_to_num(sides["vector_score"]), np.nan_to_num(sides["text_score"])
    both: Column = weight * s_vec + (1 - weight) * s_text
    return both


def spec_weights(
    sides: dict[str, "Column"], text: SideFound, vectors: SideFound, alpha: float, policy: Retrieval
) -> "Column":
    """How much meaning counts, for each."""
    by_text, by_meaning = ~np.isnan(sides["text_score"]), ~np.isnan(sides["vector_score"])
    weight = np.empty(len(by_text))
    for has_text in (True, False):
        for has_meaning in (True, False):
            found = (by_text == has_text) & (by_meaning == has_meaning)
            s_text, s_vec = (0.0 if there else None for there in (has_text, has_meaning))
            weight[found] = side_weights(alpha, text.level, vectors.level, s_text, s_vec, policy)[0]
    return weight


def _known(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


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


def score_of(weighed: Weighed, place: int, text: SideFound, vectors: SideFound, version: str) -> Score:
    """The score with its reasons: what each side gave, and what use, certainty and age made of it."""
    # In the order of the fields; a quality that is not known, or does not count, is None.
    gains = Gains(*(_known(column[place]) for column in weighed.gains.values()))  # type: ignore[arg-type]
    if weighed.profile == "best":
        return score_best(weighed.observations(place), weighed.best, gains, weighed.rerank, version)
    s_vec, s_text = (_known(weighed.sides[f"{side}_score"][place]) for side in ("vector", "text"))
    weight = float(weighed.weight[place])
    notes = {name: _observations(weighed, place, names) for name, names in (("s_vec", VECTOR), ("s_text", TEXT))}
    parts = (
        _part("s_vec", s_vec, weight, vectors, notes["s_vec"]),
        _part("s_text", s_text, 1 - weight, text, notes["s_text"]),
    )
    return score_final(*parts, gains, weighed.rerank, version)


def _part(name: str, value: float | None, weight: float, side: SideFound, observed: str) -> Part:
    if not side.level:
        return Part(name, 0.0, weight, "default", side.note)
    if value is None:
        missing = "it has no vector yet" if side.pool else f"not among the candidates of {side.level}"
        return Part(name, 0.0, weight, "default", missing)
    return Part(name, value, weight, "measured", side.note or observed)


def _observations(weighed: Weighed, place: int, names: Sequence[str]) -> str:
    """What a side's probability comes from: `coverage 0.62, rarest 1.00`."""
    seen = [(name, weighed.observed[name][place]) for name in names if name in weighed.observed]
    return ", ".join(f"{name} {value:.2f}" for name, value in seen)


def reason(weighed: Weighed, place: int, fate: str = "", *, below_threshold: bool = False) -> str:
    """Why a claim stands where it does: `FTS=rank:2; cos=0.92; recent=12d; util=0.86; conf=0.72`.

    At level L0 the rank is that of ILIKE, which only finds: `ILIKE=rank:2`.
    """
    rank, cosine = weighed.sides["text_rank"][place], weighed.sides["vector_raw"][place]
    said = []
    if not np.isnan(rank):
        said.append(f"{'ILIKE' if weighed.text_level == 'L0' else 'FTS'}=rank:{rank:.0f}")
    if not np.isnan(cosine):
        said.append(f"cos={cosine:.2f}")
    said += [
        f"recent={max(weighed.of.age_days[place], 0.0):.0f}d",
        f"util={weighed.gains['utility'][place]:.2f}",
        f"conf={weighed.gains['confidence'][place]:.2f}",
    ]
    if fate:
        said.append(fate)
    if below_threshold:
        said.append("below_threshold")
    return "; ".join(said)


def statistics(weighed: Weighed) -> dict[str, dict[str, float]]:
    """Average, median and 90th percentile over the candidates, for the event."""
    if not len(weighed):
        return {}
    columns = {
        "s_text": np.nan_to_num(weighed.sides["text_score"]),
        "s_vec": np.nan_to_num(weighed.sides["vector_score"]),
        "S": weighed.S,
        "g": np.prod(list(weighed.factors.values()), axis=0),
        "score_final": weighed.score,
    }
    numbers = np.array(list(columns.values()))
    rows = zip(numbers.mean(axis=1).tolist(), *np.percentile(numbers, [50, 90], axis=1).tolist(), strict=True)
    return {name: dict(zip(("avg", "p50", "p90"), row, strict=True)) for name, row in zip(columns, rows, strict=True)}
