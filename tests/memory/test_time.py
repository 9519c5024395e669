"""When a claim is true, and what replaced it: recalled is what is true now, and with as_of what was true then."""

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scalepan.errors import ConflictError, InputError, NotFoundError, ScalepanError
from scalepan.memory import Memory, Recall
from scalepan.memory.claim import moment, written
from scalepan.memory.requests import Agree
from scalepan.store.own import Nothing
from tests.memory.conftest import DAY, START, Clock, Open

QUERY = "where is the office?"
KYOTO, OSAKA, NARA = "The office is in Kyoto", "The office is in Osaka", "The office is in Nara"


def texts(found: Recall) -> set[str]:
    return {one.text for one in found}


def day(number: float) -> str:
    """A moment so many days after the clock of these tests was started."""
    return written(START + number * DAY)


def agrees(memory: Memory) -> bool:
    return not memory.store.call("memory.agree", Agree(who=memory.who, overlay=memory.overlay)).problems


# What replaces what


def test_a_claim_that_is_replaced_is_recalled_only_as_of_then(memory: Memory, clock: Clock) -> None:
    old = memory.add(KYOTO)
    memory.search(QUERY)  # there is an index to keep in step
    clock.pass_days(10)
    new = memory.add(OSAKA, supersedes=old)
    assert texts(memory.search(QUERY)) == {OSAKA}
    assert texts(memory.activate(QUERY)) == {OSAKA}
    (then,) = memory.search(QUERY, as_of=day(5))
    assert (then.text, then.claim.superseded_by) == (KYOTO, new)
    assert then.to_dict()["superseded_by"] == new
    (now,) = memory.search(QUERY, as_of=day(10))
    assert (now.text, now.claim.supersedes, now.claim.superseded_by) == (OSAKA, old, None)
    assert agrees(memory)


def test_looking_around_shows_it_and_says_what_replaced_it(memory: Memory) -> None:
    old = memory.add(KYOTO)
    new = memory.add(OSAKA, supersedes=old)
    assert memory.get(old).superseded_by == new
    assert {claim.id: claim.superseded_by for claim in memory.list()} == {old: new, new: None}
    assert memory.search(QUERY, why=old).why == f"claim '{new}' supersedes it"
    (again,) = memory.add_many([KYOTO])
    assert (again.id, again.created, again.superseded_by) == (old, False, new)


@pytest.mark.parametrize(
    ("given_", "begins"),
    [
        ({"valid_from": day(3), "said_at": day(1)}, 3),  # when it says so
        ({"said_at": day(1)}, 1),  # else when it was said
        ({}, 2),  # else when it was added
    ],
)
def test_the_newer_one_begins(memory: Memory, clock: Clock, given_: dict[str, str], begins: int) -> None:
    old = memory.add(KYOTO)
    clock.pass_days(2)
    memory.add(OSAKA, supersedes=old, **given_)
    assert texts(memory.search(QUERY, as_of=day(begins - 0.01))) == {KYOTO}
    assert texts(memory.search(QUERY, as_of=day(begins))) == {OSAKA}


def test_it_is_replaced_for_good_even_if_the_newer_one_ends(memory: Memory) -> None:
    old = memory.add(KYOTO)
    memory.add(OSAKA, supersedes=old, valid_until=day(5))
    assert texts(memory.search(QUERY, as_of=day(6))) == set()


def test_a_chain_and_what_forgetting_makes_of_it(memory: Memory) -> None:
    first = memory.add(KYOTO)
    second = memory.add(OSAKA, supersedes=first)
    third = memory.add(NARA, supersedes=second)
    assert texts(memory.search(QUERY)) == {NARA}
    memory.forget(second)  # the one in the middle: what it had replaced stays replaced
    assert memory.get(third).supersedes == first
    assert texts(memory.search(QUERY)) == {NARA}
    memory.forget(third)  # the newest: the one before is current again
    assert texts(memory.search(QUERY)) == {KYOTO}
    assert memory.get(first).superseded_by is None
    assert agrees(memory)


