"""The alarm: worked by hand, false as seldom as it says however often it is read, and quick when a promise breaks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.stats.alarm import FACTORS, Alarm


def test_by_hand() -> None:
    alarm = Alarm(max_error=0.1)
    # Half of the capital is staked on the first case. Bets on 1.25, 1.5, 2, 3, 5 times as many errors as allowed gain
    # so many times; ten times would be always wrong, and is bet on as .55, 5.5 times. The mean is 3.0417.
    alarm.add(wrong=True)
    mean = (1.25 + 1.5 + 2 + 3 + 5 + 5.5) / 6
    assert alarm.evidence == pytest.approx(0.5 + 0.5 * mean)
    assert (alarm.cases, alarm.wrong, alarm.raised_at) == (1, 1, None)


def test_a_right_case_costs_and_never_ruins() -> None:
    alarm = Alarm(max_error=0.1)
    alarm.add(wrong=False)
    kept = [(1 - rate) / 0.9 for rate in (0.125, 0.15, 0.2, 0.3, 0.5, 0.55)]
    assert alarm.evidence == pytest.approx(0.5 + 0.5 * sum(kept) / 6)


@given(st.lists(st.booleans(), max_size=200), st.sampled_from([0.01, 0.05, 0.3, 0.6]))
def test_the_bets_are_fair_at_the_limit(cases: list[bool], max_error: float) -> None:
    alarm = Alarm(max_error)
    for wrong in cases:
        alarm.add(wrong)
    before = alarm.evidence
    after = []
    for wrong in (True, False):
        twin = Alarm(max_error)
        for earlier in [*cases, wrong]:
            twin.add(earlier)
        after.append(twin.evidence)
    # What it becomes after a wrong and after a right case, weighted by the limit, is what it was.
    assert max_error * after[0] + (1 - max_error) * after[1] == pytest.approx(before, rel=1e-9)
    assert after[0] > after[1]
    assert alarm.evidence >= 0


def raised(rates: np.ndarray, seed: int) -> int | None:
    """The case at which errors of these rates raise an alarm for 5 %."""
    alarm = Alarm(0.05)
    for wrong in np.random.default_rng(seed).random(len(rates)) < rates:
        if alarm.add(bool(wrong)):
            break
    return alarm.raised_at


def test_false_alarms_are_as_rare_as_promised_however_often_it_is_read() -> None:
    # Read after each of 1,000 cases, and the error is exactly what is allowed: the hardest case.
    false = sum(raised(np.full(1000, 0.05), seed) is not None for seed in range(300))
    assert false <= 25  # 15 expected at most; more than 25 has a chance of 1 in 200


@pytest.mark.parametrize(
    ("good_for", "rate", "within"),
    [(0, 0.2, 100), (500, 0.2, 200), (500, 0.5, 50), (3000, 0.5, 60)],
)
def test_a_broken_promise_is_noticed_soon(good_for: int, rate: float, within: int) -> None:
    rates = np.concatenate([np.full(good_for, 0.02), np.full(1000, rate)])
    delays = [at - good_for if (at := raised(rates, seed)) is not None else 1000 for seed in range(40)]
    assert np.median(delays) <= within


def test_it_stays_raised_and_never_overflows() -> None:
    alarm = Alarm(0.01)
    for _ in range(2000):
        alarm.add(wrong=True)
    assert alarm.raised_at is not None
    assert alarm.raised_at <= 3
    assert np.isfinite(alarm.evidence)
    assert alarm.add(wrong=False)


@pytest.mark.parametrize(("max_error", "max_false"), [(0.0, 0.05), (1.0, 0.05), (0.05, 0.0)])
def test_what_cannot_be_watched(max_error: float, max_false: float) -> None:
    with pytest.raises(ValueError, match="is not between 0 and 1"):
        Alarm(max_error, max_false)


def test_every_factor_makes_a_bet() -> None:
    assert all(factor > 1 for factor in FACTORS)
