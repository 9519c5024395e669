"""Calibration: hand-worked curves, properties of any curve, and scikit-learn as the judge."""

from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scalepan.stats.calibration import (
    MOST_POINTS,
    Points,
    apply_platt,
    apply_points,
    fit_isotonic,
    fit_platt,
    fit_quantile,
    log_loss,
)

Floats = NDArray[np.float64]


def floats(*values: float) -> Floats:
    return np.array(values, dtype=float)


# What BM25 and cosines are like: finite, of moderate size, often equal.
SCORES = st.floats(-50, 50, allow_subnormal=False).map(lambda score: round(score, 3))
PAIRS = st.lists(st.tuples(SCORES, st.booleans()), min_size=1, max_size=60)


# The judges take seconds to import: only the process that asks them pays.


def isotonic_of(scores: Floats, labels: Floats) -> Any:
    from sklearn.isotonic import IsotonicRegression  # type: ignore[import-untyped]

    return IsotonicRegression(out_of_bounds="clip").fit(scores, labels)


def split(pairs: list[tuple[float, bool]]) -> tuple[Floats, Floats]:
    return floats(*(score for score, _ in pairs)), floats(*(float(label) for _, label in pairs))


@pytest.mark.parametrize(
    ("scores", "x", "y"),
    [
        # Four scores hold a quarter each, and stand in the middle of theirs: 1/8, 3/8, 5/8, 7/8.
        ((4.0, 1.0, 3.0, 2.0), [1, 2, 3, 4], [0.125, 0.375, 0.625, 0.875]),
        # Ties: 5 holds two quarters, from 1/4 to 3/4, its middle is 1/2.
        ((5.0, 5.0, 9.0, 1.0), [1, 5, 9], [0.125, 0.5, 0.875]),
        ((7.0,), [7], [0.5]),
        ((7.0, 7.0, 7.0), [7], [0.5]),
    ],
)
def test_quantile_by_hand(scores: tuple[float, ...], x: list[float], y: list[float]) -> None:
    points = fit_quantile(floats(*scores))
    assert points.x.tolist() == x
    assert points.y.tolist() == pytest.approx(y)


@pytest.mark.parametrize(
    ("scores", "labels", "x", "y"),
    [
        # Rising already: nothing to pool.
        ((1, 2, 3), (0, 0, 1), [1, 2, 3], [0, 0, 1]),
        # 2 and 3 fall (1, 0) and are pooled: 1/2 each.
        ((1, 2, 3, 4), (0, 1, 0, 1), [1, 2, 3, 4], [0, 0.5, 0.5, 1]),
        # All fall: one block, 1/3; of a flat stretch the ends are kept.
        ((1, 2, 3), (1, 0, 0), [1, 3], [1 / 3, 1 / 3]),
        # Equal scores are one point with the mean of their labels: (0 + 1 + 1) / 3.
        ((1, 1, 1, 2), (0, 1, 1, 1), [1, 2], [2 / 3, 1]),
        # Weights: 1 at score 1 (once), 0 at score 2 (three times): pooled 1/4.
        ((1, 2, 2, 2, 5), (1, 0, 0, 0, 1), [1, 2, 5], [0.25, 0.25, 1]),
        # A late 0 pools backwards through two blocks: 1, 1, 0 -> 2/3.
        ((1, 2, 3, 4), (0, 1, 1, 0), [1, 2, 4], [0, 2 / 3, 2 / 3]),
        ((3,), (1,), [3], [1]),
    ],
)
def test_isotonic_by_hand(scores: tuple[float, ...], labels: tuple[float, ...], x: list[float], y: list[float]) -> None:
    points = fit_isotonic(floats(*scores), floats(*labels))
    assert points.x.tolist() == x
    assert points.y.tolist() == pytest.approx(y)


