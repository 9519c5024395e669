"""The gate, counted: what an agent's own word opens, and what approvals teach. The issue asks for these figures."""

import random
from pathlib import Path
from typing import Any

import pytest

from scalepan.confidence import Answer, ConfidenceCalculator, ConfidenceFactors, Gate, Question
from scalepan.policy.trust import watched
from scalepan.store import Store

CASES, APPROVALS = 1000, 100
PLANTED = """
confidence:
  thresholds: {silent: 0.0, notify: 0.0, confirm: 0.0}
  places: 0
  weights: {llm_self_eval: 1000}
  gate: {evidence: optional, always_ask: [], rules: []}
"""


def own_words(count: int) -> list[ConfidenceFactors]:
    """What an agent can say of itself: how sure it is, what it covers, numbers of searches that found nothing."""
    chance = random.Random(14)
    made = []
    for _ in range(count):
        said: dict[str, Any] = {
            "llm_self_confidence": chance.uniform(0.6, 1.0),
            "query_coverage": chance.random(),
            "source_agreement": chance.random(),
            "tool_success_rate": 1.0,
            "search_score_variance": chance.random(),
            "is_search_step": chance.random() < 0.1,
        }
        if chance.random() < 0.3:
            said |= {"search_max_score": chance.random(), "search_avg_score": chance.random()}
        elif chance.random() < 0.3:
            said |= {"search_result_count": chance.randint(1, 9)}  # that all score 0
        made.append(ConfidenceFactors(**said))
    return made


@pytest.mark.parametrize("policy", ["built in", "planted"])
def test_how_often_an_agents_own_word_opens_the_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    """Alone, and with a policy in the folder above that asks for nothing."""
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    if policy == "planted":
        (tmp_path / "scalepan.yaml").write_text(PLANTED)
    asked: list[Question] = []

    def person(question: Question) -> Answer:
        asked.append(question)
        return Answer(False)

    with watched() as told:
        calculator, gate = ConfidenceCalculator(), Gate(ask=person)
    assert bool(told) is (policy == "planted")
    opened = by_contract = 0
    for factors in own_words(CASES):
        score = calculator.calculate(factors)
        by_contract += calculator.decide_action(score).should_proceed
        opened += gate.check(factors, "refund 9999 euros", {"amount": 9999}).allowed
        opened += gate.check(score, "refund 9999 euros", {"amount": 9999}).allowed
    print(f"{policy}: by the contract's level {by_contract} of {CASES} go on, by the gate {opened}; {len(asked)} asked")
    assert by_contract > CASES / 3  # the figures mean something
    assert opened == 0
    assert len(asked) == 2 * CASES


def test_how_many_labels_approvals_write(tmp_path: Path) -> None:
    unsure = ConfidenceFactors(search_result_count=1, search_max_score=0.5, source_count=1)
    with Store(tmp_path / "notes.duckdb") as store:
        agent = Gate(store=store, actor="agent", timeout_seconds=600)
        handler = Gate(store=store, actor="agent", ask=lambda question: Answer(True, "Aoi"))
        for number in range(APPROVALS // 2):
            waits = agent.open(unsure, "refund", {"order": number})
            assert agent.answer(waits.id, True, actor="Aoi").state == "approved"
            assert handler.check(unsure, "refund", {"order": number}).allowed
        ((approved,),) = store.sql("SELECT count(*) FROM decisions WHERE (body->>'state') = 'approved'")
        ((labels,),) = store.sql("SELECT count(*) FROM labels")
    print(f"{approved} approvals, {labels} labels")
    assert (approved, labels) == (APPROVALS, 0)
