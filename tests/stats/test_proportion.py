"""Shares and how sure they are: hand-worked values, and scipy as the judge."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.stats.proportion import binomial_at_most, pass_all_k, pass_at_k, wilson

TRIALS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("successes", "trials", "share", "expected"),
    [
        (0, 2, 0.5, 0.25),  # tails twice
        (1, 3, 0.5, 0.5),  # 1/8 + 3/8
        (0, 59, 0.05, 0.95**59),  # no error in 59: just under 5 %
        (3, 3, 0.2, 1.0),
        (0, 5, 0.0, 1.0),
        (4, 5, 1.0, 0.0),
    ],
)
def test_at_most(successes: int, trials: int, share: float, expected: float) -> None:
    assert binomial_at_most(successes, trials, share) == pytest.approx(expected, rel=1e-12)


@given(TRIALS, st.floats(0, 1))
def test_binomial_tails_are_scipys(counts: tuple[int, int], share: float) -> None:
    from scipy.stats import binom  # type: ignore[import-untyped]

    successes, trials = counts
    assert binomial_at_most(successes, trials, share) == pytest.approx(binom.cdf(successes, trials, share), abs=1e-9)


@given(TRIALS, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_wilsons_interval_is_scipys(counts: tuple[int, int], confidence: float) -> None:
    from scipy.stats import binomtest

    successes, trials = counts
    judge = binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    assert wilson(successes, trials, confidence) == pytest.approx((judge.low, judge.high), abs=1e-9)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(1, 8))
def test_passes_of_k_tries_are_counted_over_every_choice(tries: list[bool], k: int) -> None:
    passed, chosen = sum(tries), list(combinations(tries, k))
    if k > len(tries):
        assert pass_at_k(passed, len(tries), k) is None
        assert pass_all_k(passed, len(tries), k) is None
        return
    assert pass_at_k(passed, len(tries), k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_all_k(passed, len(tries), k) == pytest.approx(sum(map(all, chosen)) / len(chosen))
