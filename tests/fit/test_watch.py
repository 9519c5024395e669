"""Watching a promise: labels in order, an alarm when it breaks, and where the threshold comes from."""

import pytest

from scalepan.errors import InputError
from scalepan.fit.labels import LabeledNumbers, labels_of
from scalepan.fit.watch import threshold_in_force, watch
from scalepan.policy import Policy, load_policy


def stream(*parts: tuple[int, float, int]) -> LabeledNumbers:
    """`(count, value, every)`: so many cases with this value, each `every`th of them wrong; 0: none."""
    rows = [
        {"value": value, "label": int(not every or (n + 1) % every != 0)}
        for count, value, every in parts
        for n in range(count)
    ]
    return labels_of(enumerate(rows, 1))


def test_a_promise_that_holds() -> None:
    found = watch(stream((500, 0.95, 50), (100, 0.5, 1)), 0.9, 0.05)
    assert (found.alarm, found.raised_at) == (False, None)
    assert (found.labels, found.let_through, found.wrong) == (600, 500, 10)  # what is below 0.9 does not count
    assert found.text.startswith(
        "no alarm: nothing speaks clearly against at most 5 % wrong from 0.9: 10 of 500 wrong (2 %)"
    )


def test_a_promise_that_breaks() -> None:
    found = watch(stream((300, 0.95, 50), (300, 0.95, 3)), 0.9, 0.05)
    assert found.alarm
    assert found.raised_at is not None
    assert 300 < found.raised_at < 360
    assert found.text.startswith(
        f"ALARM at label {found.raised_at}: the promise of at most 5 % wrong from 0.9 no longer"
    )


def test_nothing_let_through_says_nothing() -> None:
    found = watch(stream((50, 0.5, 1)), 0.9, 0.05)
    assert (found.alarm, found.let_through, found.evidence) == (False, 0, 1.0)
    assert "0 of 0 wrong" in found.text


def test_what_cannot_be_watched() -> None:
    with pytest.raises(InputError, match="max_error"):
        watch(stream((5, 0.5, 0)), 0.9, 0.0)


@pytest.mark.parametrize(
    ("number", "threshold"), [("confidence", 0.9), ("value", 0.75), ("memory", 0.15), ("judge", 0.7)]
)
def test_the_threshold_in_force(number: str, threshold: float) -> None:
    assert threshold_in_force(number, Policy()) == threshold


def test_a_policy_moves_it() -> None:
    policy = load_policy(overrides={"confidence": {"thresholds": {"silent": 0.97}}})
    assert threshold_in_force("confidence", policy) == 0.97
