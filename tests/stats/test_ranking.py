"""AUROC: by hand, pair by pair, and scikit-learn as the judge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalepan.stats.ranking import auroc

RECORDS = st.lists(st.tuples(st.integers(-5, 5), st.booleans(), st.integers(0, 3)), min_size=2, max_size=40)


@pytest.mark.parametrize(
    ("scores", "labels", "area"),
    [
        ([0.1, 0.9], [0, 1], 1.0),
        ([0.9, 0.1], [0, 1], 0.0),
        ([0.5, 0.5], [0, 1], 0.5),  # a tie is half
        # pairs: .4 > .1, .4 = .4, .8 > .1, .8 > .4: 3.5 of 4
        ([0.1, 0.4, 0.4, 0.8], [0, 1, 0, 1], 0.875),
        ([-3.0, -1.0, -2.0], [0, 1, 0], 1.0),
    ],
)
def test_by_hand(scores: list[float], labels: list[int], area: float) -> None:
    assert auroc(np.array(scores), np.array(labels, dtype=bool)) == pytest.approx([area])


def test_a_weight_of_two_is_the_record_twice() -> None:
    labels = np.array([False, True, False, True])
    scores = np.array([0.1, 0.3, 0.4, 0.8])
    weighted = auroc(scores, labels, np.array([[2.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 1.0]]))
    # false .1 .1 .4, true .3 .8: 2 + 3 of 6 pairs; without .4 all are won
    assert weighted == pytest.approx([5 / 6, 1.0])


def test_one_kind_of_label_measures_nothing() -> None:
    scores, labels = np.array([0.1, 0.9]), np.array([False, True])
    areas = auroc(scores, labels, np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    assert np.isnan(areas).tolist() == [True, True, False]
    assert np.isnan(auroc(scores, np.array([True, True]))).all()


@pytest.mark.parametrize(
    ("scores", "labels"), [([], []), ([0.1], [0, 1]), ([float("nan"), 1.0], [0, 1]), ([float("inf"), 1.0], [0, 1])]
)
def test_what_cannot_be_ranked(scores: list[float], labels: list[int]) -> None:
    with pytest.raises(ValueError, match="finite, and a label for each"):
        auroc(np.array(scores), np.array(labels, dtype=bool))


@given(RECORDS)
@settings(max_examples=50)
def test_it_counts_pairs(records: list[tuple[int, bool, int]]) -> None:
    true = [score for score, label, _ in records if label]
    false = [score for score, label, _ in records if not label]
    scores, labels = np.array([r[0] for r in records], dtype=float), np.array([r[1] for r in records])
    area = auroc(scores, labels)[0]
    if true and false:
        won = sum((one > other) + (one == other) / 2 for one in true for other in false)
        assert area == pytest.approx(won / (len(true) * len(false)))
        assert auroc(-scores, labels)[0] == pytest.approx(1 - area)  # turned round
        assert auroc(3 * scores + 7, labels)[0] == pytest.approx(area)  # only the order counts
    else:
        assert np.isnan(area)


@given(RECORDS)
@settings(max_examples=50, deadline=None)
def test_as_scikit_learn_has_it(records: list[tuple[int, bool, int]]) -> None:
    from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

    scores, labels, weights = (np.array(side) for side in zip(*records, strict=True))
    ours = auroc(scores.astype(float), labels, weights[None, :].astype(float))[0]
    kept = weights > 0
    if len(set(labels[kept].tolist())) == 2:
        assert ours == pytest.approx(roc_auc_score(labels[kept], scores[kept], sample_weight=weights[kept]))
    else:
        assert np.isnan(ours)
