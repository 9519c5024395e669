"""Factors that somebody must judge: a language model that answers well or badly, an encoder, or the stand-ins."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from scalepan.confidence import LLMSelfEvaluator, QueryCoverageCalculator, SourceAgreementCalculator, judge_answer
from scalepan.policy import Policy, load_policy
from tests.law import assert_law
from tests.modelserver import ModelServer, fails, says


def policy(server: ModelServer, **more: Any) -> Policy:
    """A policy whose judge is the stand-in; nothing is kept between tests, and nothing waits long."""
    judge = {"base_url": server.base_url, "model": "stand-in", "cache": False, "retries": 0, **more}
    return load_policy(overrides={"judge": judge, "embed": {"model": "none"}})


@pytest.mark.parametrize(
    ("words", "value"),
    [('{"score": 0.8}', 0.8), ("I would say 80%.", 0.8), ("８/10", 0.8), ('{"score": 1.7}', 1.0)],
)
def test_a_language_model_judges_an_answer(words: str, value: float) -> None:
    with ModelServer(says(words)) as server:
        found = LLMSelfEvaluator(policy(server)).evaluate("2 + 2?", "4", ["two and two make four"])
        assert found.value == pytest.approx(value)
        assert found.parts[0].source == "measured"
        assert "two and two make four" in server.requests[0].prompt
        assert_law(found)


@pytest.mark.parametrize("behaviour", [says("no idea"), fails(500, "broken"), says("between 0.3 and 0.9")])
def test_a_self_evaluation_that_failed_is_a_half_that_says_so(behaviour: Any) -> None:
    with ModelServer(behaviour) as server:
        found = LLMSelfEvaluator(policy(server)).evaluate("2 + 2?", "4")
        assert found.value == 0.5
        assert found.parts[0].source == "failed"
        assert found.parts[0].note
        assert_law(found)


def test_a_coverage_that_failed_is_not_measured() -> None:
    with ModelServer(fails(500)) as server:
        found = QueryCoverageCalculator(policy(server)).calculate("2 + 2?", "4")
        assert (found.value, found.status) == (None, "failed")
    with ModelServer(says("0.25")) as server:
        assert QueryCoverageCalculator(policy(server), "another-model").calculate("a and b?", "a").value == 0.25
        assert server.requests[0].body["model"] == "another-model"


def test_no_judge_is_set() -> None:
    found = LLMSelfEvaluator().evaluate("2 + 2?", "4")
    assert (found.value, found.parts[0].source) == (0.5, "failed")
    assert "no judge is set" in found.parts[0].note


def test_the_await_forms_and_a_running_loop() -> None:
    async def main(config: Policy) -> list[float | None]:
        evaluator, coverage = LLMSelfEvaluator(config), QueryCoverageCalculator(config)
        awaited = await asyncio.gather(evaluator.aevaluate("q", "a"), coverage.acalculate("q", "a"))
        # The plain form works here too, as in a notebook.
        return [*(score.value for score in awaited), evaluator.evaluate("q", "b").value]

    with ModelServer(says("0.6")) as server:
        assert asyncio.run(main(policy(server))) == [0.6, 0.6, 0.6]


def test_both_numbers_in_one_call() -> None:
    with ModelServer(says('{"evaluation": 0.9, "coverage": 0.4}')) as server:
        judged = judge_answer("a and b?", "a", ["a is true"], policy(server))
        assert (judged.self_evaluation.value, judged.coverage.value, judged.by) == (0.9, 0.4, "stand-in")
        assert server.calls == 1


def test_without_a_language_model_the_stand_ins_judge() -> None:
    config = load_policy(overrides={"embed": {"model": "none"}})
    sources = ["Refunds above 500 euros need a second approval by finance."]
    right = judge_answer("Who approves refunds?", "Refunds above 500 euros need approval by finance.", sources, config)
    wrong = judge_answer("Who approves refunds?", "Refunds above 900 euros need approval by sales.", sources, config)
    assert right.by == wrong.by == "stand-ins"
    assert float(right.self_evaluation) > float(wrong.self_evaluation)
    nothing = judge_answer("Who approves refunds?", "Finance.", [], config)
    assert nothing.self_evaluation.value is None


class Plane:
    """Texts as points: "x", "y" and "-x"."""

    model_id, dimensions = "plane@1", 2

    def load(self) -> None: ...

    def encode(self, texts: Sequence[str], kind: str = "passage") -> Any:
        points = {"x": (1, 0), "2x": (2, 0), "y": (0, 1), "-x": (-1, 0)}
        return np.array([points[text] for text in texts], dtype=np.float32)

    def is_cut(self, text: str, kind: str = "passage") -> bool:
        return False


@pytest.mark.parametrize(
    ("texts", "agreement"),
    [
        ([], 1.0),
        (["x"], 1.0),
        (["x", "2x"], 1.0),  # the same direction
        (["x", "y"], 0.0),
        (["x", "2x", "y"], 1 / 3),  # pairs: 1, 0, 0
        (["x", "-x"], 0.0),  # -1, clamped
    ],
)
def test_agreement_is_the_mean_of_all_pairs(texts: list[str], agreement: float) -> None:
    found = SourceAgreementCalculator(embedder=Plane()).calculate(texts)
    assert found.value == pytest.approx(agreement)
    assert_law(found)


def test_agreement_without_an_encoder_is_not_measured() -> None:
    config = load_policy(overrides={"embed": {"model": "none"}})
    assert SourceAgreementCalculator(config).calculate(["x"]).value == 1.0
    found = SourceAgreementCalculator(config).calculate(["x", "y"])
    assert (found.value, found.status) == (None, "not_applicable")
    assert "no encoder" in found.reason
