"""Many steps to one number: mean, the weakest, or later steps more (contract confidence.21)."""

from collections.abc import Sequence

import msgspec

from scalepan.confidence.evidence import evidence_of
from scalepan.confidence.formula import ConfidenceScore
from scalepan.errors import InputError, counted, did_you_mean
from scalepan.policy.confidence import Aggregation
from scalepan.score import Part, Score

METHODS: tuple[Aggregation, ...] = ("mean", "min", "weighted")


class Bounds(msgspec.Struct, frozen=True):
    """What the number could be if the steps without a value had one."""

    worst: float
    best: float
    unmeasured: int


def aggregate_scores(scores: Sequence[Score], method: str, version: str = "") -> Score:
    """One score for a plan. Steps without a value are left out, and `details` says what they could make of it.

    No step at all is 0.0.
    """
    if method not in METHODS:
        raise InputError(f"no method '{method}'{did_you_mean(method, METHODS)}", path="method")
    measured = [(place, score.value) for place, score in enumerate(scores, 1) if score.value is not None]
    missing = len(scores) - len(measured)
    if scores and not measured:
        return Score(
            "confidence",
            None,
            status="not_applicable",
            reason=f"none of {counted(len(scores), 'step')} was measured",
            policy=version,
        )
    if not scores:
        return Score("confidence", 0.0, parts=(Part("no step", 0.0, 1.0),), base=0.0, policy=version)
    value, weights = _combined(measured, method)
    parts = tuple(
        Part(f"step {place}", found, weight, "inherited")
        for (place, found), weight in zip(measured, weights, strict=True)
    )
    bounds = None
    if missing:
        worst, best = (
            _combined([(p, fill if s.value is None else s.value) for p, s in enumerate(scores, 1)], method)[0]
            for fill in (0.0, 1.0)
        )
        bounds = Bounds(worst, best, missing)
    rests_on = tuple(dict.fromkeys(found for score in scores for found in evidence_of(score)))
    return ConfidenceScore(
        "confidence", value, parts=parts, base=value, details=bounds, policy=version, evidence=rests_on
    )


def _combined(steps: Sequence[tuple[int, float]], method: str) -> tuple[float, list[float]]:
    """The number, and how much each step counts for it."""
    if method == "min":
        lowest = min(range(len(steps)), key=lambda i: steps[i][1])
        return steps[lowest][1], [float(i == lowest) for i in range(len(steps))]
    weights = [float(place) if method == "weighted" else 1.0 for place, _ in steps]
    total = weight = 0.0
    for (_, value), share in zip(steps, weights, strict=True):
        total += value * share
        weight += share
    return total / weight, [share / weight for share in weights]