def test_between_points_the_curve_is_straight_and_outside_it_is_level() -> None:
    points = Points(floats(1, 3), floats(0.2, 0.6))
    # Half way from 1 to 3: .2 + (.6 - .2) / 2 = .4; before 1: .2; behind 3: .6.
    assert apply_points(floats(2, 0, 99), points.x, points.y).tolist() == pytest.approx([0.4, 0.2, 0.6])


def test_platt_by_hand() -> None:
    # 1 / (1 + exp(-2 x 1 + 1)) = 1 / (1 + e^-1) = .7311; at s = .5 the exponent is 0: .5.
    assert apply_platt(floats(1, 0.5), -2.0, 1.0).tolist() == pytest.approx([1 / (1 + exp(-1)), 0.5])
    assert apply_platt(floats(1e6, -1e6), -1.0, 0.0).tolist() == [1.0, 0.0]


def test_platt_of_two_scores_meets_the_smoothed_targets() -> None:
    # Two positives at 1, two negatives at 0. Targets are smoothed: (2 + 1) / (2 + 2) = .75 and 1 / (2 + 2) = .25.
    # Two points, two unknowns: b = ln(1 / .25 - 1) = ln 3, a + b = ln(1 / .75 - 1) = -ln 3, so a = -2 ln 3.
    a, b = fit_platt(floats(0, 0, 1, 1), floats(0, 0, 1, 1))
    assert (a, b) == pytest.approx((-2 * log(3), log(3)), abs=1e-6)


def test_platt_of_equal_scores_is_the_mean_of_the_targets() -> None:
    # One positive, three negatives: targets 2/3 and 1/5, mean (2/3 + 3/5) / 4 = .31667.
    a, b = fit_platt(floats(2, 2, 2, 2), floats(1, 0, 0, 0))
    assert apply_platt(floats(2), a, b)[0] == pytest.approx((2 / 3 + 3 / 5) / 4, abs=1e-6)


@pytest.mark.parametrize(
    ("probabilities", "labels", "loss"),
    [
        ((0.5, 0.5), (0, 1), log(2)),
        ((0.8, 0.4), (1, 0), -(log(0.8) + log(0.6)) / 2),
        ((1.0, 0.0), (1, 0), 0.0),
        ((0.0,), (1,), -log(1e-15)),  # a miss that was certain costs much, but not everything
    ],
)
def test_log_loss_by_hand(probabilities: tuple[float, ...], labels: tuple[float, ...], loss: float) -> None:
    assert log_loss(floats(*probabilities), floats(*labels)) == pytest.approx(loss, abs=1e-12)


@pytest.mark.parametrize("scores", [(), (1.0, float("nan")), (float("inf"),)])
def test_what_cannot_be_fitted_is_refused(scores: tuple[float, ...]) -> None:
    labels = np.zeros(len(scores))
    for fit in (fit_quantile, lambda s: fit_isotonic(s, labels), lambda s: fit_platt(s, labels)):
        with pytest.raises(ValueError, match="finite"):
            fit(floats(*scores))