def test_forgetting_the_oldest_leaves_its_id_nowhere(memory: Memory) -> None:
    old = memory.add(KYOTO)
    new = memory.add(OSAKA, supersedes=old)
    memory.forget(old)
    assert memory.get(new).supersedes is None
    assert memory.search(QUERY)[0].claim.supersedes is None
    assert agrees(memory)


def test_it_can_be_said_later_and_taken_back(memory: Memory) -> None:
    old, new = memory.add(KYOTO), memory.add(OSAKA)
    assert texts(memory.search(QUERY)) == {KYOTO, OSAKA}
    assert memory.update(new, supersedes=old).supersedes == old
    assert texts(memory.search(QUERY)) == {OSAKA}
    assert memory.update(new, clear=["supersedes"]).supersedes is None
    assert texts(memory.search(QUERY)) == {KYOTO, OSAKA}
    assert agrees(memory)


def test_a_text_that_is_known_may_come_to_replace_another(memory: Memory) -> None:
    old, new = memory.add(KYOTO), memory.add(OSAKA)
    memory.search(QUERY)
    assert memory.add(OSAKA, supersedes=old) == new
    assert texts(memory.search(QUERY)) == {OSAKA}
    with pytest.raises(ConflictError, match="says this already, and supersedes another one: update it instead"):
        memory.add(OSAKA, supersedes=memory.add(NARA))


@pytest.mark.parametrize("how", ["add", "update"])
def test_there_are_no_rings(memory: Memory, how: str) -> None:
    first = memory.add(KYOTO)
    second = memory.add(OSAKA, supersedes=first)
    third = memory.add(NARA, supersedes=second)
    with pytest.raises(ConflictError, match=f"claim '{third}' itself supersedes '{first}'"):
        memory.add(KYOTO, supersedes=third) if how == "add" else memory.update(first, supersedes=third)
    with pytest.raises(InputError, match="cannot replace itself"):
        memory.add(KYOTO, supersedes=first) if how == "add" else memory.update(first, supersedes=first)
    assert texts(memory.search(QUERY)) == {NARA}


def test_claims_that_come_together_may_name_each_other(memory: Memory) -> None:
    memory.add_many([{"text": OSAKA, "supersedes": "k"}, {"text": KYOTO, "id": "k"}])
    assert texts(memory.search(QUERY)) == {OSAKA}
    ring = [{"text": "a", "id": "x", "supersedes": "y"}, {"text": "b", "id": "y", "supersedes": "x"}]
    with pytest.raises(ConflictError, match="itself supersedes"):
        memory.add_many(ring)
    assert memory.stats().claims == 2


# Who may


def test_what_is_not_there_cannot_be_replaced(open_memory: Open) -> None:
    mine, theirs = open_memory(), open_memory(tenant="other")
    foreign = theirs.add(KYOTO)
    elsewhere = open_memory(project="other").add(KYOTO)
    for older in ("clm_none", foreign, elsewhere):
        with pytest.raises(NotFoundError, match=f"no claim '{older}' here to supersede"):
            mine.add(OSAKA, supersedes=older)
    assert mine.stats().claims == 0
    assert texts(theirs.search(QUERY)) == {KYOTO}


def test_what_may_not_be_changed_may_not_be_replaced(open_memory: Open) -> None:
    keep = {"boundary": {"invariants": {"keep": "action != 'update' || claim.kind != 'policy_hint'"}}}
    memory = open_memory(policy=keep)
    old = memory.add(KYOTO, kind="policy_hint")
    with pytest.raises(NotFoundError, match="no claim"):
        memory.add(OSAKA, supersedes=old)
    assert texts(memory.search(QUERY)) == {KYOTO}


def test_only_what_the_asker_may_read_replaces(open_memory: Open) -> None:
    memory = open_memory()
    old = memory.add(KYOTO)
    new = memory.add(OSAKA, supersedes=old, boundary_class="pii")
    assert texts(memory.search(QUERY)) == {KYOTO}  # to this purpose there is no other
    assert memory.get(old).superseded_by is None
    allowed = open_memory(purposes=["tool:contact-lookup"])
    assert texts(allowed.search(QUERY)) == {OSAKA}
    assert allowed.get(old).superseded_by == new


