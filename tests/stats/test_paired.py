"""Paired tests: hand-worked values, every assignment enumerated, and scipy as the judge."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalepan.stats.paired import (
    EXACT_GROUPS,
    MOST_RESAMPLED,
    GroupedDifferences,
    bca_interval,
    grouped,
    holm,
    mcnemar,
    sign_flip,
)


def differences(*values: float) -> GroupedDifferences:
    return grouped(np.array(values, dtype=float))


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [
        (0, 0, 1.0),
        (5, 0, 0.0625),  # 2 / 2^5
        (1, 5, 0.21875),  # 2 x (1 + 6) / 2^6
        (3, 3, 1.0),
    ],
)
def test_mcnemar(gained: int, lost: int, p: float) -> None:
    assert mcnemar(gained, lost) == pytest.approx(p)


@given(st.integers(0, 80), st.integers(0, 80))
def test_mcnemar_is_scipys_binomial_test(gained: int, lost: int) -> None:
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    judge = binomtest(gained, gained + lost, 0.5).pvalue if gained + lost else 1.0
    assert mcnemar(gained, lost) == pytest.approx(judge)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_holm_rejects_what_its_definition_rejects(p_values: list[float]) -> None:
    """Step down: the smallest against alpha / m, the next against alpha / (m - 1), until one is too large."""
    adjusted = holm(p_values)
    for alpha in (0.01, 0.05, 0.2, 0.5):
        rejected = set()
        for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
            if (len(p_values) - rank) * p_values[index] > alpha:
                break
            rejected.add(index)
        assert {index for index, p in enumerate(adjusted) if p <= alpha} == rejected


def test_groups_count_once() -> None:
    found = grouped(np.array([0.5, 0.5, -0.25, 0.25]), ["a", "a", "b", "c"])
    assert found.sums.tolist() == [1.0, -0.25, 0.25]
    assert found.sizes.tolist() == [2.0, 1.0, 1.0]
    assert found.mean == 0.25
    # 1 observed. Of 1, 1/4 and 1/4 with every sign, only the two sums of 1/2 are less.
    assert sign_flip(found) == pytest.approx(6 / 8)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_sign_flips_of_few_groups_are_enumerated(values: list[int]) -> None:
    observed = abs(sum(values))
    every = [abs(sum(sign * value for sign, value in zip(signs, values, strict=True))) for signs in _signs(len(values))]
    assert sign_flip(differences(*values)) == pytest.approx(sum(one >= observed for one in every) / len(every))


def _signs(count: int) -> Any:
    return product((-1, 1), repeat=count)


@pytest.mark.parametrize(("seed", "shift"), [(1, 0.0), (2, 0.1), (3, 0.3)])
def test_sign_flips_of_many_groups_are_close_to_scipys(seed: int, shift: float) -> None:
    from scipy.stats import permutation_test

    values = np.random.default_rng(seed).normal(shift, 1, 3 * EXACT_GROUPS)
    judge = permutation_test((values,), np.mean, permutation_type="samples", n_resamples=9_999, rng=seed).pvalue
    assert sign_flip(grouped(values)) == pytest.approx(judge, abs=0.03)


def test_from_many_groups_on_the_normal_distribution_continues_the_resampling() -> None:
    values = np.random.default_rng(5).normal(0.02, 1, MOST_RESAMPLED)
    more = np.append(values, 1e-12)
    assert sign_flip(grouped(values)) == pytest.approx(sign_flip(grouped(more)), abs=0.02)
    assert bca_interval(grouped(values)) == pytest.approx(bca_interval(grouped(more)), abs=0.002)


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_is_close_to_scipys_bca(seed: int) -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(seed).exponential(1, 40) - 0.8
    judge = bootstrap((values,), np.mean, method="BCa", n_resamples=50_000, batch=5_000, rng=seed).confidence_interval
    # Both are random: the ends of the same interval differ by some hundredths of its width.
    width = judge.high - judge.low
    assert bca_interval(grouped(values)) == pytest.approx((judge.low, judge.high), abs=0.05 * width)


def test_an_interval_by_groups_is_wider_than_one_that_takes_their_cases_for_independent() -> None:
    random = np.random.default_rng(7)
    names = [str(number // 10) for number in range(400)]
    values = np.repeat(random.normal(0, 1, 40), 10)
    low, high = bca_interval(grouped(values, names))
    narrow_low, narrow_high = bca_interval(grouped(values))
    assert high - low > 2 * (narrow_high - narrow_low)


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1).map(lambda value: round(value, 3)), min_size=2, max_size=30))
def test_the_interval_is_ordered_and_within_what_was_seen(values: list[float]) -> None:
    low, high = bca_interval(differences(*values))
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


def test_one_group_says_nothing() -> None:
    assert bca_interval(differences(0.5)) == (-float("inf"), float("inf"))
    assert sign_flip(differences(0.5)) == 1.0
