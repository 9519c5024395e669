"""Calibration error, Brier parts, risk at coverage: by hand, as properties, and scikit-learn as the judge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalepan.stats.calibration import apply_points, fit_isotonic
from scalepan.stats.reliability import (
    bin_of,
    brier_parts,
    calibration_error,
    equal_mass_bins,
    error_by_chance,
    risk_at_coverage,
)

STATEMENTS = st.lists(st.tuples(st.integers(0, 20).map(lambda n: n / 20), st.booleans()), min_size=1, max_size=60)


def arrays(records: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([stated for stated, _ in records]), np.array([float(label) for _, label in records])


@pytest.mark.parametrize(
    ("stated", "labels", "bins", "error"),
    [
        ([0.2, 0.2, 0.9, 0.9], [0, 1, 1, 1], 2, 0.2),  # |.2 - .5| / 2 + |.9 - 1| / 2
        ([0.5, 0.5], [0, 1], 15, 0.0),
        ([1.0, 1.0, 1.0, 1.0], [0, 0, 1, 1], 15, 0.5),
        ([0.0, 1.0], [1, 0], 2, 1.0),  # always the wrong way round
        ([0.7], [1], 15, 0.3),
        # one bin: the errors of its cases cancel out, .6 stated and .5 right
        ([0.4, 0.8], [1, 0], 1, 0.1),
    ],
)
def test_calibration_error_by_hand(stated: list[float], labels: list[int], bins: int, error: float) -> None:
    assert calibration_error(np.array(stated), np.array(labels), bins) == pytest.approx(error)


def test_bins_of_equal_mass_keep_equal_statements_together() -> None:
    stated = np.array([0.1, 0.2, 0.3, 0.3, 0.3, 0.3, 0.8, 0.9])
    bins = equal_mass_bins(stated, np.array([0, 0, 0, 1, 0, 1, 1, 1]), bins=4)
    assert [(round(one.stated, 3), one.actual, one.cases) for one in bins] == [
        (0.15, 0.0, 2),
        (0.3, 0.5, 4),  # two bins' worth of cases
        (0.85, 1.0, 2),
    ]


@given(STATEMENTS, st.integers(1, 20))
def test_bins_hold_every_case_once_and_rise(records: list[tuple[float, bool]], bins: int) -> None:
    stated, labels = arrays(records)
    found = equal_mass_bins(stated, labels, bins)
    assert sum(one.cases for one in found) == len(records)
    assert 1 <= len(found) <= bins
    assert [one.stated for one in found] == sorted(one.stated for one in found)
    where, _ = bin_of(stated, bins)
    assert all(len(set(where[stated == one].tolist())) == 1 for one in stated)
    by_bins = sum(one.cases * abs(one.stated - one.actual) for one in found) / len(records)
    assert calibration_error(stated, labels, bins) == pytest.approx(by_bins, abs=1e-12)


@given(STATEMENTS)
@settings(max_examples=50, deadline=None)
def test_distinct_statements_are_binned_as_scikit_learn_does(records: list[tuple[float, bool]]) -> None:
    from sklearn.calibration import calibration_curve  # type: ignore[import-untyped]

    # Distinct and a multiple of the bins: then both put the same number of cases into each.
    count = len(records) // 5 * 5
    if not count:
        return
    labels = np.array([float(label) for _, label in records[:count]])
    stated = (np.arange(count) + 0.5) / count
    actual, said = calibration_curve(labels, stated, n_bins=5, strategy="quantile")
    found = equal_mass_bins(stated, labels, bins=5)
    assert [one.cases for one in found] == [count // 5] * 5
    assert [one.actual for one in found] == pytest.approx(actual.tolist())
    assert [one.stated for one in found] == pytest.approx(said.tolist())


def test_the_error_that_chance_alone_makes() -> None:
    assert error_by_chance(np.array([0.0, 1.0, 1.0])) == 0.0  # what is certain does not vary
    random = np.random.default_rng(0)
    stated = random.random(500)
    perfect = [calibration_error(stated, (random.random(500) < stated).astype(float)) for _ in range(300)]
    assert error_by_chance(stated) == pytest.approx(np.mean(perfect), rel=0.05)


@pytest.mark.parametrize(
    ("stated", "labels", "parts"),
    [
        # .5 .5 1 1 with one wrong: as calibrated as can be; score .125 = 0 - .0625 + .1875
        ([0.5, 0.5, 1.0, 1.0], [0, 1, 1, 1], (0.125, 0.0, 0.0625, 0.1875)),
        # a constant .9 where half is right: .41 = .16 - 0 + .25
        ([0.9, 0.9], [0, 1], (0.41, 0.16, 0.0, 0.25)),
        ([0.0, 1.0], [0, 1], (0.0, 0.0, 0.25, 0.25)),
    ],
)
def test_brier_parts_by_hand(stated: list[float], labels: list[int], parts: tuple[float, ...]) -> None:
    assert tuple(brier_parts(np.array(stated), np.array(labels))) == pytest.approx(parts)


@given(STATEMENTS)
def test_brier_parts_add_up_and_none_is_negative(records: list[tuple[float, bool]]) -> None:
    stated, labels = arrays(records)
    parts = brier_parts(stated, labels)
    assert parts.score == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty)
    assert min(parts) >= -1e-12
    curve = fit_isotonic(stated, labels)
    best = brier_parts(apply_points(stated, curve.x, curve.y), labels)
    assert best.miscalibration == pytest.approx(0.0, abs=1e-12)  # nothing is left to take away


@given(STATEMENTS)
@settings(max_examples=50, deadline=None)
def test_the_brier_score_is_scikit_learns(records: list[tuple[float, bool]]) -> None:
    from sklearn.metrics import brier_score_loss  # type: ignore[import-untyped]

    stated, labels = arrays(records)
    assert brier_parts(stated, labels).score == pytest.approx(brier_score_loss(labels, stated, labels=[0, 1]))


@pytest.mark.parametrize(
    ("coverage", "risk"),
    [(0.0, 0.0), (0.25, 0.0), (0.5, 0.0), (0.75, 1 / 3), (1.0, 0.5)],
)
def test_risk_at_coverage_by_hand(coverage: float, risk: float) -> None:
    stated, labels = np.array([0.1, 0.9, 0.7, 0.8]), np.array([0, 1, 0, 1])
    assert risk_at_coverage(stated, labels, coverage) == pytest.approx(risk)


def test_ties_at_the_edge_are_all_let_in() -> None:
    assert risk_at_coverage(np.array([0.9, 0.9, 0.9, 0.1]), np.array([1, 0, 0, 0]), 0.25) == pytest.approx(2 / 3)
