"""The boundary from outside: whoever asks, by whatever door, what is not theirs does not exist."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from scalepan.errors import BoundaryError, ConflictError, InputError, NotFoundError, ScalepanError
from scalepan.memory import Memory
from tests.memory.conftest import Open

PLACES: list[dict[str, Any]] = [
    {"tenant": "acme", "project": "web", "session": "s1"},
    {"tenant": "acme", "project": "web", "session": "s2"},
    {"tenant": "acme", "project": "web", "session": None},
    {"tenant": "acme", "project": "shop", "session": "s1"},
    {"tenant": "acme", "project": None, "session": "s1"},
    {"tenant": "acme", "project": None, "session": None},
    {"tenant": "other", "project": "web", "session": "s1"},
]


def sees(reader: dict[str, Any], writer: dict[str, Any], scope: str) -> bool:
    """Session claims in their session, project claims in their project, principles there or, without, everywhere."""
    if reader["tenant"] != writer["tenant"]:
        return False
    here: bool = reader["project"] == writer["project"]
    match scope:
        case "session":
            return here and bool(reader["session"] == writer["session"])
        case "project":
            return here
        case _:
            return here or writer["project"] is None


def doors(memory: Memory, claim: str, own: str) -> dict[str, Callable[[], Any]]:
    """Every call that takes a claim's id."""
    return {
        "get": lambda: memory.get(claim),
        "update": lambda: memory.update(claim, confidence=0.1),
        "vote": lambda: memory.vote(claim, "harmful"),
        "duplicate": lambda: memory.vote(claim, "duplicate", of=own),
        "of": lambda: memory.vote(own, "duplicate", of=claim),
        "link from": lambda: memory.link(claim, own),
        "link to": lambda: memory.link(own, claim),
        "forget": lambda: memory.forget(claim),
    }


def test_who_sees_what_by_every_door_that_reads(open_memory: Open) -> None:
    written: list[tuple[str, dict[str, Any], str]] = []
    for number, place in enumerate(PLACES):
        memory = open_memory(**place)
        scopes = ["project", "principle"] + (["session"] if place["session"] else [])
        written += [(memory.add(f"plan {number} {scope}", scope=scope), place, scope) for scope in scopes]
    for place in PLACES:
        memory = open_memory(**place)
        expected = {id_ for id_, writer, scope in written if sees(place, writer, scope)}
        every = {"diversity": {"mmr_lambda": 1.0}, "hybrid": {"k_final": 99, "k_txt": 99, "k_vec": 99}}
        for said in ({}, {"text": {"level": "L0"}, "vectors": {"level": "L1"}}):
            found = open_memory(**place, policy={"retrieval": {**every, **said}}).search("plan")
            assert {one.id for one in found} == expected
        assert {claim.id for claim in memory.list()} == expected
        # Counts are of the project; ids of others stand nowhere in an answer.
        assert {one.id for one in memory.activate("plan", k=99)} <= expected
        for id_, _, _ in written[::4]:
            if id_ in expected:
                assert memory.get(id_).id == id_
            else:
                with pytest.raises(NotFoundError):
                    memory.get(id_)


@pytest.mark.parametrize(
    ("writer", "scope", "reader"),
    [
        (PLACES[6], "project", PLACES[0]),
        (PLACES[6], "principle", PLACES[0]),
        (PLACES[3], "project", PLACES[0]),
        (PLACES[3], "principle", PLACES[0]),
        (PLACES[0], "session", PLACES[1]),
        (PLACES[0], "session", PLACES[2]),
        (PLACES[0], "session", PLACES[3]),
        (PLACES[5], "project", PLACES[0]),  # claims of no project are not everybody's, principles aside
        (PLACES[4], "session", PLACES[0]),
        (PLACES[0], "project", PLACES[5]),
    ],
)
def test_no_door_opens_on_the_claims_of_others(
    open_memory: Open, writer: dict[str, Any], scope: str, reader: dict[str, Any]
) -> None:
    owner, stranger = open_memory(**writer), open_memory(**reader)
    claim, own = owner.add("theirs", scope=scope), stranger.add("mine")
    opened = []
    for name, call in doors(stranger, claim, own).items():
        try:
            call()
        except (NotFoundError, InputError):
            pass
        except ConflictError:  # says that there is something
            opened.append(name)
        else:
            opened.append(name)
    assert opened == []
    kept = owner.get(claim)
    assert (kept.text, kept.utility, kept.confidence, kept.merged_into) == ("theirs", 0.0, 0.5, None)
    if writer["project"] != reader["project"]:  # an export is the project's, with all its sessions
        assert claim not in {data["id"] for data in stranger.export()}
    assert "no such claim here" in (stranger.search("theirs", why=claim).why or "")


def test_a_scope_that_the_policy_shuts_is_shut_for_every_door(open_memory: Open) -> None:
    claim = open_memory(session="s1").add("theirs", scope="session")
    shut = open_memory(session="s1", policy={"boundary": {"scopes": ["project", "principle"]}})
    own = shut.add("mine")
    opened = []
    for name, call in doors(shut, claim, own).items():
        try:
            call()
        except (NotFoundError, InputError):
            pass
        except ConflictError:
            opened.append(name)
        else:
            opened.append(name)
    assert opened == []


def test_a_vote_of_others_cannot_be_undone(open_memory: Open) -> None:
    owner = open_memory(project="web")
    vote = owner.vote(owner.add("theirs"), "helpful")
    for stranger in (open_memory(project="shop"), open_memory(tenant="other", project="web")):
        with pytest.raises(NotFoundError):
            stranger.undo_vote(vote.id)


