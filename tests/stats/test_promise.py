"""Learn-then-Test: thresholds worked by hand, properties, and promises kept on simulated sets of labels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalepan.stats.promise import fewest_labels, promised_threshold

Random = np.random.Generator
Population = Callable[[int, Random], tuple[Any, Any]]


@pytest.mark.parametrize(
    ("max_error", "sure", "count"),
    [
        (0.05, 0.95, 59),  # .95^59 = .0485, .95^58 = .0510
        (0.01, 0.95, 299),
        (0.1, 0.95, 29),
        (0.5, 0.75, 2),  # .5 x .5 = .25, exactly
        (0.05, 0.99, 90),
    ],
)
def test_fewest_labels(max_error: float, sure: float, count: int) -> None:
    assert fewest_labels(max_error, sure) == count


@given(st.floats(0.001, 0.9), st.floats(0.5, 0.999))
def test_the_fewest_labels_are_where_the_exact_bound_of_scipy_gets_there(max_error: float, sure: float) -> None:
    from scipy.stats import binom  # type: ignore[import-untyped]

    count = fewest_labels(max_error, sure)
    assert binom.cdf(0, count, max_error) <= (1 - sure) * (1 + 1e-6)
    assert count == 1 or binom.cdf(0, count - 1, max_error) > (1 - sure) * (1 - 1e-6)


@pytest.mark.parametrize(
    ("right", "wrong", "let_through"),
    [
        (58, 0, None),  # one short
        (59, 0, 59),
        (91, 1, None),  # at most one wrong of 92 at 5 % each: .0508
        (92, 1, 93),  # of 93: .0487
        (90, 4, None),
    ],
)
def test_equal_numbers_are_let_through_together_or_not_at_all(right: int, wrong: int, let_through: int | None) -> None:
    labels = np.array([True] * right + [False] * wrong)
    found = promised_threshold(np.full(len(labels), 0.8), labels, 0.05, 0.95)
    assert (found and found.let_through) == let_through
    if found is not None:
        assert (found.threshold, found.wrong) == (0.8, wrong)


def test_the_loosest_threshold_that_succeeds_is_taken() -> None:
    # 60 above .9 are right; of 40 at .5 half are wrong: .9 keeps the promise, .5 does not.
    stated = np.concatenate([np.linspace(0.9, 1.0, 60), np.full(40, 0.5)])
    right = np.concatenate([np.ones(60, dtype=bool), np.arange(40) % 2 == 0])
    found = promised_threshold(stated, right, 0.05, 0.95)
    assert found is not None
    assert found.threshold == pytest.approx(0.9)
    assert (found.let_through, found.wrong) == (60, 0)
    assert found.p == pytest.approx(0.95**60)


def test_an_expectation_costs_coverage_and_not_the_promise() -> None:
    random = np.random.default_rng(5)
    stated = random.random(400)
    right = random.random(400) < np.where(stated > 0.5, 0.995, 0.5)
    good = promised_threshold(stated, right, 0.05, 0.95, np.where(stated > 0.5, 0.995, 0.5))
    useless = promised_threshold(stated, right, 0.05, 0.95, np.zeros(400))
    assert good is not None
    assert good.wrong <= 0.05 * good.let_through
    assert useless is None or useless.let_through <= good.let_through


@pytest.mark.parametrize("count", [0, 1, 58])
def test_too_few_labels_promise_nothing(count: int) -> None:
    assert promised_threshold(np.linspace(0, 1, count), np.ones(count, dtype=bool), 0.05, 0.95) is None


@pytest.mark.parametrize(
    ("stated", "right", "max_error", "sure", "named"),
    [
        ([0.5], [True], 0.0, 0.95, "max_error"),
        ([0.5], [True], 0.05, 1.0, "sure"),
        ([float("nan")], [True], 0.05, 0.95, "finite"),
        ([0.5, 0.6], [True], 0.05, 0.95, "a label for each"),
    ],
)
def test_what_cannot_be_promised(stated: list[float], right: list[bool], max_error: float, sure: float, named: str):  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=named):
        promised_threshold(np.array(stated), np.array(right), max_error, sure)


LABELED = st.lists(st.tuples(st.integers(0, 12).map(lambda n: n / 12), st.booleans()), min_size=1, max_size=300)


@given(LABELED, st.sampled_from([0.05, 0.1, 0.3, 0.5]), st.sampled_from([0.8, 0.95]))
@settings(max_examples=60, deadline=None)
def test_what_is_promised_passed_an_exact_test(records: list[tuple[float, bool]], max_error: float, sure: float):  # type: ignore[no-untyped-def]
    from scipy.stats import binom

    stated, right = np.array([one for one, _ in records]), np.array([label for _, label in records])
    found = promised_threshold(stated, right, max_error, sure)
    if found is None:
        return
    chosen = stated >= found.threshold
    assert (found.let_through, found.wrong) == (chosen.sum(), (~right[chosen]).sum())
    assert found.p == pytest.approx(binom.cdf(found.wrong, found.let_through, max_error), abs=1e-9)
    assert found.p <= 1 - sure
    # The order of the rows is nothing that a promise may depend on.
    turned = promised_threshold(stated[::-1], right[::-1], max_error, sure)
    assert turned is not None
    assert (turned.threshold, turned.let_through) == (found.threshold, found.let_through)


def over_confident(count: int, random: Random) -> tuple[Any, Any]:
    """Says .9 where .875 are right, in steps of .05."""
    stated = np.round(random.beta(8, 1.5, count) * 20) / 20
    return stated, stated * 0.75 + 0.2


def honest(count: int, random: Random) -> tuple[Any, Any]:
    stated = random.beta(5, 1, count)
    return stated, 1 - 0.3 * (1 - stated) ** 1.2


def saying_nothing(count: int, random: Random) -> tuple[Any, Any]:
    """Everywhere just above the allowed error: each threshold would break the promise."""
    return random.random(count), np.full(count, 0.9499)


def saying_nothing_in_steps(count: int, random: Random) -> tuple[Any, Any]:
    return random.integers(0, 11, count) / 10, np.full(count, 0.9499)


def upside_down(count: int, random: Random) -> tuple[Any, Any]:
    """The surest ones are the worst."""
    stated = random.random(count)
    return stated, np.where(stated > 0.8, 0.9, 0.99)


@pytest.mark.parametrize("population", [over_confident, honest, saying_nothing, saying_nothing_in_steps, upside_down])
@pytest.mark.parametrize("count", [100, 300, 1000])
def test_a_promise_is_broken_at_most_as_often_as_it_says(population: Population, count: int) -> None:
    random = np.random.default_rng(count)
    everybody, chance = population(200_000, random)
    order = np.argsort(everybody)
    # By threshold: the risk of everything at or above it.
    risk = 1 - np.cumsum(chance[order][::-1])[::-1] / np.arange(len(order), 0, -1)
    broken, sets = 0, 200
    for _ in range(sets):
        stated, right_chance = population(count, random)
        found = promised_threshold(stated, random.random(count) < right_chance, 0.05, 0.95)
        if found is not None:
            broken += risk[np.searchsorted(everybody[order], found.threshold)] > 0.05
    # 5 % of 200 are 10; 18 or more would be a chance of 1 in 100, even where every threshold breaks the promise.
    assert broken < 18
