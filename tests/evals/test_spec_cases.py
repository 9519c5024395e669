"""The whole case: thresholds, presets, when it has passed, its average, and why it failed."""

from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import InputError
from scalepan.evals import (
    Evaluator,
    Output,
    ScorerResult,
    diagnose,
    is_passed,
    weighted_average,
)
from scalepan.policy import load_policy
from tests.evals.spec import Json, case, delete, insert, judged, output, page, patterns, replace
from tests.law import assert_law

# Thresholds and presets

THRESHOLDS = {
    "operation-accuracy": 0.80,
    "target-block-precision": 0.75,
    "content-quality": 0.60,
    "operation-result": 0.80,
    "anti-hallucination": 1.00,
}


@pytest.mark.parametrize(("name", "threshold"), THRESHOLDS.items())
def test_thresholds(name: str, threshold: float) -> None:
    (bound,) = Evaluator([{"type": name}]).bound
    assert (bound.threshold, bound.weight) == (threshold, 1.0)


# The presets of contract evals.33 to evals.35
PATTERNS = {
    "standard": """
scorers:
  - type: operation-accuracy
    weight: 1.0
    threshold: 0.8
  - type: target-block-precision
    weight: 1.0
    threshold: 0.75
  - type: content-quality
    weight: 1.0
    threshold: 0.6
""",
    "strict": """
scorers:
  - type: operation-accuracy
    weight: 1.0
    threshold: 0.9
  - type: target-block-precision
    weight: 1.0
    threshold: 0.9
  - type: content-quality
    weight: 1.0
    threshold: 0.8
  - type: anti-hallucination
    weight: 2.0  # 重み付け増加
    threshold: 1.0
""",
    "operation-focused": """
scorers:
  - type: operation-accuracy
    weight: 2.0  # 重み付け増加
    threshold: 0.9
  - type: target-block-precision
    weight: 1.5
    threshold: 0.85
  - type: content-quality
    weight: 0.5  # 重み付け減少
    threshold: 0.5
""",
}


@pytest.mark.parametrize("name", PATTERNS)
def test_presets(name: str) -> None:
    listed = yaml.safe_load(PATTERNS[name])["scorers"]
    expected = [(one["type"], one["weight"], one["threshold"]) for one in listed]
    assert [bound[:3] for bound in Evaluator(name).bound] == expected
    assert [bound[:3] for bound in Evaluator(listed).bound] == expected


def test_standard_is_what_is_used_where_nothing_is_said() -> None:
    assert [one[:3] for one in Evaluator().bound] == [one[:3] for one in Evaluator("standard").bound]
    with pytest.raises(InputError, match="operation-focused"):
        Evaluator("strictly")


def test_the_presets_on_one_case() -> None:
    """Two of three done, b2 deleted in place of b1: accuracy 2/3, targets 2/3, content 1, and a block is lost."""
    asked = [replace("b0", expectedContentPatterns=["新"]), insert("b0"), delete("b1")]
    done = [replace("b0", content="新しい"), insert("b0", content="x"), delete("b2")]
    standard = Evaluator("standard").evaluate(case(asked), output(done))
    assert judged(standard) == {
        "operation-accuracy": pytest.approx(2 / 3),
        "target-block-precision": pytest.approx(2 / 3),
        "content-quality": 1.0,
    }
    assert not standard.passed
    assert standard.weighted_average == pytest.approx(7 / 9)  # (2/3 + 2/3 + 1) / 3
    strict = Evaluator("strict").evaluate(case(asked), output(done))
    assert strict.weighted_average == pytest.approx(7 / 15)  # (2/3 + 2/3 + 1 + 2 x 0) / 5
    focused = Evaluator("operation-focused").evaluate(case(asked), output(done))
    assert focused.weighted_average == pytest.approx(17 / 24)  # (2 x 2/3 + 1.5 x 2/3 + .5 x 1) / 4 = 2.8333 / 4
    for result in (standard, strict, focused):
        assert_law(result.score)


