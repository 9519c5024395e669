"""What the gate needs beyond the score: evidence, rules, names (contract confidence.24, confidence.25)."""

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.confidence import (
    Answer,
    ConfidenceAggregator,
    ConfidenceCalculator,
    ConfidenceFactors,
    Gate,
    NotAllowedError,
    Question,
)
from scalepan.confidence.evidence import LEVELS
from scalepan.errors import PolicyError
from scalepan.memory import Memory
from scalepan.policy import Policy, load_policy
from scalepan.receipts import explain
from scalepan.score import Part, Score
from scalepan.store import Store
from tests.confidence.spec import some_factors

OWN_WORD = ConfidenceFactors(llm_self_confidence=0.95)  # 0.979, which is SILENT by the contract
SURE = ConfidenceFactors(search_result_count=5, search_max_score=0.95, source_count=2, source_agreement=0.95)


def with_gate(**gate: Any) -> Policy:
    return load_policy(overrides={"confidence": {"gate": gate}})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "notes.duckdb") as opened:
        yield opened


def asked_by(gate_policy: Policy, action: str, args: Any = None, factors: Any = SURE) -> list[Question]:
    """The questions that come of one call; none where the gate goes on."""
    asked: list[Question] = []

    def person(question: Question) -> Answer:
        asked.append(question)
        return Answer(False)

    Gate(gate_policy, ask=person).check(factors, action, args)
    return asked


def test_the_agents_own_word_is_no_evidence() -> None:
    """The gate went SILENT with 0.979 on `llm_self_confidence=0.95` and "refund 9999 euros"."""
    calculator = ConfidenceCalculator()
    assert calculator.decide_action(calculator.calculate(OWN_WORD)).level == "silent"  # the contract's level stays
    verdict = Gate(ask=lambda question: False).check(OWN_WORD, "refund 9999 euros")
    assert not verdict.allowed
    assert float(verdict.score) == 0.979
    assert verdict.decision.level == "confirm"
    assert verdict.decision.reason == (
        "confidence 0.979 reaches silent 0.9, but it rests on the agent's own word alone: "
        "no search result, no tool result, no source"
    )
    (question,) = asked_by(Policy(), "refund 9999 euros", factors=OWN_WORD)
    assert str(question) == (
        'Approve "refund 9999 euros"? The agent is 97.9 % confident, but only by its own word: '
        "no search result, tool result or source."
    )
    assert Gate(with_gate(evidence="optional")).check(OWN_WORD, "refund 9999 euros").allowed


@pytest.mark.parametrize(
    ("more", "goes_on"),
    [
        ({"search_result_count": 1, "search_max_score": 0.99}, True),
        ({"tool_execution_count": 1, "tool_success_count": 1}, True),
        ({"source_count": 1}, True),
        ({}, False),
        ({"query_coverage": 1.0}, False),  # a model's opinion
        ({"source_agreement": 1.0}, False),  # of no sources
        ({"search_max_score": 0.99}, False),  # of no results
        ({"search_result_count": 1}, False),  # one that has nothing to do with it
        ({"search_result_count": 9, "search_max_score": 0.05, "search_avg_score": 0.05}, False),
        ({"tool_success_rate": 1.0}, False),  # of no tool
    ],
)
def test_what_counts_as_evidence(more: dict[str, Any], goes_on: bool) -> None:
    factors = ConfidenceFactors(llm_self_confidence=0.95, **more)
    assert Gate().check(factors, "send").allowed is goes_on
    # The same by the score alone, and by a plan that is made of it.
    score = ConfidenceCalculator().calculate(factors)
    assert Gate().check(score, "send").allowed is goes_on
    assert Gate().check(ConfidenceAggregator().aggregate([score]), "send").allowed is goes_on


def test_a_score_of_somebody_elses() -> None:
    own = Score("confidence", 0.95, parts=(Part("llm_self_eval", 0.95, 1.0),), base=0.95)
    measured = Score("confidence", 0.95, parts=(Part("verifier", 0.95, 1.0),), base=0.95)
    default = Score("confidence", 0.95, parts=(Part("verifier", 0.95, 1.0, "default"),), base=0.95)
    bare = Score("confidence", 0.95)
    assert [Gate().check(score, "send").allowed for score in (own, measured, default, bare)] == [
        *(False, True, False, False)
    ]


