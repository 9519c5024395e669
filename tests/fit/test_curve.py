"""Curves: taken where they help on groups they were not fitted on, refused where they do not."""

import numpy as np
import pytest

from scalepan.fit.assess import assess
from scalepan.fit.curve import FEWEST, KINDS, fit_curve, held_out
from scalepan.fit.labels import LabeledNumbers, labels_of
from tests.fit import populations


def test_an_overconfident_number_gets_a_curve_that_helps() -> None:
    labels = populations.overconfident(2000)
    curve = fit_curve(labels)
    assert curve.taken
    assert curve.gain_low is not None
    assert curve.gain_low > 0
    assert curve(np.array([0.5]))[0] == pytest.approx(0.25, abs=0.05)
    fresh = populations.overconfident(4000, seed=9)
    before, after = (assess(fresh, values).calibration_error.value or 0 for values in (None, curve(fresh.values)))
    assert after < before / 4


def test_a_calibrated_number_is_left_as_it_is() -> None:
    refused = [not fit_curve(populations.calibrated(400, seed)).taken for seed in range(20)]
    assert sum(refused) >= 17  # 2.5 % of the intervals lie above 0 by chance
    curve = fit_curve(populations.calibrated(400))
    assert "no curve is clearly better" in curve.reason
    assert curve(np.array([0.3, 0.7])).tolist() == [0.3, 0.7]


@pytest.mark.parametrize(("count", "right"), [(FEWEST - 1, 20), (FEWEST, 0), (FEWEST, FEWEST)])
def test_too_few_labels_for_a_curve(count: int, right: int) -> None:
    labels = labels_of((n, {"value": n / count, "label": int(n < right)}) for n in range(count))
    curve = fit_curve(labels)
    assert not curve.taken
    assert f"a curve needs {FEWEST}, of both kinds" in curve.reason


@pytest.mark.parametrize("kind", KINDS)
def test_a_curve_rises_and_states_no_certainty(kind: str) -> None:
    labels = populations.overconfident(300)
    found = KINDS[kind].fit(labels.values, labels.right.astype(float))
    at = KINDS[kind].apply(np.linspace(0, 1, 101), found)
    assert (np.diff(at) >= 0).all()
    assert 0 < at[0] <= at[-1] < 1


@pytest.mark.parametrize("kind", ["platt", "logit", "isotonic"])
def test_a_number_that_ranks_upside_down_becomes_a_constant(kind: str) -> None:
    labels = populations.overconfident(300)
    turned = LabeledNumbers(1 - labels.values, labels.right)
    found = KINDS[kind].fit(turned.values, turned.right.astype(float))
    at = KINDS[kind].apply(np.linspace(0, 1, 11), found)
    assert at[0] == pytest.approx(at[-1], abs=0.02)
    assert at[0] == pytest.approx(labels.right.mean(), abs=0.05)


def test_a_case_is_never_judged_by_a_curve_that_saw_its_group() -> None:
    # In each group the number means something else: a curve of the others is wrong about it.
    values = np.full(200, 0.5)
    groups = tuple("ab"[n % 2] for n in range(200))
    right = np.array([name == "a" for name in groups])
    right[:4] = ~right[:4]
    found = held_out("isotonic", LabeledNumbers(values, right, groups))
    of_a = np.array([name == "a" for name in groups])
    assert found[of_a].mean() == pytest.approx(right[~of_a].mean())
    assert found[~of_a].mean() == pytest.approx(right[of_a].mean())
