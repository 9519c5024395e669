"""No false comfort (contract evals.31, evals.32): the kind of case chooses; nothing measured is not passed."""

from typing import Any

import pytest

from scalepan.evals import Evaluator, Output, diagnose
from scalepan.policy import load_policy
from tests.evals.spec import ABC, Json, case, delete, output, replace


def types(golden: Any, scorers: Any = None, policy: Json | None = None) -> list[str]:
    evaluator = Evaluator(scorers, load_policy(overrides={"evals": policy or {}}))
    return [one.type for one in evaluator.bound_for(golden)]


@pytest.mark.parametrize("preset", [None, "standard", "strict", "operation-focused"])
def test_a_text_case_without_scorers_passed_anything(preset: str | None) -> None:
    """Any text passed, 20 of 20: with no operations expected, none done was right."""
    golden = case({"output": "Paris"}, [])
    assert not Evaluator(preset).evaluate(golden, Output(output="banana")).passed
    assert not Evaluator(preset).evaluate(golden, Output()).passed
    assert Evaluator(preset).evaluate(golden, Output(output="Paris")).passed


@pytest.mark.parametrize(
    ("expected", "chosen"),
    [
        ({"output": "Paris"}, ["exact"]),
        ({"output": ""}, ["exact"]),
        ({"output": True}, ["exact"]),
        ({"output": 42}, ["numeric"]),
        ({"output": 4.2}, ["numeric"]),
        ({"output": {"city": "Paris"}}, ["json-equal"]),
        ({"output": ["a", "b"]}, ["json-equal"]),
        ({"contains": ["Paris", "Seine"]}, ["contains"]),
        ({"matches": r"Par\w+"}, ["regex"]),
        ({"contains": "a", "matches": "b", "output": "ab"}, ["contains", "regex", "exact"]),
    ],
)
def test_text_gets_what_expected_asks_for(expected: Json, chosen: list[str]) -> None:
    assert types(case(expected, [])) == chosen


def test_block_edits_get_the_preset_and_a_case_of_both_gets_both() -> None:
    standard = ["operation-accuracy", "target-block-precision", "content-quality"]
    assert types(case([delete("b0")])) == standard
    assert types(case([])) == standard  # pages: nothing is to be changed on them
    both = case({"output": "done", "operations": [{"pageId": "p", "operations": [delete("b0")]}]}, ABC)
    assert types(both) == [*standard, "exact"]


def test_a_list_and_a_preset_that_judge_text_are_left_as_they_are() -> None:
    text = case({"output": "Paris"}, [])
    assert types(text, [{"type": "levenshtein"}]) == ["levenshtein"]
    assert types(text, "mine", {"presets": {"mine": [{"type": "contains"}]}}) == ["contains"]
    timed = {"presets": {"mine": [{"type": "operation-accuracy"}, {"type": "response-time", "maxAcceptableMs": 5}]}}
    assert types(text, "mine", timed) == ["response-time", "exact"]  # being fast is not being right
    assert types(case({"output": "x"}, [], scorers=[{"type": "numeric"}])) == ["numeric"]


@pytest.mark.parametrize(
    ("golden", "scorers", "key"),
    [
        (case({}, []), None, "neither pages"),
        (case({"operations": [], "totalSuccessCount": 0}, []), "strict", "neither pages"),
        (
            case({"output": "x"}, []),
            [{"type": "operation-accuracy"}, {"type": "operation-result"}],
            "none of its scorers",
        ),
        (case([delete("b0")]), [{"type": "content-quality"}], "none of its scorers"),
        (case({"contains": []}, []), None, "none of its scorers"),
        (case({"matches": []}, []), None, "none of its scorers"),
    ],
)
def test_a_case_in_which_nothing_was_measured_has_not_passed(golden: Any, scorers: Any, key: str) -> None:
    policy = load_policy()
    done = Output(output="banana")
    result = Evaluator(scorers, policy).evaluate(golden, done)
    assert (result.passed, result.weighted_average) == (False, None)
    assert key in result.score.reason
    told = diagnose(golden, done, result, policy.evals)
    (cause,) = told.to_dict()["nothing_measured"]["causes"]
    assert key in cause["evidence"]


def test_an_output_without_a_text_is_empty_and_not_the_word_null() -> None:
    for expected in ({"contains": "null"}, {"matches": "n.ll"}, {"output": "null"}):
        assert not Evaluator().evaluate(case(expected, []), Output()).passed


def test_the_contracts_keys_stand_in_the_diagnosis() -> None:
    """Contract evals.36: each key with what to check and what to analyze."""
    policy = load_policy()
    golden = case([replace("b0", expectedContentPatterns=["new"]), delete("b1")])
    done = output([replace("b2", content="the CEO left"), delete("ghost")])
    result = Evaluator("strict", policy).evaluate(golden, done)
    found = diagnose(golden, done, result, policy.evals)
    told = found.to_dict()
    assert {key: told[key]["check"] for key in told} == {
        "operation_accuracy_low": "unmatchedOperations",
        "target_precision_low": "incorrectTargets",
        "content_quality_low": "contentIssues",
        "anti_hallucination_failed": "the difference between input and output",
    }
    for one in told.values():
        assert one["analyze"]
        assert all(cause["cause"] and cause["evidence"] for cause in one["causes"])
    assert any(
        "A delete names a block that does not exist: page 'p', block 'ghost'." in c.sentence for c in found.causes
    )
    for cause in found.causes:
        assert cause.sentence[0].isupper()
        assert cause.sentence.endswith(".")
