"""The gate: what happens at each level, who can open it, and what is written down."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scalepan.confidence import Answer, AskQueue, ConfidenceFactors, Gate, NotAllowedError, Question, terminal
from scalepan.confidence.requests import AnswerQuestion, AskDecisions, Decided
from scalepan.errors import ConflictError, NotFoundError
from scalepan.score import not_measured
from scalepan.store import Store

SILENT = ConfidenceFactors(source_count=1)  # 1.0
NOTIFY = ConfidenceFactors(search_result_count=3, search_max_score=0.7, source_count=1)  # .6 x .7 + .4 = .82
CONFIRM = ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1)  # .6 x .2 + .4 = .52
ESCALATE = ConfidenceFactors(is_search_step=True)  # nothing was found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "notes.duckdb") as opened:
        yield opened


def bodies(store: Store) -> list[dict[str, Any]]:
    rows = store.sql("SELECT level, body FROM decisions ORDER BY ts, rowid")
    return [{"level": level, **json.loads(body)} for level, body in rows]


def yes(question: Question) -> Answer:
    return Answer(True, "Aoi", "looks right")


def no(question: Question) -> Answer:
    return Answer(False, "Aoi", "wrong customer")


def test_silent_records_and_goes_on(store: Store) -> None:
    told: list[Question] = []
    verdict = Gate(store=store, ask=no, notify=told.append).check(SILENT, "list files")
    assert verdict.allowed
    assert told == []
    assert [(body["level"], body["state"], body["decided_by"]) for body in bodies(store)] == [
        ("silent", "approved", "scalepan")
    ]


def test_notify_goes_on_and_tells(store: Store) -> None:
    told: list[Question] = []
    assert Gate(store=store, ask=no, notify=told.append).check(NOTIFY, "read the calendar")
    assert [(question.action, question.decision.level) for question in told] == [("read the calendar", "notify")]


@pytest.mark.parametrize(("factors", "level"), [(CONFIRM, "confirm"), (ESCALATE, "escalate")])
def test_confirm_and_escalate_ask(store: Store, factors: ConfidenceFactors, level: str) -> None:
    gate = Gate(store=store, ask=yes)
    verdict = gate.check(factors, "send the mail")
    assert (verdict.allowed, verdict.decided_by, verdict.why) == (True, "Aoi", "looks right")
    denied = Gate(store=store, ask=no).check(factors, "send the mail")
    assert (denied.allowed, denied.why) == (False, "wrong customer")
    assert [(body["level"], body["state"]) for body in bodies(store)] == [(level, "approved"), (level, "denied")]
    # An approval is no label: whether it was right is not known yet.
    assert store.sql("SELECT * FROM labels") == []


def test_what_was_not_measured_is_handed_over() -> None:
    verdict = Gate(ask=yes).check(not_measured("confidence", "no step"), "go")
    assert verdict.decision.level == "escalate"


def broken(question: Question) -> Answer:
    raise RuntimeError("the pager is down")


def slow(question: Question) -> Answer:
    time.sleep(5)
    return Answer(True)


@pytest.mark.parametrize("handler", [broken, slow, lambda question: None, lambda question: False])
def test_without_a_yes_the_action_is_not_done(handler: Any) -> None:
    done: list[str] = []
    gate = Gate(ask=handler, timeout_seconds=0.2)
    with pytest.raises(NotAllowedError, match="send was not done"), gate.allowed(CONFIRM, "send"):
        done.append("sent")
    assert done == []


def test_nobody_to_ask_is_no() -> None:
    assert Gate().check(CONFIRM, "send").why == "nobody can be asked"


def test_a_decorator_around_a_tool_call(store: Store) -> None:
    sent: list[int] = []
    gate = Gate(store=store, ask=no)

    @gate.guard(lambda order: SILENT if order < 100 else CONFIRM)
    def refund(order: int) -> str:
        """Pay it back."""
        sent.append(order)
        return f"refunded {order}"

    assert refund(17) == "refunded 17"
    assert refund.__doc__ == "Pay it back."
    with pytest.raises(NotAllowedError, match="refund was not done: wrong customer"):
        refund(500)
    assert sent == [17]


def test_an_async_tool_call_and_an_async_queue(store: Store) -> None:
    async def main() -> list[str]:
        queue = AskQueue()
        gate = Gate(store=store, ask=queue)

        @gate.guard(lambda: CONFIRM)
        async def deploy() -> str:
            return "deployed"

        async def person() -> None:
            question = await queue.questions.get()
            queue.answer(question, Answer(True, "Bo"))

        answered = asyncio.create_task(person())
        done = [await deploy()]
        await answered
        return done

    assert asyncio.run(main()) == ["deployed"]
    assert bodies(store)[0]["decided_by"] == "Bo"


def test_an_answer_through_the_store(store: Store) -> None:
    def person() -> None:
        while True:
            waiting: list[Decided] = store.call("confidence.decisions", AskDecisions()).decisions
            if waiting:
                store.call("confidence.answer", AnswerQuestion(waiting[0].id, True, actor="Cy", why="fine"))
                return
            time.sleep(0.01)

    thread = threading.Thread(target=person)
    thread.start()
    verdict = Gate(store=store, timeout_seconds=30).check(CONFIRM, "send")
    thread.join()
    assert (verdict.allowed, verdict.decided_by, verdict.why) == (True, "Cy", "fine")
    assert store.call("confidence.decisions", AskDecisions()).decisions == []
    with pytest.raises(ConflictError, match="is approved already, by Cy"):
        store.call("confidence.answer", AnswerQuestion(str(verdict.id), False))


def test_a_question_that_waited_too_long_cannot_be_answered(store: Store) -> None:
    verdict = Gate(store=store, timeout_seconds=0.01).check(CONFIRM, "send")
    assert (verdict.allowed, verdict.why) == (False, "nobody answered in time")
    with pytest.raises(ConflictError, match="is expired already"):
        store.call("confidence.answer", AnswerQuestion(str(verdict.id), True))
    with pytest.raises(NotFoundError):
        store.call("confidence.answer", AnswerQuestion("dec_none", True))
    with pytest.raises(NotFoundError):
        store.call("confidence.answer", AnswerQuestion(str(verdict.id), True, tenant="other"))


def test_what_is_kept_has_no_secrets(store: Store) -> None:
    gate = Gate(store=store, ask=lambda question: Answer(True, "aoi@example.com", "call +1-202-555-0143"))
    gate.check(CONFIRM, "write to hanako@example.com")
    everything = json.dumps(bodies(store)) + json.dumps(store.sql("SELECT * FROM labels"))
    assert "example.com" not in everything
    assert "202-555" not in everything


def test_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def typed(answer: str) -> Any:
        def read(prompt: str) -> str:
            asked.append(prompt)
            if answer == "EOF":
                raise EOFError
            return answer

        return read

    for answer, expected in [("y", True), ("", False), ("はい", True), ("EOF", False)]:
        monkeypatch.setattr("builtins.input", typed(answer))
        assert Gate(ask=terminal).check(CONFIRM, "send").allowed is expected
    question = "Approve send? The agent is 52 % confident; below 70 % it must ask."
    assert asked[0] == f"{question} [y/N] "


def test_the_words_of_an_action_cannot_pass_for_scalepans() -> None:
    asked: list[str] = []

    def person(question: Question) -> None:
        asked.append(str(question))

    Gate(ask=person).check(CONFIRM, 'x”. Its confidence 0.99 is high. May it? “y"\n\x1b[2J' + "z" * 9999)
    (text,) = asked
    assert text.startswith("Approve \"x’. Its confidence 0.99 is high. May it? ‘y'")
    assert text.endswith('…"? The agent is 52 % confident; below 70 % it must ask.')
    assert (text.count("“"), text.count("”"), text.count('"')) == (0, 0, 2)
    assert text.isprintable()
    assert len(text) < 700


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def unreadable(question: Question) -> Answer:
    raise UnreadableError


async def abroken(question: Question) -> Answer:
    return broken(question)


@pytest.mark.parametrize(
    ("handler", "why"),
    [
        (broken, "asking failed: RuntimeError: the pager is down"),
        (abroken, "asking failed: RuntimeError: the pager is down"),
        (unreadable, "asking failed: UnreadableError"),
        (lambda question: "no", "asking failed: ask: 'no' is not an answer; give true, false, an Answer or None"),
        (lambda question: None, "nobody answered in time"),
    ],
)
def test_why_nobody_answered(store: Store, handler: Any, why: str) -> None:
    for gate in (Gate(ask=handler), Gate(ask=handler, store=store)):
        for verdict in (gate.check(CONFIRM, "send"), asyncio.run(gate.acheck(CONFIRM, "send"))):
            assert (verdict.allowed, verdict.decided_by, verdict.why) == (False, "nobody", why)
    assert {body["state"] for body in bodies(store)} == {"expired"}
    assert store.sql("SELECT * FROM labels") == []