def test_votes_of_other_projects_are_not_calibrated_on(open_memory: Open) -> None:
    from scalepan.memory.requests import AskVotes

    owner = open_memory(project="web")
    claim = owner.add("plan")
    context = owner.activate("plan").active_context_id
    owner.vote(claim, "helpful", context=context)
    other = open_memory(project="shop").who
    mine, others = (owner.store.call("memory.voted_pairs", AskVotes(who=who)).pairs for who in (owner.who, other))
    assert (len(mine), len(others)) == (1, 0)


def test_figures_are_of_the_project(open_memory: Open) -> None:
    owner = open_memory(project="web")
    owner.vote(owner.add("plan"), "helpful")
    figures = open_memory(project="shop").stats()
    assert (figures.claims, figures.votes) == (0, {})


def test_statistics_of_words_are_those_of_the_reach(open_memory: Open) -> None:
    """What others write must not shift a score: it would tell that they wrote it."""
    mine = open_memory(tenant="mine")
    mine.add_many(["plan cancel", "plan refund refund", "order plan plan plan"])
    before = mine.search("plan refund").to_dict()["claims"]
    open_memory(tenant="other").add_many([f"plan refund {'plan ' * n}" for n in range(20)])
    after = mine.search("plan refund").to_dict()["claims"]
    assert after == before


@pytest.mark.parametrize(
    ("purposes", "classes"),
    [
        (["answer:task"], {"public", "internal"}),
        (["tool:mail"], {"public", "internal"}),
        (["tool:contact-lookup"], {"public", "internal", "pii"}),
        (["something:else"], {"public"}),
    ],
)
def test_classes_open_by_purpose(open_memory: Open, purposes: list[str], classes: set[str]) -> None:
    memory = open_memory(purposes=purposes)
    ids = {c: memory.add(f"plan {c}", boundary_class=c) for c in ("public", "internal", "pii", "secret")}
    assert {one.claim.boundary_class for one in memory.search("plan")} == classes
    assert {claim.boundary_class for claim in memory.list()} == classes
    for boundary_class, id_ in ids.items():
        if boundary_class in classes:
            assert memory.get(id_).boundary_class == boundary_class
        else:
            with pytest.raises(NotFoundError):
                memory.get(id_)


def test_a_token_does_not_learn_of_claims_in_classes_that_it_does_not_open(open_memory: Open) -> None:
    claim = open_memory().add("plan", boundary_class="internal")
    shut = open_memory(purposes=["something:else"])
    assert shut.search("plan", why=claim).why == "its class is not open to this purpose"
    token = open_memory(purposes=["something:else"], classes=["public"])
    assert token.search("plan", why=claim).why == token.search("plan", why="clm_none").why


def test_the_text_of_a_secret_is_kept_nowhere(open_memory: Open) -> None:
    memory = open_memory()
    memory.add("the launch codename is bluebird", boundary_class="secret")
    rows = memory.store.sql(
        f"SELECT text, normalized_text, provenance, content_hash FROM claims WHERE tenant = '{memory.who.tenant}'"
    )
    assert len(rows) == 1
    assert "bluebird" not in str(rows)


ACTIONS: dict[str, Callable[[Memory, str], Any]] = {
    "add": lambda memory, _: memory.add("new"),
    "search": lambda memory, _: memory.search("plan"),
    "activate": lambda memory, _: memory.activate("plan"),
    "get": lambda memory, claim: memory.get(claim),
    "list": lambda memory, _: list(memory.list()),
    "update": lambda memory, claim: memory.update(claim, confidence=0.1),
    "forget": lambda memory, claim: memory.forget(claim),
    "vote": lambda memory, claim: memory.vote(claim, "helpful"),
    "link": lambda memory, claim: memory.link(claim, claim),
    "export": lambda memory, _: list(memory.export()),
    "stats": lambda memory, _: memory.stats(),
    "rescan": lambda memory, _: memory.rescan(),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_asks_the_invariants(open_memory: Open, action: str) -> None:
    claim = open_memory().add("plan")
    rule = f"action != '{action}' || facts.mfa"
    denied = open_memory(policy={"boundary": {"invariants": {"mfa_needed": rule}}})
    with pytest.raises(BoundaryError, match="mfa_needed"):
        ACTIONS[action](denied, claim)
    allowed = open_memory(policy={"boundary": {"invariants": {"mfa_needed": rule}}}, facts={"mfa": True})
    ACTIONS[action](allowed, claim)
    unclear = open_memory(policy={"boundary": {"invariants": {"broken": "facts.level > 2"}}})
    with pytest.raises(BoundaryError, match="cannot be evaluated"):
        ACTIONS[action](unclear, claim)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tenant": ""},
        {"tenant": "x" * 201},
        {"project": ""},
        {"session": ""},
        {"purposes": []},
        {"purposes": ["*"]},
        {"purposes": ["tool:*"]},
        {"purposes": [""]},
    ],
)
def test_who_asks_must_say_so(open_memory: Open, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        open_memory(**wrong)


SURROGATES: dict[str, Callable[[Open], Any]] = {
    "tenant": lambda open_: open_(tenant="\ud800").search("plan"),
    "query": lambda open_: open_().search("plan \udfff"),
    "text": lambda open_: open_().add("plan \udfff"),
    "id": lambda open_: open_().get("\ud800"),
}


@pytest.mark.parametrize("place", SURROGATES)
def test_half_a_character_is_refused_or_taken_but_never_a_crash(open_memory: Open, place: str) -> None:
    with suppress(ScalepanError):
        SURROGATES[place](open_memory)