@given(PAIRS)
def test_every_curve_rises_and_stays_within_0_and_1(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = split(pairs)
    for points in (fit_quantile(scores), fit_isotonic(scores, labels)):
        assert (np.diff(points.x) > 0).all()
        assert (np.diff(points.y) >= 0).all()
        assert points.y.min() >= 0
        assert points.y.max() <= 1


@given(PAIRS)
def test_platt_stays_within_0_and_1_and_never_turns_back(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = split(pairs)
    a, b = fit_platt(scores, labels)
    assert np.isfinite([a, b]).all()
    mapped = apply_platt(np.sort(scores), a, b)
    assert mapped.min() >= 0
    assert mapped.max() <= 1
    steps = np.diff(mapped)
    assert (steps >= -1e-12).all() if a <= 0 else (steps <= 1e-12).all()


@given(PAIRS)
def test_isotonic_is_scikit_learns(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = split(pairs)
    points = fit_isotonic(scores, labels)
    judge = isotonic_of(scores, labels)
    between = np.concatenate([scores, scores + 0.0004, floats(-60, 60)])
    assert apply_points(between, points.x, points.y) == pytest.approx(judge.predict(between), abs=1e-9)


@given(PAIRS)
def test_isotonic_keeps_the_share_of_positives(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = split(pairs)
    points = fit_isotonic(scores, labels)
    assert apply_points(scores, points.x, points.y).mean() == pytest.approx(labels.mean(), abs=1e-9)


def noisy(seed: int, count: int = 300) -> tuple[Floats, Floats]:
    dice = np.random.default_rng(seed)
    scores = dice.normal(5, 3, count)
    return scores, (dice.random(count) < 1 / (1 + np.exp(-(scores - 6)))).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_platt_is_logistic_regression_on_platts_targets(seed: int) -> None:
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    scores, labels = noisy(seed)
    a, b = fit_platt(scores, labels)
    positives, negatives = labels.sum(), len(labels) - labels.sum()
    high, low = (positives + 1) / (positives + 2), 1 / (negatives + 2)
    # A soft target t is t of a positive and 1 - t of a negative.
    twice = np.concatenate([scores, scores])[:, None]
    target = np.where(labels > 0, high, low)
    judge = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        twice, np.repeat([1, 0], len(scores)), sample_weight=np.concatenate([target, 1 - target])
    )
    assert (-a, -b) == pytest.approx((judge.coef_[0, 0], judge.intercept_[0]), rel=1e-4, abs=1e-5)


@given(st.lists(st.tuples(st.floats(-5, 5).map(lambda s: round(s, 2)), st.booleans()), min_size=3, max_size=40))
def test_platt_finds_no_worse_a_loss_than_scipy(pairs: list[tuple[float, bool]]) -> None:
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    scores, labels = split(pairs)
    positives, negatives = labels.sum(), len(labels) - labels.sum()
    target = np.where(labels > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))

    def loss(at: Floats) -> float:
        f = at[0] * scores + at[1]
        return float((target * np.logaddexp(0, f) + (1 - target) * np.logaddexp(0, -f)).sum())

    assert loss(floats(*fit_platt(scores, labels))) <= minimize(loss, floats(0, 0)).fun + 1e-6


@given(PAIRS)
def test_log_loss_is_scikit_learns(pairs: list[tuple[float, bool]]) -> None:
    from sklearn.metrics import log_loss as sklearn_log_loss  # type: ignore[import-untyped]

    scores, labels = split(pairs)
    probabilities = 1 / (1 + np.exp(-scores / 25))
    expected = sklearn_log_loss(labels, probabilities, labels=[0, 1])
    assert log_loss(probabilities, labels) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_long_curve_is_thinned_and_hardly_differs(seed: int) -> None:
    scores, labels = noisy(seed, 5000)
    thin, judge = fit_isotonic(scores, labels), isotonic_of(scores, labels)
    quantile = fit_quantile(scores)
    assert len(quantile.x) == MOST_POINTS
    assert (quantile.x[0], quantile.x[-1]) == (scores.min(), scores.max())
    assert len(thin.x) <= MOST_POINTS
    assert np.abs(apply_points(scores, thin.x, thin.y) - judge.predict(scores)).mean() < 0.01


def test_calibration_pays_where_scores_are_not_probabilities() -> None:
    scores, labels = noisy(7, 2000)
    fitted, held_out = slice(0, 1000), slice(1000, 2000)
    plain = (scores - scores.min()) / (scores.max() - scores.min())
    before = log_loss(plain[held_out], labels[held_out])
    points = fit_isotonic(scores[fitted], labels[fitted])
    a, b = fit_platt(scores[fitted], labels[fitted])
    assert log_loss(apply_points(scores[held_out], points.x, points.y), labels[held_out]) < before
    assert log_loss(apply_platt(scores[held_out], a, b), labels[held_out]) < before
