"""Feedback and critic (contract memory.38 to memory.43): increments, clips, decay, merge, undo; all as events."""

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import ConflictError, InputError, NotFoundError
from scalepan.memory import Memory
from scalepan.memory.standing.standing import Standing, change_of
from scalepan.policy.retrieval import Feedback
from tests.memory.conftest import DAY, Clock, Open

Signal = Literal["helpful", "harmful", "outdated"]


def critics(memory: Memory) -> list[dict[str, Any]]:
    rows = memory.store.sql(
        "SELECT payload, request_id, trace_id FROM events "
        f"WHERE topic = 'critic' AND tenant = '{memory.who.tenant}' ORDER BY ts, rowid"
    )
    return [{**json.loads(payload), "request_id": r, "trace_id": t} for payload, r, t in rows]


def numbers(memory: Memory, claim: str) -> tuple[float, float]:
    found = memory.get(claim)
    return found.utility, found.confidence


@pytest.mark.parametrize(
    ("signals", "utility", "confidence"),
    [
        (["helpful"], 0.10, 0.55),
        (["harmful"], -0.20, 0.40),
        (["outdated"], 0.0, 0.30),
        (["helpful", "harmful"], -0.10, 0.45),
        (["helpful"] * 3, 0.30, 0.65),
        (["outdated"] * 3, 0.0, 0.0),  # .5 - .6 is cut at 0
        (["harmful"] * 6, -1.0, 0.0),  # -1.2 is cut at -1, .5 - .6 at 0
        (["helpful"] * 11, 1.0, 1.0),  # 1.1 and 1.05 are cut at 1
        (["harmful"] * 6 + ["helpful"], -0.90, 0.05),  # from where it was cut
    ],
)
def test_the_increments_of_the_spec(memory: Memory, signals: list[Signal], utility: float, confidence: float) -> None:
    claim = memory.add("q")
    for signal in signals:
        voted = memory.vote(claim, signal)
    assert (voted.utility, voted.confidence) == pytest.approx((utility, confidence))
    assert numbers(memory, claim) == pytest.approx((utility, confidence))
    # Search sees the same.
    assert memory.search("q")[0].features.g.conf == pytest.approx(confidence)


@given(st.lists(st.sampled_from(["helpful", "harmful", "outdated"]), max_size=40))
def test_votes_never_leave_the_bounds(signals: list[str]) -> None:
    policy, standing = Feedback(), Standing(0.0, 0.0, 0.5)
    for place, signal in enumerate(signals):
        standing = standing.after(change_of(signal, policy), place * DAY, policy)
        assert -1.0 <= standing.utility <= 1.0
        assert 0.0 <= standing.confidence <= 1.0


def test_utility_halves_in_30_days_and_quality_in_120(memory: Memory, clock: Clock) -> None:
    claim = memory.add("q", utility=0.8, quality=0.8)
    clock.pass_days(30)
    assert memory.get(claim).utility == pytest.approx(0.4)
    clock.pass_days(90)
    found = memory.get(claim)
    assert (found.utility, found.quality, found.confidence) == pytest.approx((0.05, 0.4, 0.5))
    # Nothing was written for that: no nightly job.
    assert memory.store.sql(f"SELECT utility, quality FROM claims WHERE id = '{claim}'") == [[0.8, 0.8]]


def test_a_vote_adds_to_what_time_has_left(memory: Memory, clock: Clock) -> None:
    claim = memory.add("q", utility=0.8)
    clock.pass_days(30)
    assert memory.vote(claim, "helpful").utility == pytest.approx(0.5)  # .4 + .1
    clock.pass_days(30)
    assert memory.get(claim).utility == pytest.approx(0.25)


def test_every_vote_is_a_critic_event(open_memory: Open) -> None:
    memory = open_memory(trace_id="t")
    claim = memory.add("q")
    voted = memory.vote(claim, "helpful")
    (event,) = critics(memory)
    assert (event["vote"], event["claim"], event["signal"]) == (voted.id, claim, "helpful")
    assert event["utility"] == pytest.approx([0.0, 0.1])
    assert event["confidence"] == pytest.approx([0.5, 0.55])
    assert event["trace_id"] == "t"
    assert event["request_id"]
    assert voted.id.startswith("fb_")


