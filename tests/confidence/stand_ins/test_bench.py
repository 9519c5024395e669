"""The figures in docs/benchmarks.md rest on these: AUROC and its intervals, by hand and pair by pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.groundedness import Record, auroc, draws, in_half


@pytest.mark.parametrize(
    ("scores", "labels", "area"),
    [
        ([0.1, 0.9], [0, 1], 1.0),
        ([0.9, 0.1], [0, 1], 0.0),
        ([0.5, 0.5], [0, 1], 0.5),  # a tie is half
        # pairs: .4 > .1, .4 = .4, .8 > .1, .8 > .4: 3.5 of 4
        ([0.1, 0.4, 0.4, 0.8], [0, 1, 0, 1], 0.875),
    ],
)
def test_auroc(scores: list[float], labels: list[int], area: float) -> None:
    assert auroc(np.array(scores), np.array(labels, dtype=bool)) == pytest.approx([area])


def test_a_weight_of_two_is_the_record_twice() -> None:
    labels = np.array([False, True, False, True])
    scores = np.array([0.1, 0.3, 0.4, 0.8])
    weighted = auroc(scores, labels, np.array([[2.0, 1.0, 1.0, 1.0]]))
    # false .1 .1 .4, true .3 .8: 2 + 3 of 6 pairs
    assert weighted == pytest.approx([5 / 6])


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30))
@settings(max_examples=25)
def test_auroc_counts_pairs(found: list[tuple[int, bool]]) -> None:
    true = [score for score, label in found if label]
    false = [score for score, label in found if not label]
    if not true or not false:
        return
    won = sum((one > other) + (one == other) / 2 for one in true for other in false)
    scores, labels = (np.array(side) for side in zip(*found, strict=True))
    assert auroc(scores.astype(float), labels)[0] == pytest.approx(won / (len(true) * len(false)))


def test_documents_are_drawn_whole() -> None:
    weights = draws(["b", "a", "b", "c"])
    assert (weights[:, 0] == weights[:, 2]).all()
    assert (weights[:, [0, 1, 3]].sum(axis=1) == 3).all()


def test_the_halves_share_no_document() -> None:
    records = [Record(document, "", answer, "", True) for document in ("a", "b", "c") for answer in ("x", "y")]
    for record in records:
        assert in_half(record, 0) != in_half(record, 1)
        assert in_half(record, 0) == in_half(record._replace(answer="z"), 0)
