"""Why is a trace among the best or the worst? The parts and rules that made it so, in words."""

from scalepan.score import Part, Rule, Score

MIDDLE, CLEAR = 0.5, 0.1
"""A part says something if it is clearly above or below the middle."""
MOST = 2

_HIGH = {
    "complexity": "rich in structure",
    "novelty": "unlike the traces before it",
    "tool_diversity": "high tool diversity",
    "outcome_confidence": "sure of a good outcome",
}
_LOW = {
    "complexity": "little structure",
    "novelty": "much like an earlier trace",
    "tool_diversity": "low tool diversity",
    "outcome_confidence": "failed, or unsure",
}


def why_high(score: Score) -> str:
    """What raised it: rules first, for they had the last word."""
    return _told(score, _HIGH, [rule for rule in score.rules if rule.after > rule.before], 1)


def why_low(score: Score) -> str:
    """What lowered it."""
    return _told(score, _LOW, [rule for rule in score.rules if rule.after < rule.before], -1)


def _told(score: Score, words: dict[str, str], rules: list[Rule], sign: int) -> str:
    told = [f"{rule.note} ({rule.after - rule.before:+.2f})" for rule in rules if rule.name != "clamp"]
    if any(rule.name == "single_step_penalty" for rule in rules):
        return told[0]  # whatever the parts are
    clear = [part for part in score.parts if part.source == "measured" and _lean(part) * sign > CLEAR]
    clear.sort(key=lambda part: -abs(_lean(part)) * part.weight)
    told += [f"{words.get(part.name, part.name)} ({part.note})" for part in clear[:MOST]]
    return "; ".join(told) or "no part of it stands out"


def _lean(part: Part) -> float:
    return part.value - MIDDLE