REFUNDS = with_gate(rules=[{"when": "action == 'refund' && args.amount > 500", "then": "confirm"}])


@pytest.mark.parametrize(
    ("action", "args", "asks"),
    [
        ("refund", {"amount": 501}, True),
        ("refund", {"amount": 500}, False),
        ("refund", {"amount": Decimal("500.01")}, True),
        ("refund", {"amount": 9 * 10**400}, True),
        ("refund", {"amount": math.inf}, True),
        # An agent may write the name as it likes.
        ("Refund", {"amount": 501}, True),
        ("REFUND", {"amount": 500}, False),
        (" refund\u200b", {"amount": 501}, True),
        ("ｒｅｆｕｎｄ", {"amount": 501}, True),
        ("mail", {"amount": 501}, False),
        ("mail", {}, False),
        # What cannot be evaluated asks.
        ("refund", {}, True),
        ("refund", None, True),
        ("refund", {"amount": "9999"}, True),
        ("refund", {"amount": None}, True),
        ("refund", {"amount": math.nan}, True),
        ("refund", {"amount": True}, True),
        ("refund", {"amount": [9999]}, True),
        ("refund", {"amount": object()}, True),
    ],
)
def test_a_rule_over_the_action_and_its_arguments(action: str, args: Any, asks: bool) -> None:
    assert bool(asked_by(REFUNDS, action, args)) is asks


@pytest.mark.parametrize(
    ("rule", "action", "asks"),
    [
        ("action in ['refund', 'pay']", "Pay", True),
        ("'delete' in action", "DELETE the draft", True),
        ("action != 'read'", "write", True),
        ("action != 'read'", "READ", True),  # nobody said that READ is harmless
        ("action != 'read'", "read", False),
        ("!(action == 'read')", "READ", True),
        ("action == 5", "refund", False),
    ],
)
def test_a_rule_holds_for_the_action_as_it_is_written_and_as_it_reads(rule: str, action: str, asks: bool) -> None:
    assert bool(asked_by(with_gate(rules=[{"when": rule}]), action, {})) is asks


@pytest.mark.parametrize("said", ["no", "yes", 1, None, "false"])
def test_an_answer_that_is_neither_yes_nor_no_is_no(said: Any) -> None:
    """`Answer("no")` was a yes: a text that is not empty is true."""
    low = ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1)
    verdict = Gate(ask=lambda question: Answer(said)).check(low, "send")
    assert not verdict.allowed
    assert "is not an answer" in verdict.why


def test_a_name_that_the_call_does_not_have_asks() -> None:
    """Elsewhere a name that is no fact is false; here that would let the action through."""
    policy = with_gate(rules=[{"when": "args.urgent == true"}])
    assert asked_by(policy, "mail", {"urgent": True})
    assert not asked_by(policy, "mail", {"urgent": False})
    (question,) = asked_by(policy, "mail", {"to": "Bo"})
    assert question.because == "A rule of the policy could not be evaluated: args.urgent == true."


def test_rules_reach_into_arguments_and_only_raise() -> None:
    policy = with_gate(
        rules=[
            {"when": "args.order.lines.count >= 3", "then": "escalate"},
            {"when": "'delete' in action", "then": "notify"},
        ]
    )
    (question,) = asked_by(policy, "ship", {"order": {"lines": {"count": 3}}})
    assert question.decision.level == "escalate"
    told: list[Question] = []
    assert Gate(policy, notify=told.append).check(SURE, "delete draft", {"order": {"lines": {"count": 1}}})
    assert [one.decision.level for one in told] == ["notify"]
    low = ConfidenceFactors(is_search_step=True)
    (question,) = asked_by(policy, "delete draft", {"order": {"lines": {"count": 1}}}, low)
    assert question.decision.level == "escalate"  # by the score; the rule does not lower it


@pytest.mark.parametrize("action", ["refund", "Refund", "refund order 17", "ＲＥＦＵＮＤ", "re\u200bfund"])
def test_what_always_asks(action: str) -> None:
    (question,) = asked_by(with_gate(always_ask=["refund", "drop table"]), action)
    assert question.because == "The policy always asks for refund."


def test_what_does_not_always_ask() -> None:
    assert not asked_by(with_gate(always_ask=["refund", "drop table"]), "drop the mail about refunds")


