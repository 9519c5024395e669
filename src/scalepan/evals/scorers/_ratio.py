"""Scores that are one number: a ratio, a yes or no."""

from scalepan.evals.result import ScorerDetails
from scalepan.score import Part, Score


def ratio(name: str, value: float, note: str, details: ScorerDetails | None = None) -> Score:
    """A Score of one part with weight 1."""
    return Score(name, value, parts=(Part(name, value, 1.0, note=note),), base=value, details=details)


def nothing_to_judge(name: str, reason: str, details: ScorerDetails | None = None) -> Score:
    """Not applicable: it counts neither in the verdict nor in the average."""
    return Score(name, None, "not_applicable", reason=reason, details=details)


def failed(name: str, reason: str, details: ScorerDetails | None = None) -> Score:
    """The scorer could not produce a score. It never passes."""
    return Score(name, None, "failed", reason=reason, details=details)
