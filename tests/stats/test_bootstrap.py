"""The bootstrap: what is drawn, what its middle is, and scipy as the judge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalepan.stats.bootstrap import interval, resampled


def test_groups_are_drawn_whole() -> None:
    drawn = resampled(["b", "a", "b", "c"], draws=500)
    assert (drawn[:, 0] == drawn[:, 2]).all()
    assert (drawn[:, [0, 1, 3]].sum(axis=1) == 3).all()
    # Each of the three groups is drawn once on average.
    assert drawn.mean(axis=0) == pytest.approx(np.ones(4), abs=0.15)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
@settings(max_examples=25)
def test_as_many_groups_as_there_are(groups: list[int]) -> None:
    drawn = resampled(groups, draws=20)
    first = [groups.index(group) for group in set(groups)]
    assert (drawn[:, first].sum(axis=1) == len(set(groups))).all()


def test_the_same_seed_draws_the_same() -> None:
    assert (resampled(range(9), seed=3) == resampled(range(9), seed=3)).all()
    assert (resampled(range(9), seed=3) != resampled(range(9), seed=4)).any()


def test_nothing_to_draw_from() -> None:
    with pytest.raises(ValueError, match="nothing to draw from"):
        resampled([])


@pytest.mark.parametrize(
    ("drawn", "level", "ends"),
    [
        # 0, 1 ... 100: the percentile is the number itself.
        (list(range(101)), 0.95, (2.5, 97.5)),
        (list(range(101)), 0.5, (25.0, 75.0)),
        ([3.0], 0.95, (3.0, 3.0)),
        ([float("nan"), 1.0, 2.0, float("nan")], 0.5, (1.25, 1.75)),  # what was not measured is left out
    ],
)
def test_the_middle_by_hand(drawn: list[float], level: float, ends: tuple[float, float]) -> None:
    assert interval(np.array(drawn, dtype=float), level) == pytest.approx(ends)


def test_nothing_measured_has_no_interval() -> None:
    assert np.isnan(interval(np.array([np.nan, np.nan]))).all()
    assert np.isnan(interval(np.array([]))).all()


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, float("nan")])
def test_a_level_that_is_none(level: float) -> None:
    with pytest.raises(ValueError, match="is not between 0 and 1"):
        interval(np.array([1.0]), level)


def test_the_interval_of_a_mean_as_scipy_has_it() -> None:
    from scipy.stats import bootstrap  # type: ignore[import-untyped]

    data = np.random.default_rng(5).exponential(size=80)
    drawn = resampled(range(80), draws=20_000)
    ours = interval((drawn * data).sum(axis=1) / 80)
    theirs = bootstrap((data,), np.mean, n_resamples=20_000, method="percentile", rng=1).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.01)