def test_the_constants_are_the_policy_s(open_memory: Open) -> None:
    memory = open_memory(policy={"retrieval": {"feedback": {"helpful": {"utility": 0.5, "confidence": 0.25}}}})
    claim = memory.add("q")
    memory.vote(claim, "helpful")
    assert numbers(memory, claim) == pytest.approx((0.5, 0.75))


def test_a_text_that_was_merged_is_known_under_its_representative(memory: Memory) -> None:
    """Contract memory.41: a duplicate is merged; added again, it must not come back beside what it was merged into."""
    old, new, newest = memory.add("q the old way"), memory.add("q the new way"), memory.add("q the newest way")
    memory.vote(old, "duplicate", of=new)
    memory.vote(new, "duplicate", of=newest)
    (again,) = memory.add_many([{"text": "q the old way", "entities": ["Billing"], "boundary_class": "pii"}])
    assert (again.id, again.created, again.boundary_class) == (newest, False, "pii")
    hashes = memory.store.sql(
        f"SELECT count(*), count(DISTINCT content_hash) FROM claims WHERE tenant = '{memory.who.tenant}'"
    )
    assert hashes == [[3, 3]]


def test_undo_takes_a_vote_back_and_keeps_the_others(memory: Memory, clock: Clock) -> None:
    claim = memory.add("q")
    first = memory.vote(claim, "helpful")
    clock.pass_days(30)
    memory.vote(claim, "harmful")
    undone = memory.undo_vote(first.id)
    # Without the first: 0 - .2, .5 - .1
    assert (undone.utility, undone.confidence) == pytest.approx((-0.2, 0.4))
    assert critics(memory)[-1]["undone"] is True
    with pytest.raises(ConflictError, match="already"):
        memory.undo_vote(first.id)
    with pytest.raises(NotFoundError):
        memory.undo_vote("fb_none")


def test_undo_knows_what_was_cut(memory: Memory) -> None:
    claim = memory.add("q", utility=0.95, confidence=0.98)
    vote = memory.vote(claim, "helpful")
    assert numbers(memory, claim) == pytest.approx((1.0, 1.0))
    memory.undo_vote(vote.id)
    assert numbers(memory, claim) == pytest.approx((0.95, 0.98))


def test_undo_keeps_what_was_set_by_hand_in_between(memory: Memory) -> None:
    claim = memory.add("q")
    vote = memory.vote(claim, "helpful")
    memory.update(claim, confidence=0.9)
    memory.undo_vote(vote.id)
    # Without the vote, .9 is what somebody said.
    assert memory.get(claim).confidence == pytest.approx(0.9, abs=0.051)


def test_a_duplicate_is_merged_and_halved_and_recalled_no_more(memory: Memory) -> None:
    old = memory.add("q the old way", utility=0.8, entities=["Billing"])
    new = memory.add("q the new way")
    other = memory.add("something else")
    memory.vote(old, "helpful")
    memory.link(old, other, "explains")
    voted = memory.vote(old, "duplicate", of=new)
    assert voted.merged_into == new
    assert voted.utility == pytest.approx(0.45)  # (.8 + .1) / 2
    assert [one.id for one in memory.search("q way")][:1] == [new]
    assert old not in {one.id for one in memory.search("q way")}
    assert old not in {claim.id for claim in memory.list()}
    # The vote and the links are the representative's now.
    assert numbers(memory, new) == pytest.approx((0.10, 0.55))
    assert [entity.name for entity in memory.get(new).entities] == ["Billing"]
    links = f"SELECT source_id, target_id FROM relations WHERE tenant = '{memory.who.tenant}'"
    assert memory.store.sql(links) == [[new, other]]
    with pytest.raises(ConflictError, match="merged"):
        memory.vote(old, "helpful")
    assert memory.search("q way", why=old).why is not None


