"""A clock that goes back between two acts changes nothing: what came last came last."""

import pytest

from scalepan.memory import Memory
from scalepan.receipts import explain
from tests.memory.conftest import DAY, Clock


def test_undoing_a_vote_that_was_cast_before_the_clock_went_back(memory: Memory, clock: Clock) -> None:
    id_ = memory.add("apple pie", utility=0.95)
    votes = []
    for signal in ("helpful", "helpful", "harmful"):
        votes.append(memory.vote(id_, signal))
        clock.now -= 1
    assert [vote.utility for vote in votes] == pytest.approx([1.0, 1.0, 0.8], abs=1e-4)
    # Without the first, .95 + .1 is cut at 1, then 1 - .2. By time the harmful one would be first: .95 - .2 + .1 = .85.
    assert memory.undo_vote(votes[0].id).utility == pytest.approx(0.8, abs=1e-4)


def test_the_votes_of_a_clock_that_went_back_explain_the_claim(memory: Memory, clock: Clock) -> None:
    id_ = memory.add("apple pie", utility=0.9)
    for signal in ("helpful", "harmful", "helpful"):
        memory.vote(id_, signal)
        clock.now -= 1
    found = explain(memory, id_)
    assert (found.status, [number.differences for number in found.numbers]) == ("equal", [[], []])
    story = found.numbers[0].explanation.splitlines()
    assert [line.split()[0] for line in story] == ["start", "helpful", "harmful", "helpful"]


def test_confidence_set_by_hand_after_the_clock_went_back(memory: Memory, clock: Clock) -> None:
    id_ = memory.add("apple pie")
    memory.vote(id_, "helpful")
    clock.now -= DAY
    memory.update(id_, confidence=0.9)
    vote = memory.vote(id_, "helpful")
    # It was set to .9 after the first vote. By time it would be set before that one, which would make .95 of it.
    assert memory.undo_vote(vote.id).confidence == pytest.approx(0.9)


def test_a_merge_after_the_clock_went_back(memory: Memory, clock: Clock) -> None:
    one, other = memory.add("apple pie", utility=0.9), memory.add("pie of apples", utility=0.9)
    memory.vote(one, "helpful")
    clock.now -= 5
    memory.vote(other, "harmful")
    clock.now -= 5
    merged = memory.vote(other, "duplicate", of=one)
    before = memory.get(one).utility
    assert explain(memory, one).status == "equal"
    memory.undo_vote(merged.id)
    assert explain(memory, one).status == explain(memory, other).status == "equal"
    assert memory.get(one).utility == pytest.approx(1.0, abs=1e-3)
    assert before == pytest.approx(0.8, abs=1e-3)  # 1 - .2: the harmful vote came after the helpful one