def test_an_add_does_not_name_what_the_caller_may_not_read(open_memory: Open) -> None:
    memory = open_memory()
    memory.add(OSAKA, supersedes=memory.add(KYOTO), boundary_class="pii")
    (again,) = memory.add_many([KYOTO])
    assert again.superseded_by is None


def test_a_token_cannot_replace_what_it_does_not_open(open_memory: Open) -> None:
    old = open_memory().add(KYOTO, boundary_class="internal")
    with pytest.raises(NotFoundError, match="here to supersede"):
        open_memory(classes=["public"]).add(OSAKA, supersedes=old, boundary_class="public")


@pytest.mark.parametrize("at", ["0001-01-01", "1969-07-20", "9999-12-31T23:59:59+00:00"])
def test_far_times(memory: Memory, at: str) -> None:
    id_ = memory.add(KYOTO, said_at=at, valid_until="9999-12-31T23:59:59.5+00:00")
    assert memory.get(id_).said_at == written(moment(at))
    assert texts(memory.search(QUERY, as_of=at)) == {KYOTO}


def test_what_the_asker_may_not_read_is_not_named(open_memory: Open) -> None:
    memory, allowed = open_memory(), open_memory(purposes=["tool:contact-lookup"])
    old = memory.add(KYOTO, boundary_class="pii")
    new = memory.add(OSAKA, supersedes=old)
    assert (memory.get(new).supersedes, allowed.get(new).supersedes) == (None, old)
    assert (memory.search(QUERY)[0].claim.supersedes, allowed.search(QUERY)[0].claim.supersedes) == (None, old)
    assert [claim.supersedes for claim in memory.list()] == [None]


def test_a_session_replaces_for_itself(open_memory: Open) -> None:
    here, there = open_memory(session="here"), open_memory(session="there")
    old = here.add(KYOTO)
    here.add(OSAKA, supersedes=old, scope="session")
    assert texts(here.search(QUERY)) == {OSAKA}
    assert texts(there.search(QUERY)) == {KYOTO}


def test_a_kind_that_was_not_asked_for_still_replaces(memory: Memory) -> None:
    old = memory.add(KYOTO, kind="fact")
    memory.add(OSAKA, supersedes=old, kind="preference")
    assert texts(memory.search(QUERY, kinds=["fact"])) == set()


# Duplicates


def test_a_duplicate_hands_over_what_it_replaces(memory: Memory) -> None:
    old = memory.add(KYOTO)
    new, twin = memory.add(OSAKA, supersedes=old), memory.add("The office is in Osaka now")
    memory.search(QUERY)
    vote = memory.vote(new, "duplicate", of=twin)
    assert memory.get(twin).supersedes == old
    assert texts(memory.search(QUERY)) == {"The office is in Osaka now"}
    memory.undo_vote(vote.id)
    assert memory.get(new).supersedes == old
    assert memory.get(twin).supersedes is None
    assert texts(memory.search(QUERY)) == {OSAKA, "The office is in Osaka now"}
    assert agrees(memory)


def test_what_replaced_a_duplicate_replaces_its_representative(memory: Memory) -> None:
    old, twin = memory.add(KYOTO), memory.add("The office is in Kyoto city")
    memory.add(OSAKA, supersedes=old)
    vote = memory.vote(old, "duplicate", of=twin)
    assert texts(memory.search(QUERY)) == {OSAKA}
    memory.undo_vote(vote.id)
    assert texts(memory.search(QUERY)) == {OSAKA, "The office is in Kyoto city"}
    assert agrees(memory)


def test_merging_bends_no_chain_into_a_ring(memory: Memory) -> None:
    first = memory.add(KYOTO)
    second = memory.add(OSAKA, supersedes=first)
    third = memory.add(NARA, supersedes=second)
    vote = memory.vote(first, "duplicate", of=third)
    assert [memory.get(id_).supersedes for id_ in (second, third)] == [None, second]
    assert texts(memory.search(QUERY)) == {NARA}
    memory.undo_vote(vote.id)
    assert [memory.get(id_).supersedes for id_ in (first, second, third)] == [None, first, second]
    assert agrees(memory)


