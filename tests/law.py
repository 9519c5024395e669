"""The law of the Score, which every Score that Scalepan makes must obey (contract score.1 to score.9)."""

from math import isclose, isfinite

from scalepan.score import Score


def assert_law(score: Score) -> None:
    """Weights add up to 1, the base is their weighted sum, and the rules lead from it to the value."""
    if score.value is None:
        assert score.status != "ok"
        assert score.reason
        assert score.base is None
        assert score.rules == ()
        return
    assert score.status == "ok"
    assert isfinite(score.value)
    assert 0.0 <= score.value <= 1.0
    assert score.base is not None
    assert isclose(sum(part.weight for part in score.parts), 1.0, abs_tol=1e-9)
    assert isclose(sum(part.weight * part.value for part in score.parts), score.base, abs_tol=1e-12)
    at = score.base
    for rule in score.rules:
        assert rule.before == at
        assert rule.after != rule.before, "a rule that changes nothing is no rule"
        at = rule.after
    assert score.value == at
