"""llm-judge: a rubric, a number, and a failure that is never one."""

from typing import Any

import msgspec
import pytest

from scalepan.errors import InputError
from scalepan.evals import Case, Evaluator, Output
from scalepan.evals.registry import bind
from scalepan.evals.result import ScorerResult
from scalepan.policy import load_policy
from tests.modelserver import Behaviour, ModelServer, fails, says

POLITE = {"type": "llm-judge", "rubric": "It is polite."}


def judged(
    behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any], output: dict[str, Any]
) -> tuple[ScorerResult, ModelServer]:
    with ModelServer(behaviour) as server:
        monkeypatch.setenv("SCALEPAN_JUDGE__BASE_URL", server.base_url)
        monkeypatch.setenv("SCALEPAN_JUDGE__MODEL", "stand-in")
        golden = msgspec.convert({"id": "c-1", "expected": {}, **case}, Case)
        (result,) = Evaluator([POLITE]).evaluate(golden, msgspec.convert({"id": "c-1", **output}, Output)).results
    return result, server


def test_the_number_is_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    case = {"expected": {"output": "Good morning!"}}
    result, server = judged(says("85%"), monkeypatch, case, {"output": "Hello, how are you?"})
    assert (result.score, result.status, result.passed, result.threshold) == (0.85, "ok", True, 0.7)
    details = msgspec.json.decode(msgspec.json.encode(result.details))
    assert details == {
        "model": "stand-in",
        "prompt": "rubric 1",
        "said": "85%",
        "notes": [],
        "tokens": 107,
        "cached": False,
    }
    (request,) = server.requests
    assert "rubric? It is polite. Judge" in request.prompt
    assert "\nHello, how are you?\nEND ANSWER" in request.prompt
    assert "\nGood morning!\nEND EXPECTED ANSWER" in request.prompt


@pytest.mark.parametrize(
    ("behaviour", "reason"), [(says("lovely"), "no number for 'score'"), (fails(401), "refuses the key")]
)
def test_a_failure_is_no_score(monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour, reason: str) -> None:
    monkeypatch.setenv("SCALEPAN_JUDGE_KEY", "some-long-key")
    result, _ = judged(behaviour, monkeypatch, {}, {"output": "Hi"})
    assert (result.score, result.status, result.passed) == (None, "failed", False)
    assert reason in result.reason


def test_operations_are_judged_by_the_pages_that_come_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    page = {"id": "p", "blocks": [{"id": "b", "type": "paragraph", "content": [{"type": "text", "text": "old"}]}]}
    edit = {"pageId": "p", "operations": [{"type": "replace", "targetBlockId": "b", "content": "new"}]}
    result, server = judged(says("1.0"), monkeypatch, {"pages": [page]}, {"operations": [edit]})
    assert result.score == 1.0
    assert "\nnew\nEND ANSWER" in server.requests[0].prompt
    assert "\nold\nEND SOURCE 1" in server.requests[0].prompt


def test_without_a_judge_it_has_failed() -> None:
    golden = msgspec.convert({"id": "c-1", "expected": {}}, Case)
    (result,) = Evaluator([POLITE]).evaluate(golden, Output(id="c-1", output="Hi")).results
    assert (result.status, result.score) == ("failed", None)
    assert result.reason.startswith("no judge is set")


@pytest.mark.parametrize("options", [{}, {"rubric": ""}, {"rubric": 1}, {"rubrik": "x"}])
def test_it_needs_a_rubric(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="rubri"):
        bind([{"type": "llm-judge", **options}], load_policy().evals)


def test_the_judge_is_that_of_the_runs_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text must not go to another endpoint than the policy of the run names."""
    with ModelServer(says("0.9")) as mine, ModelServer(says("0.1")) as other:
        policy = load_policy(overrides={"judge": {"base_url": mine.base_url, "model": "stand-in", "cache": False}})
        monkeypatch.setenv("SCALEPAN_JUDGE__BASE_URL", other.base_url)
        monkeypatch.setenv("SCALEPAN_JUDGE__MODEL", "other")
        golden = msgspec.convert({"id": "c-1", "expected": {}}, Case)
        output = msgspec.convert({"id": "c-1", "output": "Hi"}, Output)
        (result,) = Evaluator([POLITE], policy).evaluate(golden, output).results
    assert (result.score, mine.calls, other.calls) == (0.9, 1, 0)
