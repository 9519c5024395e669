"""How good a number is: figures where the truth is known, and intervals that hold it."""

import numpy as np
import pytest

from scalepan.errors import InputError
from scalepan.fit.assess import assess
from scalepan.fit.labels import LabeledNumbers, labels_of
from tests.fit import populations


def test_by_hand() -> None:
    rows = [(0.5, 0), (0.5, 1), (1.0, 1), (1.0, 1)]
    found = assess(labels_of((n, {"value": value, "label": label}) for n, (value, label) in enumerate(rows)))
    assert (found.labels, found.base_rate) == (4, 0.75)
    assert found.calibration_error.value == 0.0
    assert found.auroc.value == pytest.approx(5 / 6)  # of three pairs two are won and one is a tie
    assert (found.brier, found.brier_of_constant) == (0.125, 0.1875)
    assert (found.miscalibration, found.discrimination) == (0.0, 0.0625)
    assert found.risk_at_coverage == {"20%": 0.0, "50%": 0.0, "80%": 0.25, "100%": 0.25}
    assert [(one.stated, one.actual, one.cases) for one in found.points] == [(0.5, 0.5, 2), (1.0, 1.0, 2)]


def test_an_overconfident_number() -> None:
    found = assess(populations.overconfident(4000))
    # The mean of s - s^2 over 0..1 is 1/6, and each bin is off in the same direction.
    assert found.calibration_error.value == pytest.approx(1 / 6, abs=0.02)
    assert found.calibration_error.low is not None
    assert found.calibration_error.low < 1 / 6 < (found.calibration_error.high or 0)
    assert found.miscalibration > 0.02


def test_a_calibrated_number_is_off_by_chance_only() -> None:
    found = assess(populations.calibrated(2000))
    assert found.calibration_error.value == pytest.approx(found.calibration_error_by_chance, abs=0.015)
    assert found.calibration_error.low == pytest.approx(0.0, abs=0.02)
    assert found.miscalibration == pytest.approx(0.0, abs=0.01)


def test_intervals_hold_the_true_auroc_as_often_as_they_say() -> None:
    # For P(right) = s over 0..1 a right one has the density 2s, a wrong one 2 - 2s: the area is 5/6.
    held = [assess(populations.calibrated(150, seed)).auroc for seed in range(60)]
    assert sum((one.low or 0) <= 5 / 6 <= (one.high or 0) for one in held) >= 50


def test_one_kind_of_label_measures_no_ranking() -> None:
    found = assess(labels_of((n, {"value": 0.9, "label": 1}) for n in range(5)))
    assert found.auroc.value is None
    assert found.base_rate == 1.0


def test_many_labels_fit_into_memory_a_few_draws_at_a_time() -> None:
    labels = populations.calibrated(30_000)
    found = assess(labels)
    assert found.auroc.value == pytest.approx(5 / 6, abs=0.01)
    assert found.auroc.low is not None
    assert found.auroc.high is not None
    assert found.auroc.low < 5 / 6 < found.auroc.high


def test_nothing_to_assess() -> None:
    with pytest.raises(InputError, match="no label"):
        assess(LabeledNumbers(np.array([]), np.array([], dtype=bool)))