@pytest.mark.parametrize("rule", ["amount > 500", "args.amount >", "", "action ==", "x" * 2000])
def test_a_rule_that_cannot_be_read_is_an_error_of_the_policy(rule: str) -> None:
    with pytest.raises(PolicyError, match=r"confidence\.gate\.rules\[0\]"):
        with_gate(rules=[{"when": rule}])


@given(some_factors(), st.sampled_from(["notify", "confirm", "escalate"]), st.booleans())
def test_the_gate_is_never_laxer_than_the_contract(factors: ConfidenceFactors, then: str, holds: bool) -> None:
    policy = with_gate(rules=[{"when": f"args.yes == {str(holds).lower()}", "then": then}])
    calculator = ConfidenceCalculator(policy)
    contract = calculator.decide_action(calculator.calculate(factors)).level
    verdict = Gate(policy, ask=lambda question: False).check(factors, "go", {"yes": True})
    assert LEVELS.index(verdict.decision.level) >= LEVELS.index(contract)


def test_a_guarded_call_is_asked_about_with_its_arguments(store: Store) -> None:
    asked: list[str] = []

    def person(question: Question) -> Answer:
        asked.append(str(question))
        return Answer(False, "Aoi", "no")

    gate = Gate(REFUNDS, ask=person, store=store)
    low = ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1)

    class Desk:
        @gate.guard(lambda self, order, amount=250, **more: SURE if amount > 500 else low)
        def refund(self, order: int, amount: int = 250, **more: Any) -> str:
            return "done"

    calls: list[dict[str, Any]] = [
        {},
        {"amount": 600},
        {"note": "mail ann@example.com", "password": "hunter" + "2hunter"},
    ]
    for given_ in calls:
        with pytest.raises(NotAllowedError, match="refund was not done: no"):
            Desk().refund(17, **given_)
    assert asked == [
        "Approve refund(order=17, amount=250)? The agent is 52 % confident; below 70 % it must ask.",
        "Approve refund(order=17, amount=600)? The policy says confirm where action == 'refund' && args.amount > 500.",
        'Approve refund(order=17, amount=250, note="mail [pii:email]", password="[secret:password]")? '
        "The agent is 52 % confident; below 70 % it must ask.",
    ]
    kept = [row[0] for row in store.sql("SELECT body->>'call' FROM decisions ORDER BY ts, rowid")]
    assert kept == [text.removeprefix("Approve ").partition("? ")[0] for text in asked]
    assert "hunter" not in str(store.sql("SELECT * FROM decisions")) + str(store.sql("SELECT * FROM scores"))


EVIL = st.text(st.characters(), max_size=300)


@given(EVIL, st.dictionaries(EVIL, EVIL | st.integers() | st.lists(EVIL, max_size=2), max_size=30))
def test_no_words_of_an_agent_pass_for_scalepans(action: str, args: dict[str, Any]) -> None:
    low = ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1)
    (question,) = asked_by(Policy(), action, args, low)
    text = str(question)
    ending = "? The agent is 52 % confident; below 70 % it must ask."
    assert text.isprintable()
    assert text.startswith("Approve ")
    assert text.endswith(ending)
    # Outside of quotes there is nothing but names, numbers and punctuation of the call.
    outside = "".join(text.removesuffix(ending).split('"')[::2])
    assert "The agent is" not in outside
    assert len(text) < 6000


def test_no_argument_hides_another() -> None:
    (question,) = asked_by(REFUNDS, "refund", {"note": "x" * 5000, "amount": 9999})
    assert "amount=9999)" in str(question)
    many = {f"a{number}": number for number in range(30)}
    (question,) = asked_by(REFUNDS, "refund", {**many, "amount": 9999})
    assert "… and 11 more that are not shown)" in str(question)


@pytest.mark.parametrize("factors", [OWN_WORD, SURE, ConfidenceFactors(is_search_step=True)])
@pytest.mark.parametrize("amount", [1, 501])
def test_a_decision_can_be_explained(store: Store, factors: ConfidenceFactors, amount: int) -> None:
    """The level is the gate's own: by the score, the evidence and the rules that were in force."""
    gate = Gate(REFUNDS, ask=lambda question: True, store=store)
    score = ConfidenceCalculator().calculate(factors)
    for evidence in (factors, score, ConfidenceAggregator().aggregate([score, score])):
        verdict = gate.check(evidence, "refund", {"amount": amount})
        found = explain(Memory(store), verdict.id)
        assert (found.kind, found.status) == ("decision", "equal"), found.numbers
