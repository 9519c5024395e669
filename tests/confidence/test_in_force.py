"""Every constructor without a policy uses the policy in force, as the commands do (contract confidence.23)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalepan.confidence import (
    ConfidenceAggregator,
    ConfidenceCalculator,
    ConfidenceFactors,
    Gate,
    LLMSelfEvaluator,
    QueryCoverageCalculator,
    SourceAgreementCalculator,
    confidence_batch,
    judge_answer,
)

POLICY = """
confidence:
  thresholds: {silent: 0.99, notify: 0.98, confirm: 0.97}
  weights: {tool_success: 0.1}
  failed_self_eval: 0.25
  aggregation: min
  gate: {timeout_seconds: 7}
judge: {base_url: "http://127.0.0.1:9/v1", model: judge-of-the-file}
embed: {model: none}
"""


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCALEPAN_POLICY", str(tmp_path / "mine.yaml"))


@pytest.mark.usefixtures("policy")
def test_no_constructor_falls_back_to_the_built_in_policy() -> None:
    factors = ConfidenceFactors(search_result_count=5, search_max_score=0.8, source_count=1)
    calculator = ConfidenceCalculator()
    score = calculator.calculate(factors)
    assert float(score) == 0.829  # (.6 x .8 + .1 x 1) / .7
    assert calculator.decide_action(score).level == "escalate"
    assert confidence_batch({"search_result_count": [5], "search_max_score": 0.8, "source_count": 1}).tolist() == [
        0.829
    ]
    assert ConfidenceAggregator().policy.aggregation == "min"
    assert Gate().timeout_seconds == 7
    assert LLMSelfEvaluator().judge.policy.judge.model == "judge-of-the-file"
    assert LLMSelfEvaluator(model_name="named").judge.policy.judge.model == "named"
    assert QueryCoverageCalculator().judge.policy.judge.model == "judge-of-the-file"
    assert float(LLMSelfEvaluator().evaluate("2 + 2?", "4")) == 0.25
    assert judge_answer("2 + 2?", "4").by == "judge-of-the-file"
    assert "no encoder found" in SourceAgreementCalculator().calculate(["a", "b"]).reason


class Broken:
    """An encoder that fails in one of several ways."""

    model_id, dimension = "broken", 3

    def __init__(self, gives: Any) -> None:
        self.gives = gives

    def encode(self, texts: list[str]) -> Any:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


@pytest.mark.parametrize(
    ("gives", "why"),
    [
        (RuntimeError("out of memory"), "the encoder failed: RuntimeError: out of memory"),
        (MemoryError(), "the encoder failed: MemoryError"),
        (np.full((2, 3), np.nan), "the encoder failed: it gave no finite vector for each of 2 texts"),
        (np.ones((1, 3)), "the encoder failed: it gave no finite vector for each of 2 texts"),
        (np.ones(3), "the encoder failed: it gave no finite vector for each of 2 texts"),
        (None, "the encoder failed: it gave no finite vector for each of 2 texts"),
        ("nonsense", "the encoder failed: ValueError"),
    ],
)
def test_source_agreement_survives_an_encoder_that_fails(gives: Any, why: str) -> None:
    """Contract confidence.19: a number or none; an exception of the encoder's went through to the agent."""
    encoder: Any = Broken(gives)
    score = SourceAgreementCalculator(embedder=encoder).calculate(["one", "two"])
    assert (score.value, score.status) == (None, "failed")
    assert score.reason.startswith(why)


def test_source_agreement_survives_an_encoder_that_is_named_and_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "/nowhere/at/all")
    calculator = SourceAgreementCalculator()
    assert float(calculator.calculate(["alone"])) == 1.0
    score = calculator.calculate(["one", "two"])
    assert (score.value, score.status) == (None, "failed")


@pytest.mark.parametrize("search_step", [True, False])
def test_a_variance_that_was_not_given_shows_as_a_default(search_step: bool) -> None:
    """Contract confidence.1 and confidence.3: the variance is 1.0 by default, and costs 0.15."""
    known: dict[str, Any] = {"search_result_count": 3, "search_max_score": 0.5, "is_search_step": search_step}
    part = ConfidenceCalculator().calculate(ConfidenceFactors(**known)).part("search_quality")
    assert part.source == "default"
    assert part.note == "3 results, the best 0.5; the variance was not given, and counts as 1"
    given = ConfidenceFactors(**known, search_score_variance=0.02)
    assert ConfidenceCalculator().calculate(given).part("search_quality").source == "measured"
    # From 0.6 on the best result counts as it is, and the variance not at all.
    good = ConfidenceFactors(**{**known, "search_max_score": 0.6})
    assert ConfidenceCalculator().calculate(good).part("search_quality").source == "measured"


@pytest.mark.parametrize(
    ("factors", "source", "note"),
    [
        ({}, "default", "no tool was called"),
        ({"tool_execution_count": 2, "tool_success_count": 2}, "measured", "2 of 2 calls"),
        ({"tool_success_rate": 0.5}, "measured", "a rate of 0.5"),
    ],
)
def test_no_tool_was_called_is_a_default(factors: dict[str, Any], source: str, note: str) -> None:
    """Contract confidence.11: tool_success is 1.0 where nothing ran."""
    part = ConfidenceCalculator().calculate(ConfidenceFactors(**factors)).part("tool_success")
    assert (part.source, part.note) == (source, note)
