"""The circle in one process: what is recalled, how sure, who is asked, and what is learned from how it ended."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import scalepan
from scalepan.confidence import Answer, Question
from scalepan.errors import InputError, PolicyError
from scalepan.loop import Session
from scalepan.memory import Memory
from scalepan.receipts import explain
from scalepan.store.policies import SetPolicy
from scalepan.trace import ReasoningTrace
from tests.loop.desk import KNOWN, QUERY, WORDS_ONLY, recover


def test_the_whole_circle(memory: Memory) -> None:
    questions: list[Question] = []

    def person(question: Question) -> Answer:
        questions.append(question)
        return Answer(True, "Ren", "a known customer")

    with scalepan.session(QUERY, memory, domain="customer_service", ask=person) as s:
        assert [one.text for one in s.recalled] == [KNOWN]
        s.use(s.recalled[0])
        recover(s)
        score = s.answer("The annual plan of customer 17 is order L-17.", self_confidence=0.9)
        assert s.decision is not None
        # (.6 x .76 + .4 x .5 + .3 x .9 + .1 x coverage) / 1.4, then x .9 for the tool that failed: between .4 and .7
        assert s.decision.level == "confirm"
        verdict = s.may("cancel order L-17")
        assert (verdict.allowed, verdict.decided_by) == (True, "Ren")
        s.call("cancel_order", lambda: "cancelled")
        s.succeed("order L-17 is cancelled")
    assert len(questions) == 1
    report = s.report
    assert (report.ending, report.recalled, report.used) == ("succeeded", 1, [s.recalled[0].id])
    assert report.gate.startswith("share")
    assert [(one.signal, one.vote.claim) for one in report.votes] == [("helpful", s.recalled[0].id)]
    (lesson,) = s.offered
    assert "find_order failed (LookupError: no such customer); what helped: the archive has it" in lesson.text
    assert lesson.confidence == score.value
    assert (lesson.provenance.source, lesson.provenance.actor) == (s.trace_id, "Aoi")
    assert s.id in (lesson.provenance.note or "")
    for id_ in (s.id, s.context, verdict.id, report.votes[0].vote.id, s.value_id):
        assert str(id_) in str(report)
    for id_ in (s.context, verdict.id, report.votes[0].vote.id, s.value_id):
        assert explain(memory, id_).status == "equal"
    plain = msgspec.json.decode(msgspec.json.encode(report.to_dict()))
    assert (plain["asked"][0]["allowed"], plain["votes"][0]["signal"]) == (True, "helpful")
    assert s.trace is not None
    assert s.trace.metadata.quality_score == s.value.value
    assert ReasoningTrace.from_json(s.trace.to_json()) == s.trace


def end(s: Session, how: str) -> None:
    match how:
        case "succeed":
            s.succeed()
        case "fail":
            s.fail("wrong plan")
        case "raise":
            raise LookupError("gone")
        case "interrupt":
            raise KeyboardInterrupt
        case "succeed, then raise":
            s.succeed()
            raise LookupError("printing failed")


@pytest.mark.parametrize(
    ("how", "ending", "signals", "utility", "confidence"),
    [
        ("succeed", "succeeded", ["helpful"], 0.1, 0.95),
        ("fail", "failed", ["harmful"], -0.2, 0.8),
        ("raise", "failed", ["harmful"], -0.2, 0.8),
        ("nothing", "unknown", [], 0.0, 0.9),
        ("interrupt", "unknown", [], 0.0, 0.9),
        ("succeed, then raise", "succeeded", ["helpful"], 0.1, 0.95),
    ],
)
def test_votes_follow_the_ending(
    memory: Memory, how: str, ending: str, signals: list[str], utility: float, confidence: float
) -> None:
    other = memory.add("An annual plan renews in spring")
    try:
        with Session(QUERY, memory) as s:
            (used,) = (one for one in s.recalled if one.text == KNOWN)
            s.use(used, used.id)
            end(s, how)
    except (LookupError, KeyboardInterrupt):
        assert "raise" in how or how == "interrupt"
    assert (s.report.ending, [one.signal for one in s.votes]) == (ending, signals)
    claim = memory.get(used.id)
    assert claim.utility == pytest.approx(utility, abs=1e-6)
    assert claim.confidence == pytest.approx(confidence, abs=1e-6)
    assert memory.get(other).utility == 0
    rows = memory.store.sql("SELECT context_id, signal FROM feedbacks")
    assert rows == [[s.context, signal] for signal in signals]
    for ballot in s.votes:
        assert memory.undo_vote(ballot.vote.id).utility == pytest.approx(0.0, abs=1e-6)


def test_a_claim_that_the_answer_names_is_used_and_others_are_not(memory: Memory) -> None:
    memory.add("An annual plan renews in spring")
    with Session(QUERY, memory) as s:
        s.answer(f"Cancel it with cancel_order [{s.recalled[0].id}].")
    assert s.report.used == [s.recalled[0].id]


def test_a_claim_that_is_gone_gets_no_vote_and_a_note(memory: Memory) -> None:
    with Session(QUERY, memory) as s:
        s.use("clm_gone")
        s.succeed()
    assert s.votes == []
    assert "clm_gone got no vote: no claim 'clm_gone' here" in s.notes


@pytest.mark.parametrize(
    ("query", "tools", "answer", "stated", "level"),
    [
        (
            "Open the harbor",
            [],
            None,
            None,
            "escalate",
        ),  # nothing recalled, nothing done: a search step without results
        ("Open the harbor", [], "It is open.", None, "escalate"),  # an answer out of the air changes nothing
        (QUERY, [], None, None, "notify"),  # one claim: S 1 x (.6 + .4 x .5) x .95 = .76
        (QUERY, [True], None, None, "notify"),  # .6 x .76 + .4 x 1 = .856
        (QUERY, [True], KNOWN, 1.0, "notify"),  # (.856 + .3 + .1 x coverage) / (1.3 + .1)
        (QUERY, [False, False], None, None, "escalate"),  # .6 x .76 x .8
    ],
)
def test_how_sure(
    memory: Memory, query: str, tools: list[bool], answer: str | None, stated: float | None, level: str
) -> None:
    with Session(query, memory, ask=lambda _: False) as s:
        for ok in tools:
            with s.tool("find_order") as call:
                call.output = "order L-17"
                if not ok:
                    call.fail("timeout")
        if answer is not None:
            score = s.answer(answer, self_confidence=stated)
            assert (s.decision and s.decision.level) == level
            assert s.score is score
        assert s.may("cancel it").decision.level == level


def test_sources_that_were_not_compared_do_not_disagree(memory: Memory) -> None:
    with Session(QUERY, memory) as s:
        s.observed("order L-17 is active")
        assert (s.factors().source_count, s.factors().source_agreement) == (1, 0.0)
    assert sum("not compared" in note for note in s.notes) == 1


def test_no_is_no_and_the_store_keeps_it(memory: Memory) -> None:
    with Session("Open the harbor", memory, ask=lambda _: Answer(False, "Ren", "not today")) as s:
        verdict = s.may("open the harbor")
    assert not verdict
    assert verdict.why == "not today"
    assert memory.store.sql("SELECT id, body->>'state' FROM decisions") == [[verdict.id, "denied"]]
    assert s.trace is not None
    assert s.trace.steps[0].content == "Asked whether to open the harbor: no, not today"


@pytest.mark.parametrize("ending", ["succeeded", "failed", "unknown"])
def test_only_a_trace_that_passes_the_gate_offers_and_nothing_is_kept_unasked(memory: Memory, ending: str) -> None:
    before = memory.stats().claims
    with Session(QUERY, memory, domain="customer_service") as s:
        recover(s, "mail ann@example.com, password=hunter2")
        s.answer("It is order L-17.", self_confidence=1.0)
        if ending == "succeeded":
            s.succeed()
        elif ending == "failed":
            s.fail("nobody answered the mail")
    assert len(s.offered) == (1 if ending == "succeeded" else 0)
    assert memory.stats().claims == before
    for claim in s.offered:
        assert "mail [pii:email], password=[secret:password]" in claim.text
    assert [one.created for one in s.keep()] == [True] * len(s.offered)
    assert memory.stats().claims == before + len(s.offered)


def test_keep_makes_the_next_session_recall_what_this_one_learned(tmp_path: Path) -> None:
    path = tmp_path / "new.duckdb"
    with Session(QUERY, path, policy=WORDS_ONLY, domain="customer_service", keep=True) as first:
        recover(first)
        first.answer("It is order L-17.", self_confidence=1.0)
        first.succeed()
    with Session("Cancel the annual plan of customer 23", path, policy=WORDS_ONLY) as second:
        assert [one.id for one in second.recalled] == [one.id for one in first.kept]
        assert second.recalled[0].claim.provenance.source == first.trace_id


def test_a_refusal_is_a_lesson_but_silence_is_none(memory: Memory) -> None:
    hasty = {**WORDS_ONLY, "confidence": {"gate": {"timeout_seconds": 0.01}}}
    refused = "A person refused to cancel order L-17: wrong customer"
    with Memory(memory.store.path, policy=hasty) as quiet:
        for asked, answer, count in ((memory, Answer(False, "Ren", "wrong customer"), 1), (quiet, None, 0)):
            with Session(QUERY, asked, domain="customer_service", ask=lambda _, said=answer: said) as s:  # type: ignore[misc]
                recover(s)
                assert not s.may("cancel order L-17")
                s.answer("It stays.", self_confidence=1.0)
                s.succeed()
            assert [refused in claim.text for claim in s.offered] == [False] + [True] * count
    assert [one.verdict.decided_by for one in s.asked] == ["nobody"]


def test_the_gate_and_the_formulas_follow_the_stores_policy(memory: Memory) -> None:
    yaml = "confidence: {thresholds: {silent: 0.7, notify: 0.6}}\nvalue: {gate: 0.0}\n"
    memory.store.call("store.set_policy", SetPolicy(yaml, "default", "desk"))
    with Session(QUERY, memory) as s:
        assert s.may("look").decision.level == "silent"
        s.thought("That was easy")
        s.succeed("done")
    assert [claim.text for claim in s.offered] == [f"{QUERY}: done"]


# Steps


def test_what_a_tool_does_is_recorded_and_its_error_passes_as_it_is(memory: Memory) -> None:
    error = StopIteration("mine")

    def raises() -> None:
        raise error

    with Session(QUERY, memory) as s:
        assert s.call("add", lambda a, b: a + b, 1, b=2) == 3
        with pytest.raises(StopIteration) as caught:
            s.call("next", raises)
        assert caught.value is error
        with s.tool("look", {"at": object(), 3: {1, 2}}) as call:
            call.output = object()
    assert s.trace is not None
    add, next_, look = s.trace.steps
    assert (add.input, add.output_summary) == ({"args": [1], "b": 2}, "3")
    assert (next_.output_summary, next_.tool and next_.tool.name) == ("failed: StopIteration: mine", "next")
    assert "object" in str(look.output_summary)
    assert all(step.latency_ms is not None and step.latency_ms >= 0 for step in s.trace.steps)
    msgspec.json.encode(s.trace.to_dict())


class Unreadable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no str")


def test_what_cannot_be_shown_does_not_stop_the_agent(memory: Memory) -> None:
    given, error = Unreadable(), UnreadableError()

    def raises() -> None:
        raise error

    s = Session(QUERY, memory)

    def work() -> None:
        with s:
            assert s.call("same", lambda one: one, given) is given
            assert s.call("many", lambda: {"a": {given}}) == {"a": {given}}
            with pytest.raises(UnreadableError) as caught:
                s.call("fails", raises)
            assert caught.value is error
            raise error

    with pytest.raises(UnreadableError) as caught:
        work()
    assert caught.value is error
    assert s.trace is not None
    same, many, fails_ = s.trace.steps
    assert (same.input, same.output_summary) == ({"args": ["Unreadable"]}, "Unreadable")
    assert many.output_summary == '{"a":["Unreadable"]}'
    assert fails_.output_summary == "failed: UnreadableError"
    assert (s.report.ending, s.report.why) == ("failed", "UnreadableError")


def test_steps_from_many_threads(memory: Memory) -> None:
    with Session(QUERY, memory) as s:

        def work() -> None:
            for number in range(50):
                s.call("count", int, number)
                s.thought(str(number))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert s.trace is not None
    assert [step.step_id for step in s.trace.steps] == list(range(800))
    assert s.factors().tool_execution_count == 400


def test_async(memory: Memory) -> None:
    async def person(question: Question) -> Answer:
        await asyncio.sleep(0)
        return Answer(False, "Ren", "not today")

    async def work() -> Session:
        async with Session("Open the harbor", memory, ask=person) as s:
            with s.tool("look") as call:
                call.output = await asyncio.sleep(0, "closed")
            with s.tool("knock") as call:
                call.fail("nobody there")
            assert (await s.amay("open the harbor")).why == "not today"
            s.fail("closed")
        return s

    assert asyncio.run(work()).report.ending == "failed"


def twice(s: Session) -> None:
    with s:
        s.thought("once")
    with s:
        s.thought("twice")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda memory: Session("  ", memory), InputError, "query: the query is empty"),
        (
            lambda memory: Session(QUERY, memory, policy=WORDS_ONLY),
            InputError,
            "policy: the memory already has a policy",
        ),
        (lambda memory: Session(QUERY, policy={"value": {"gate": 7}}), PolicyError, "value.gate: 7"),
        (lambda memory: Session(QUERY, memory).answer("x", self_confidence=1.7), InputError, "self_confidence: 1.7"),
        (lambda memory: Session(QUERY, memory).may("x"), InputError, "session: this session has not started"),
        (lambda memory: twice(Session(QUERY, memory)), InputError, "session: this session has already started"),
    ],
)
def test_mistakes_of_the_caller_are_errors(
    memory: Memory, make: Callable[[Memory], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(memory)
