"""Answering a question by its id: from Python, with a token, through a queue; and never by whoever asked."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scalepan.confidence import Answer, AskQueue, ConfidenceFactors, Gate
from scalepan.errors import BoundaryError, ConflictError, InputError, NotFoundError
from scalepan.serve import decisions, requests, tokens
from scalepan.serve.envelope import Caller, caller
from scalepan.serve.service import Service, Settings
from scalepan.serve.tools import as_request, checked, tool
from scalepan.store import Store

UNSURE = ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1)
FACTORS = {"search_result_count": 1, "search_max_score": 0.5, "source_count": 1}
DECIDE = {"action": "refund", "args": {"order": 17}, "factors": FACTORS}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "notes.duckdb") as opened:
        yield opened


def by(token: str, *, may_answer: bool, project: str | None = None) -> Caller:
    return Caller("r", "t", f"token {token}", f"token {token}", may_answer, project)


def test_from_python_by_id(store: Store) -> None:
    agent = Gate(store=store, actor="billing-agent", timeout_seconds=60)
    person = Gate(store=store)
    id_ = agent.open(UNSURE, "refund", {"order": 17}).id
    (waits,) = person.pending()
    assert (waits.id, waits.call, waits.asked_by) == (id_, "refund(order=17)", "billing-agent")
    for name in ("billing-agent", "Billing-Agent", " billing-agent"):
        with pytest.raises((BoundaryError, InputError)):
            person.answer(id_, True, actor=name)
    for name in ("", "x" * 300, "Aoi\x1b[2J"):
        with pytest.raises(InputError):
            person.answer(id_, True, actor=name)
    decided = person.answer(id_, True, actor="Aoi", why="mail ann@example.com")
    assert (decided.state, decided.decided_by, decided.why) == ("approved", "Aoi", "mail [pii:email]")
    with pytest.raises(ConflictError):
        person.answer(id_, False, actor="Bo")
    # An approval is no label; that is said later, and not by the agent.
    assert store.sql("SELECT * FROM labels") == []
    with pytest.raises(BoundaryError):
        person.label(id_, True, actor="billing-agent")
    assert person.label(id_, False, actor="Aoi", why="paid twice").label == "wrong"
    assert store.sql("SELECT target_id, label, actor FROM labels") == [[id_, "wrong", "Aoi"]]


def test_two_people_whose_names_are_redacted_are_two(store: Store) -> None:
    agent = Gate(store=store, actor="ann@example.com", timeout_seconds=60)
    id_ = agent.open(UNSURE, "refund").id
    with pytest.raises(BoundaryError):
        agent.answer(id_, True, actor="ann@example.com")
    assert agent.answer(id_, True, actor="bo@example.com").state == "approved"
    assert "example.com" not in str(store.sql("SELECT * FROM decisions"))


@pytest.mark.parametrize("name", ["agent", "Agent", " ＡＧＥＮＴ "])
@pytest.mark.parametrize("kept", [True, False])
def test_a_handler_does_not_answer_for_the_agent(store: Store, name: str, kept: bool) -> None:
    gate = Gate(actor="agent", ask=lambda question: Answer(True, name), store=store if kept else None)
    verdict = gate.check(UNSURE, "refund")
    assert (verdict.allowed, verdict.why) == (False, "agent asked, and cannot answer")


def test_with_a_token(store: Store) -> None:
    service = Service(Settings(tenant="acme", project="billing"), store)
    agent, person = by("aaaa", may_answer=False), by("bbbb", may_answer=True)
    both = by("cccc", may_answer=True)
    billing, support = (by("bbbb", may_answer=True, project=name) for name in ("billing", "support"))
    yes = as_request({"approve": True, "why": "fine", "actor": "Aoi"}, requests.AnswerRequest)
    waits = decisions.decide(service, checked(tool("decide"), DECIDE), agent)
    assert (waits.allowed, waits.state, waits.call) == (False, "pending", "refund(order=17)")
    assert waits.how_to_answer is not None
    assert f"'scalepan confidence answer {waits.decision_id} yes --store notes.duckdb --tenant acme'" in (
        waits.how_to_answer
    )
    assert str(store.path.parent) not in waits.how_to_answer  # where files lie is nothing to a caller
    for refused in (agent, caller()):
        with pytest.raises(BoundaryError, match="needs a token that may"):
            decisions.answer_decision(service, waits.decision_id, yes, refused)
        with pytest.raises(BoundaryError, match="needs a token that may"):
            decisions.waiting(service, refused)
    for id_ in ("dec_none", waits.decision_id):
        with pytest.raises(NotFoundError):  # of another project
            decisions.answer_decision(service, id_, yes, support)
    assert [one.decision_id for one in decisions.waiting(service, billing)] == [waits.decision_id]
    assert decisions.waiting(service, support) == []
    answer = decisions.answer_decision(service, waits.decision_id, yes, billing)
    assert (answer.allowed, answer.decided_by, answer.why) == (True, "Aoi (token bbbb)", "fine")
    # One that may answer does not answer what it asked itself, under whatever name.
    own = decisions.decide(service, checked(tool("decide"), DECIDE), both)
    with pytest.raises(BoundaryError, match="was asked by token cccc"):
        decisions.answer_decision(service, own.decision_id, yes, both)
    assert decisions.answer_decision(service, own.decision_id, yes, person).allowed
    with pytest.raises(NotFoundError):
        decisions.answer_decision(Service(Settings(tenant="other"), store), own.decision_id, yes, person)


def test_the_whole_command_for_a_client_of_this_user(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    with Store(folder / "notes.duckdb") as spaced:
        for one, path in ((store, str(store.path)), (spaced, f"'{spaced.path}'")):
            found = decisions.decide(Service(Settings(), one), checked(tool("decide"), DECIDE), caller(client="cursor"))
            assert found.how_to_answer is not None
            assert f"scalepan confidence answer {found.decision_id} yes --store {path}" in found.how_to_answer


@pytest.mark.parametrize("name", ["a b", "x)", "", "é", "a" * 65, "a\x1b"])
def test_names_of_arguments_have_a_grammar(name: str) -> None:
    with pytest.raises(InputError, match="args"):
        checked(tool("decide"), {**DECIDE, "args": {name: 1}})


@pytest.mark.parametrize("id_", ["x" * 300, "a b", "dec_\x1b[2J"])
def test_ids_have_a_grammar(store: Store, id_: str) -> None:
    with pytest.raises(InputError):
        checked(tool("decide"), {"decision": id_})
    with pytest.raises(InputError):
        decisions.decided(Service(Settings(), store), id_, caller())


@pytest.mark.parametrize("name", ["tenant", "project", "session"])
@pytest.mark.parametrize("given", ["", "a\x1b[2J", "x" * 201, "a\nb", "\u202eabc", " a"])
def test_names_of_whose_memory_it_is_have_a_grammar_at_every_door(store: Store, name: str, given: str) -> None:
    whose: dict[str, Any] = {name: given}
    with pytest.raises(InputError, match=name):
        Settings(**whose)
    if name != "session":
        with pytest.raises(InputError, match=name):
            tokens.create(store, **{"tenant": "acme", **whose})
        with pytest.raises(InputError, match=name):
            Gate(**whose)
    whose[name] = "株式会社アオイ"
    assert Settings(**whose) is not None


def test_through_a_queue_by_id_from_another_thread() -> None:
    queue = AskQueue()
    gate = Gate(ask=queue, timeout_seconds=30)
    seen: list[str] = []

    def person() -> None:
        while not (waiting := queue.waiting):
            time.sleep(0.01)
        seen.append(str(waiting[0]))
        assert not queue.answer("dec_other", True)
        assert queue.answer(waiting[0].id, Answer(True, "Cy"))

    thread = threading.Thread(target=person)
    thread.start()
    verdict = gate.check(UNSURE, "refund", {"order": 17})
    thread.join()
    assert (verdict.allowed, verdict.decided_by) == (True, "Cy")
    assert seen == ["Approve refund(order=17)? The agent is 52 % confident; below 70 % it must ask."]
    assert queue.waiting == []


def test_through_a_queue_by_id_in_an_event_loop() -> None:
    async def main() -> list[bool]:
        queue = AskQueue()
        gate = Gate(ask=queue, timeout_seconds=30)
        checks = [asyncio.create_task(gate.acheck(UNSURE, f"refund {number}")) for number in range(3)]
        found = {(await queue.questions.get()).action: "" for _ in range(3)}
        found = {question.action: question.id for question in queue.waiting}
        assert queue.answer(found["refund 1"], True)
        assert not queue.answer(found["refund 1"], False)  # it is answered
        assert queue.answer(found["refund 2"], Answer(False))
        assert queue.answer(found["refund 0"], Answer(False))
        return [(await check).allowed for check in checks]

    assert asyncio.run(main()) == [False, True, False]


def test_what_goes_out_acts_on_no_terminal(store: Store) -> None:
    service = Service(Settings(metadata_only=True), store)
    evil = "x\x1b]0;owned\x07\x9b31m\u202e"
    request: dict[str, Any] = {**DECIDE, "action": evil, "args": {"note": evil, "list": [evil]}}
    found = decisions.decide(service, checked(tool("decide"), request), caller(client=evil))
    for text in (found.question, found.call, found.why, found.how_to_answer):
        assert text is not None
        assert text.isprintable(), text
    kept = str(store.sql("SELECT body FROM decisions"))
    assert kept.isprintable()