def test_a_threshold_is_reached_by_equality() -> None:
    """Accuracy 4/5 = .8, targets 4/5 >= .75, content 3/5 = .6: standard passes on the line."""
    asked = [
        replace("b0", expectedContentPatterns=["x", "y", "z", "no", "never"]),
        *(delete(name) for name in ("b1", "b2", "b3", "b4")),
    ]
    done = [replace("b0", content="x y z"), delete("b1"), delete("b2"), delete("b3")]
    result = Evaluator("standard").evaluate(case(asked, [page(*"abcde")]), output(done))
    assert judged(result) == {"operation-accuracy": 0.8, "target-block-precision": 0.8, "content-quality": 0.6}
    assert result.passed


def test_a_case_may_bring_its_own_scorers() -> None:
    own = [{"type": "operation-accuracy", "threshold": 0.5}]
    result = Evaluator("strict").evaluate(case([delete("b0"), delete("b1")], scorers=own), output([delete("b0")]))
    assert judged(result) == {"operation-accuracy": 0.5}
    assert result.passed


def test_an_output_with_an_error_is_never_green() -> None:
    result = Evaluator().evaluate(case([]), output([], error="the model did not answer"))
    assert not result.passed
    assert result.weighted_average is None
    assert {one.status for one in result.results} == {"failed"}


def test_a_result_as_programs_read_it() -> None:
    result = Evaluator().evaluate(case([delete("b0")]), output([delete("b0")]))
    row = msgspec.json.decode(msgspec.json.encode(result.to_dict()))
    assert list(row) == ["id", "passed", "weighted_average", "scores"]
    assert (row["id"], row["passed"], row["weighted_average"]) == ("c-1", True, 1.0)
    assert list(row["scores"]) == ["operation-accuracy", "target-block-precision", "content-quality"]
    accuracy = row["scores"]["operation-accuracy"]
    assert accuracy["details"]["matchedOperations"] == 1
    assert (accuracy["value"], accuracy["status"], accuracy["threshold"], accuracy["passed"]) == (1.0, "ok", 0.8, True)
    content = row["scores"]["content-quality"]
    assert (content["value"], content["status"], content["passed"]) == (None, "not_applicable", None)


# is_passed and weighted_average


def result_of(score: float | None, threshold: float = 0.5, weight: float = 1.0, status: Any = "ok") -> ScorerResult:
    return ScorerResult(score=score, threshold=threshold, weight=weight, status=status)


NA = result_of(None, status="not_applicable")
FAILED = result_of(None, status="failed")


@pytest.mark.parametrize(
    ("results", "passed"),
    [
        ([result_of(0.8, 0.8)], True),  # >=
        ([result_of(0.79, 0.8)], False),
        ([result_of(0.8, 0.8), result_of(0.5, 0.6)], False),  # and
        ([result_of(1.0), NA], True),  # nothing to judge has no say
        ([result_of(0.0), NA], False),
        ([result_of(1.0), FAILED], False),  # failed is never green
        ([result_of(None, 0.0, status="failed")], False),  # not even from 0 on
        ([result_of(0.4, 0.5, weight=0.0)], False),  # without weight it still has to pass
    ],
)
def test_is_passed(results: list[ScorerResult], passed: bool) -> None:
    assert is_passed(results) is passed


@pytest.mark.parametrize(
    ("results", "average"),
    [
        ([result_of(0.4)], 0.4),
        ([result_of(1.0, weight=2), result_of(0.4, weight=1)], 0.8),  # (2 + .4) / 3
        ([result_of(0.5, weight=1), result_of(1.0, weight=0)], 0.5),
        ([result_of(0.4), NA], 0.4),
        ([result_of(1.0, weight=1.5), result_of(0.0, weight=0.5)], 0.75),  # 1.5 / 2
    ],
)
def test_weighted_average(results: list[ScorerResult], average: float) -> None:
    assert weighted_average(results) == pytest.approx(average, abs=1e-12)


