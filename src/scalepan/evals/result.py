"""How scores become a verdict: every scorer passes, or the case fails (contract evals.28 to evals.31)."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from scalepan.arguments import wrong
from scalepan.errors import InputError
from scalepan.score import Part, Score, Status


class ScorerDetails(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Evidence of a scorer; each has its own keys, as the contract spells them."""


class ScorerResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One scorer's score for one case, and the threshold to pass."""

    type: str = ""
    score: float | None
    threshold: float
    weight: float = 1.0
    status: Status = "ok"
    reason: str = ""
    details: Any = None
    whole: Score | None = None
    """The scorer's Score as it gave it, with its parts and rules; None where no scorer was asked."""

    @property
    def passed(self) -> bool | None:
        """Whether it passes; None if it is not applicable."""
        if self.status == "not_applicable":
            return None
        return self.score is not None and self.score >= self.threshold


def is_passed(results: Sequence[ScorerResult]) -> bool:
    """Whether every scorer passes. One that is not applicable does not count; one that failed never passes.

    >>> is_passed([ScorerResult(score=0.8, threshold=0.8), ScorerResult(score=0.5, threshold=0.6)])
    False
    """
    _check_results(results)
    verdicts = [result.passed for result in results if result.status != "not_applicable"]
    if not verdicts:
        raise InputError("no scorer applies, so nothing can pass")
    return all(verdicts)


def is_measured(passed: bool, results: Sequence[ScorerResult]) -> bool:
    """Whether it is known if a case passes. A scorer that failed could have gone either way.

    >>> is_measured(False, [ScorerResult(score=None, threshold=0.8, status="failed")])
    False
    >>> low = ScorerResult(score=0.1, threshold=0.8)
    >>> is_measured(False, [low, ScorerResult(score=None, threshold=0.8, status="failed")])
    True
    """
    below = any(result.score is not None and result.score < result.threshold for result in results)
    return passed or below or not any(result.status == "failed" for result in results)


def weighted_average(results: Sequence[ScorerResult]) -> float:
    """The mean of the scores by weight, over those that were measured.

    >>> weighted_average([ScorerResult(score=1.0, threshold=0.8, weight=3), ScorerResult(score=0.5, threshold=0.6)])
    0.875
    """
    _check_results(results)
    total, weighted = 0.0, 0.0
    for result in results:
        if result.score is not None:
            total = total + result.weight
            weighted = weighted + result.score * result.weight
    if not total:
        raise InputError("the weights add up to 0, so there is no average")
    return weighted / total


def _check_results(results: object) -> None:
    if not isinstance(results, Sequence) or not all(isinstance(result, ScorerResult) for result in results):
        raise wrong("results", results, "a list of ScorerResults")


def case_score(results: Sequence[ScorerResult], policy: str) -> Score:
    """The average as a Score whose parts are the scorers; without a value if none was measured."""
    measured = [result for result in results if result.score is not None]
    total = 0.0
    for result in measured:
        total = total + result.weight
    if not total:
        failed = [result.reason for result in results if result.status == "failed"]
        status: Status = "failed" if failed else "not_applicable"
        return Score("case", None, status, reason=failed[0] if failed else "no scorer applies", policy=policy)
    value = weighted_average(results)
    parts = tuple(
        Part(result.type, float(result.score or 0.0), result.weight / total, note=f"passes from {result.threshold:g}")
        for result in measured
    )
    return Score("case", value, parts=parts, base=value, policy=policy)


def judged(results: Sequence[ScorerResult], policy: str) -> tuple[bool, Score]:
    """Whether a case passes, and its average. A case in which nothing applies has not passed."""
    try:
        passed = is_passed(results)
    except InputError:
        passed = False
    return passed, case_score(results, policy)


def as_json(value: Any) -> Any:
    """Details as JSON, which has no infinity and no NaN, so these are written as text.

    >>> as_json({"ratio": float("inf"), "tried": (1, 2.5)})
    {'ratio': 'inf', 'tried': [1, 2.5]}
    """
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(item) for item in value]
    plain = msgspec.to_builtins(value, enc_hook=str)
    return as_json(plain) if type(plain) is not type(value) else str(value)