def test_a_merged_claim_cannot_be_replaced(memory: Memory) -> None:
    old, twin = memory.add(KYOTO), memory.add("The office is in Kyoto city")
    memory.vote(old, "duplicate", of=twin)
    with pytest.raises(ConflictError, match=f"was merged into '{twin}': name that one"):
        memory.add(OSAKA, supersedes=old)


# When it is true


def test_a_claim_is_recalled_while_it_is_true(memory: Memory, clock: Clock) -> None:
    id_ = memory.add(KYOTO, valid_from=day(1), valid_until=day(2))
    assert texts(memory.search(QUERY)) == set()
    assert memory.search(QUERY, why=id_).why == f"it is not true yet: from {day(1)} on"
    clock.pass_days(1)
    assert texts(memory.search(QUERY)) == {KYOTO}
    clock.pass_days(1)
    assert texts(memory.search(QUERY)) == set()
    assert memory.search(QUERY, why=id_).why == f"it is not true any more: until {day(2)}"
    assert texts(memory.search(QUERY, as_of=day(1.5))) == {KYOTO}
    assert memory.get(id_).validity() == {"valid_from": day(1), "valid_until": day(2)}


@pytest.mark.parametrize(
    ("given_", "problem"),
    [
        ({"valid_from": day(2), "valid_until": day(2)}, "valid_until: .* is not after valid_from"),
        ({"valid_from": "soon"}, "valid_from: 'soon' is not a time"),
        ({"supersedes": "a b"}, "supersedes: 'a b' has a character that is not legal here"),
    ],
)
def test_what_cannot_be_is_refused(memory: Memory, given_: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        memory.add(KYOTO, **given_)
    assert memory.stats().claims == 0


def test_a_change_must_leave_some_time(memory: Memory) -> None:
    id_ = memory.add(KYOTO, valid_from=day(1))
    with pytest.raises(InputError, match=r"valid_until: .* is not after valid_from"):
        memory.update(id_, valid_until=day(1))
    assert memory.update(id_, valid_until=day(1), clear=["valid_from"]).validity() == {"valid_until": day(1)}


def test_as_of_is_a_time(memory: Memory) -> None:
    with pytest.raises(InputError, match="as_of: 'then' is not a time such as"):
        memory.search(QUERY, as_of="then")


# In and out


def test_an_export_brings_the_older_one_first(open_memory: Open) -> None:
    there, here = open_memory(tenant="there"), open_memory(tenant="here")
    there.add(KYOTO, id="z1" + there.who.tenant[-8:])
    first = there.search(QUERY)[0].id
    second = there.add(OSAKA, supersedes=first, id="y" + first)
    there.add(NARA, supersedes=second, id="a" + first, valid_until=day(100))
    rows = list(there.export())
    assert [row["text"] for row in rows] == [KYOTO, OSAKA, NARA]
    known = here.add(KYOTO)  # the text is known there, under another id
    here.import_([{**row, "id": "i" + row["id"], **older(row)} for row in rows])
    assert texts(here.search(QUERY)) == {NARA}
    chain = {claim.text: claim.supersedes for claim in here.list()}
    assert chain == {KYOTO: None, OSAKA: known, NARA: "i" + second}
    assert here.search(QUERY)[0].claim.valid_until == day(100)


def older(row: dict[str, Any]) -> dict[str, Any]:
    return {"supersedes": "i" + row["supersedes"]} if "supersedes" in row else {}


def test_over_the_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    program = (
        "import sys; from scalepan.memory import Memory\n"
        "with Memory(sys.argv[1]) as memory:\n"
        "    new = memory.add('The office is in Osaka', supersedes=sys.argv[2])\n"
        "    print(memory.search('office').claims[0].text)\n"
        "    print(memory.get(sys.argv[2]).superseded_by == new)\n"
        "    print(memory.search('office', as_of='2020-01-01').claims[0].claim.superseded_by == new)\n"
    )
    path = tmp_path / "notes.duckdb"
    with Memory(path) as memory:
        old = memory.add(KYOTO)
        memory.search(QUERY)
        command = [sys.executable, "-c", program, str(path), old]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == [OSAKA, "True", "True"]
        assert texts(memory.search("office")) == {OSAKA}
        assert agrees(memory)


def test_a_claim_that_names_one_that_is_gone_is_counted_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    path = tmp_path / "notes.duckdb"
    with Memory(path) as memory:
        id_ = memory.add(KYOTO)
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE claims SET supersedes = 'clm_gone'")
    with Memory(path) as memory:
        assert memory.store.call("memory.orphans", Nothing()).rows == {"claims": 1}
        assert memory.sweep() == {"claims": 1}
        assert memory.get(id_).supersedes is None
        assert memory.store.call("memory.orphans", Nothing()).total == 0


# The index, the tables and a reader of the rules agree


class Drawn(NamedTuple):
    """A claim: its class, when it is true, and which of those before it it replaces."""

    class_: str
    begins: int | None
    ends: int | None
    said: int | None
    older: int | None


@st.composite
def drawn(draw: Any) -> list[Drawn]:
    moments = st.one_of(st.none(), st.integers(0, 4))
    claims: list[Drawn] = []
    for number in range(draw(st.integers(1, 6))):
        begins, ends = draw(moments), draw(moments)
        if begins is not None and ends is not None and begins >= ends:
            begins, ends = None, ends
        older = draw(st.one_of(st.none(), st.integers(0, number - 1))) if number else None
        claims.append(Drawn(draw(st.sampled_from(["internal", "pii"])), begins, ends, draw(moments), older))
    return claims


def expected(claims: list[Drawn], classes: set[str], at: float) -> set[int]:
    """By the rules alone."""

    def begin(claim: Drawn) -> float:
        if claim.begins is not None:
            return claim.begins
        if claim.older is None:
            return -1e9
        return 0 if claim.said is None else claim.said  # all are added on day 0

    visible = [i for i, claim in enumerate(claims) if claim.class_ in classes]
    replaced = {claims[i].older for i in visible if begin(claims[i]) <= at}
    true = [i for i in visible if begin(claims[i]) <= at and (claims[i].ends is None or at < (claims[i].ends or 0))]
    return set(true) - replaced


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(claims=drawn(), at=st.sampled_from([-1, 0, 0.5, 1, 2, 3, 4, 5]), data=st.data())
def test_what_is_recalled_follows_from_the_rules_whatever_the_order_of_adds(
    open_memory: Open, claims: list[Drawn], at: float, data: st.DataObject
) -> None:
    case = uuid4().hex  # a tenant of its own, also when an example is tried again
    tenant = f"t{case}"
    order = data.draw(st.permutations(range(len(claims))))
    rows = [
        {
            "text": f"The office number {i}",
            "id": f"{case}-{i}",
            "boundary_class": claim.class_,
            "said_at": None if claim.said is None else day(claim.said),
            "valid_from": None if claim.begins is None else day(claim.begins),
            "valid_until": None if claim.ends is None else day(claim.ends),
            "supersedes": None if claim.older is None else f"{case}-{claim.older}",
        }
        for i, claim in enumerate(claims)
    ]
    with_sql = {"retrieval": {"text": {"level": "L0"}, "vectors": {"level": "L1"}}}
    open_memory(tenant=tenant).add_many([rows[i] for i in order])
    for purpose, classes in (("answer:task", {"internal"}), ("tool:contact-lookup", {"internal", "pii"})):
        wanted = {f"The office number {i}" for i in expected(claims, classes, at)}
        for policy in (None, with_sql):
            asker = open_memory(tenant=tenant, purposes=[purpose], policy=policy)
            assert texts(asker.search("office", as_of=day(at))) == wanted


def test_a_moment_is_read_back_as_it_was_written() -> None:
    assert moment(day(1.25)) == START + 1.25 * DAY


def test_every_refusal_is_one_line(memory: Memory) -> None:
    for given_ in ({"supersedes": "clm_x"}, {"valid_from": "x"}, {"supersedes": "x y"}):
        with pytest.raises(ScalepanError) as caught:
            memory.add(KYOTO, **given_)
        assert "\n" not in str(caught.value)
