"""Scorers of one's own: functions, classes, by module and name, by entry point."""

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalepan.evals import (
    Context,
    Evaluator,
    Expected,
    Output,
    ResponseTimeScorer,
    Scorer,
    ScorerResult,
    scorer,
)
from scalepan.evals.registry import bind
from scalepan.policy import load_policy
from scalepan.score import Part, Rule, Score
from tests.evals.spec import Json, case
from tests.law import assert_law


def own(target: Any, **more: Any) -> ScorerResult:
    name = f"own-{id(target)}"
    scorer(name, threshold=0.5)(target)
    judged_ = Evaluator([{"type": name, **more}]).evaluate(case({"output": "x"}, []), Output(id="c-1", output="xx"))
    assert_law(judged_.score)
    return judged_.results[0]


def two(actual: Output, expected: Expected) -> float:
    return len(expected.output) / len(actual.output)


def three(actual: Output, expected: Expected, context: Context) -> float:
    return 0.25 if context.evidence.actual is actual else 0.0


class Whole:
    """The interface of contract evals.27, with options."""

    def __init__(self, max_length: int = 1) -> None:
        self.max_length = max_length

    def score(self, actual: Output, expected: Expected) -> float:
        return 1.0 if len(actual.output) <= self.max_length else 0.0

    def get_details(self, actual: Output, expected: Expected) -> Json:
        return {"length": len(actual.output)}


class Bare:
    """Without details."""

    def score(self, actual: Output, expected: Expected) -> float:
        return 0.75


def test_a_function_of_two_or_three_arguments() -> None:
    assert (own(two).score, own(two).passed) == (0.5, True)
    assert (own(three).score, own(three).passed) == (0.25, False)


def test_a_class_with_score_and_get_details() -> None:
    assert (own(Whole).score, own(Whole).details) == (0.0, {"length": 2})
    assert own(Whole, maxLength=2).score == 1.0  # the YAML's camelCase is Python's snake_case
    assert own(Bare).score == 0.75
    assert own(Whole(5)).score == 1.0
    scorers: list[Scorer] = [Whole(), ResponseTimeScorer(100)]
    assert len(scorers) == 2


@pytest.mark.parametrize(
    ("value", "score"),
    [(0, 0.0), (1, 1.0), (True, 1.0), (False, 0.0), (0.3, 0.3), (np.float64(0.5), 0.5), (np.float32(0.5), 0.5)],
)
def test_plain_numbers_are_scores(value: Any, score: float) -> None:
    assert own(lambda actual, expected: value).score == pytest.approx(score)


@pytest.mark.parametrize("value", [1.5, -0.1, math.nan, math.inf, None, "0.5", [1.0]])
def test_what_is_no_score_has_failed(value: Any) -> None:
    one = own(lambda actual, expected: value)
    assert (one.status, one.score, one.passed) == ("failed", None, False)
    assert one.reason


def test_an_exception_is_a_failed_score_with_the_reason() -> None:
    def broken(actual: Output, expected: Expected) -> float:
        raise RuntimeError("no\x1b[31m quota")

    one = own(broken)
    assert (one.status, one.passed) == ("failed", False)
    assert "RuntimeError" in one.reason
    assert "quota" in one.reason
    assert "\x1b" not in one.reason


def test_details_that_raise_are_a_failed_score_too() -> None:
    class Broken(Bare):
        def get_details(self, actual: Output, expected: Expected) -> Json:
            raise KeyError("page")

    assert own(Broken).status == "failed"


def test_a_function_with_defaults_or_any_arguments_is_called_as_it_can_be() -> None:
    assert own(lambda actual, expected, tolerance=0.5: tolerance if isinstance(tolerance, float) else 0.9).score
    assert own(lambda *both: 0.5).score == 0.5


def test_a_score_of_ones_own_is_taken_as_it_is() -> None:
    given_ = Score("mine", None, "not_applicable", reason="not today")
    assert own(lambda actual, expected: given_).status == "not_applicable"
    parts = (Part("half", 0.5, 0.5), Part("all", 1.0, 0.5))
    whole = Score("mine", 0.7, parts=parts, base=0.75, rules=(Rule("cut", 0.75, 0.7),))
    result = own(lambda actual, expected: whole)
    assert result.whole is whole
    assert (result.score, result.details) == (0.7, None)


def test_a_class_with_the_specs_own_spelling() -> None:
    """Contract evals.27: the interface is `score` and `getDetails`."""

    class Spelled(Bare):
        def getDetails(self, actual: Output, expected: Expected) -> Json:
            return {"passed": True, "ratio": math.inf}

    assert own(Spelled).details == {"passed": True, "ratio": "inf"}  # JSON knows no infinity


def test_a_scorer_by_entry_point(tmp_path: Path) -> None:
    (tmp_path / "plug.py").write_text("def third(actual, expected):\n    return 1 / 3\n", encoding="utf-8")
    info = tmp_path / "plug-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[scalepan.scorers]\nthird = plug:third\n", encoding="utf-8")
    program = (
        "from scalepan.evals import *; c = Case(id='c', expected=Expected());"
        "print(Evaluator([{'type': 'third', 'threshold': 0.2}]).evaluate(c, Output()).weighted_average)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (ran.stdout.strip(), ran.stderr) == (str(1 / 3), "")


def test_a_scorer_keeps_its_own_threshold_where_the_list_has_none() -> None:
    scorer("own-threshold", threshold=0.9)(lambda actual, expected: 0.8)
    (bound,) = bind([{"type": "own-threshold"}], load_policy().evals)
    assert bound.threshold == 0.9
    (bound,) = bind([{"type": "own-threshold", "threshold": 0.7}], load_policy().evals)
    assert bound.threshold == 0.7


def test_one_scorer_may_stand_in_a_list_twice() -> None:
    listed: list[Json] = [{"type": "contains"}, {"type": "contains", "ignoreCase": True}]
    result = Evaluator(listed).evaluate(case({"output": "A"}, []), Output(id="c-1", output="a"))
    assert [one.score for one in result.results] == [0.0, 1.0]
    assert [one["value"] for one in result.to_dict()["scores"].values()] == [0.0, 1.0]