@pytest.mark.parametrize("results", [[], [NA], [NA, NA]])
def test_no_scorers_is_an_error_and_never_a_pass(results: list[ScorerResult]) -> None:
    with pytest.raises(InputError):
        is_passed(results)
    with pytest.raises(InputError):
        weighted_average(results)


def test_zero_total_weight_is_an_error() -> None:
    with pytest.raises(InputError, match="0"):
        weighted_average([result_of(1.0, weight=0.0), result_of(0.5, weight=0.0)])


@pytest.mark.parametrize(
    ("scorers", "path"),
    [
        ([], "scorers"),
        ([{"type": "exact", "weight": 0}], "scorers"),
        ([{"type": "exact", "weight": -1}], "scorers[0].weight"),
        ([{"type": "exact", "weight": float("nan")}], "scorers[0].weight"),
        ([{"type": "exact", "weight": True}], "scorers[0].weight"),
        ([{"type": "exact"}, {"type": "exact", "threshold": 1.1}], "scorers[1].threshold"),
        ([{"type": "exact", "threshold": "0.8"}], "scorers[0].threshold"),
        ([{"type": "operation-acuracy"}], "scorers[0]"),
        ([{"weight": 1}], "scorers[0]"),
        (["exact"], "scorers[0]"),
        ([{"type": "exact", "ignorecase": True}], "scorers[0].ignorecase"),
    ],
)
def test_a_list_of_scorers_that_does_not_fit(scorers: list[Any], path: str) -> None:
    with pytest.raises(InputError) as raised:
        Evaluator(scorers)
    assert raised.value.path == path


@given(
    st.lists(
        st.builds(result_of, st.floats(0, 1), st.floats(0, 1), st.floats(0, 10).filter(lambda weight: weight > 1e-6)),
        min_size=1,
    )
)
def test_the_average_lies_between_the_lowest_and_the_highest(results: list[ScorerResult]) -> None:
    scores = [one.score for one in results if one.score is not None]
    assert min(scores) - 1e-9 <= weighted_average(results) <= max(scores) + 1e-9
    assert is_passed(results) is all(one.score is not None and one.score >= one.threshold for one in results)


# Diagnosis: every failing scorer gets a cause with evidence and the failure that it points to


@pytest.mark.parametrize(
    ("listed", "asked", "done"),
    [
        ({"type": "exact"}, {"output": "x"}, Output(output="y")),
        ({"type": "numeric"}, {"output": 1}, Output(output=2)),
        ({"type": "levenshtein"}, {"output": "abc"}, Output(output="xyz")),
        ({"type": "response-time", "maxAcceptableMs": 100}, {}, Output(duration_ms=150)),
        ({"type": "operation-result"}, [delete("b0")], output([delete("b9")])),
        ({"type": "operation-accuracy"}, [delete("b0")], output([])),
        ({"type": "content-quality"}, patterns("要約"), output([])),
    ],
)
def test_every_low_score_has_a_cause_that_can_be_shown(listed: Json, asked: Any, done: Output) -> None:
    policy = load_policy()
    golden = case(asked, scorers=[listed])
    causes = diagnose(golden, done, Evaluator(None, policy).evaluate(golden, done), policy.evals).causes
    assert causes
    for cause in causes:
        assert cause.evidence
        assert isinstance(cause.mode, str)


def test_the_diagnosis_blames_only_the_patterns_that_were_missed() -> None:
    policy = load_policy()
    golden = case(patterns("HELLO", "zebra"), scorers=[{"type": "content-quality", "ignoreCase": True}])
    done = output([replace("b0", content="hello")])
    result = Evaluator(None, policy).evaluate(golden, done)
    assert [one.score for one in result.results] == [0.5]  # hello is found whatever its case, zebra is not
    (cause,) = diagnose(golden, done, result, policy.evals).causes
    assert "zebra" in cause.evidence