def test_undoing_a_duplicate_brings_everything_back(memory: Memory) -> None:
    old = memory.add("q the old way", utility=0.8, entities=["Billing"])
    new = memory.add("q the new way")
    memory.vote(old, "helpful")
    before = memory.get(old), memory.get(new)
    merge = memory.vote(old, "duplicate", of=new)
    memory.undo_vote(merge.id)
    after = memory.get(old), memory.get(new)
    assert (after[0].utility, after[0].confidence) == pytest.approx((before[0].utility, before[0].confidence))
    assert after[0].merged_into is None
    assert after[0].entities == before[0].entities
    assert {one.id for one in memory.search("q way")} == {old, new}
    # The representative's numbers become what they would be without the vote, too.
    assert (after[1].utility, after[1].confidence) == pytest.approx((before[1].utility, before[1].confidence))
    assert after[1].entities == []


def test_undoing_a_duplicate_of_a_claim_with_votes_of_its_own(memory: Memory) -> None:
    old, new = memory.add("q the old way"), memory.add("q the new way")
    memory.vote(old, "helpful")
    memory.vote(new, "harmful")
    merge = memory.vote(old, "duplicate", of=new)
    assert numbers(memory, new) == pytest.approx((-0.10, 0.45))
    memory.undo_vote(merge.id)
    assert numbers(memory, new) == pytest.approx((-0.20, 0.40))
    assert numbers(memory, old) == pytest.approx((0.10, 0.55))


def test_duplicates_of_nothing_of_itself_and_in_a_circle_are_refused(memory: Memory) -> None:
    one, two = memory.add("q one"), memory.add("q two")
    for wrong in (None, one):
        with pytest.raises(InputError):
            memory.vote(one, "duplicate", of=wrong)
    with pytest.raises(InputError):
        memory.vote(one, "helpful", of=two)
    with pytest.raises(NotFoundError):
        memory.vote(one, "duplicate", of="clm_none")
    memory.vote(one, "duplicate", of=two)
    with pytest.raises(ConflictError):
        memory.vote(two, "duplicate", of=one)


def test_the_same_content_is_kept_once_for_a_tenant_project_and_scope(open_memory: Open) -> None:
    memory = open_memory(session="s1")
    first = memory.add("the  same\r\ntext ")
    assert memory.add("the same text") == first
    assert [added.created for added in memory.add_many(["the same text", "The same text"])] == [False, True]
    others = [
        memory.add("the same text", scope="principle"),
        memory.add("the same text", scope="session"),
        open_memory(project="else").add("the same text"),
        open_memory(tenant="else").add("the same text"),
    ]
    assert len({first, *others}) == 5


def test_only_votes_are_counted_as_votes(memory: Memory) -> None:
    old, new = memory.add("q the old way"), memory.add("q the new way")
    memory.update(new, confidence=0.9)
    memory.vote(old, "helpful")
    memory.vote(old, "duplicate", of=new)
    assert memory.stats().votes == {"helpful": 1, "duplicate": 1}


def test_undoing_twice_merged_votes_leaves_what_others_voted(memory: Memory) -> None:
    one, two, three = memory.add("q one"), memory.add("q two"), memory.add("q three")
    memory.vote(one, "helpful")
    first = memory.vote(one, "duplicate", of=two)
    second = memory.vote(two, "duplicate", of=three)
    assert numbers(memory, three) == pytest.approx((0.10, 0.55))
    memory.undo_vote(second.id)
    assert numbers(memory, three) == pytest.approx((0.0, 0.5))
    assert numbers(memory, two) == pytest.approx((0.10, 0.55))
    memory.undo_vote(first.id)
    assert numbers(memory, two) == pytest.approx((0.0, 0.5))
    assert numbers(memory, one) == pytest.approx((0.10, 0.55))


def test_undoing_a_merge_that_was_merged_further(memory: Memory) -> None:
    """One's vote went to two, and with two to three: taken back, it counts for one again and for nobody else."""
    one, two, three = memory.add("q one"), memory.add("q two"), memory.add("q three")
    memory.vote(one, "helpful")
    first = memory.vote(one, "duplicate", of=two)
    memory.vote(two, "duplicate", of=three)
    memory.undo_vote(first.id)
    assert numbers(memory, one) == pytest.approx((0.10, 0.55))
    assert numbers(memory, three) == pytest.approx((0.0, 0.5))
