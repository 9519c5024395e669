"""From a score to what happens, worked by hand from contract confidence.13 to confidence.15."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.confidence.aggregate import aggregate_scores
from scalepan.confidence.calculator import ConfidenceCalculator
from scalepan.confidence.decide import ActionDecision, InterventionLevel, decide
from scalepan.confidence.factors import ConfidenceFactors
from scalepan.errors import PolicyError
from scalepan.policy import load_policy
from scalepan.policy.confidence import Thresholds
from scalepan.score import Part, Score, not_measured

SILENT, NOTIFY, CONFIRM, ESCALATE = InterventionLevel


def scored(value: float) -> Score:
    return Score("confidence", value, parts=(Part("search_quality", value, 1.0),), base=value)


def decided(value: float) -> ActionDecision:
    return ConfidenceCalculator().decide_action(scored(value))


@pytest.mark.parametrize(
    ("value", "level"),
    [
        *((1.0, SILENT), (0.9, SILENT)),  # a threshold itself is reached
        *((0.899, NOTIFY), (0.7, NOTIFY)),
        *((0.699, CONFIRM), (0.4, CONFIRM)),
        *((0.399, ESCALATE), (0.0, ESCALATE)),
    ],
)
def test_levels(value: float, level: InterventionLevel) -> None:
    assert decided(value).level is level


@pytest.mark.parametrize(
    ("value", "action", "proceed", "confirm", "user"),
    [
        (0.95, "proceed", True, False, False),
        (0.8, "proceed_with_status", True, False, False),
        (0.5, "ask_confirmation", False, True, False),
        (0.1, "request_clarification", False, False, True),
    ],
)
def test_what_a_level_asks_for(value: float, action: str, proceed: bool, confirm: bool, user: bool) -> None:
    decision = decided(value)
    assert decision.suggested_action == action
    assert (decision.should_proceed, decision.needs_confirmation, decision.needs_user_input) == (proceed, confirm, user)


def test_the_reason_names_the_number_and_the_threshold() -> None:
    assert decided(0.95).reason == "confidence 0.95 reaches silent 0.9"
    assert decided(0.7).reason == "confidence 0.7 reaches notify 0.7"
    assert decided(0.5).reason == "confidence 0.5 reaches confirm 0.4"
    assert decided(0.1).reason == "confidence 0.1 is below confirm 0.4"


def test_nothing_measured_is_handed_over() -> None:
    decision = ConfidenceCalculator().decide_action(not_measured("confidence", "the judge did not answer"))
    assert decision.level is ESCALATE
    assert decision.needs_user_input
    assert not decision.should_proceed
    assert "the judge did not answer" in decision.reason


@pytest.mark.parametrize(
    ("best", "value", "level"),
    [
        (0.8996, 0.9, SILENT),  # the thresholds see the rounded number
        (0.8994, 0.899, NOTIFY),
        (0.8995, 0.899, NOTIFY),  # Python's round; numpy's would say .9
        (0.6996, 0.7, NOTIFY),
    ],
)
def test_thresholds_see_the_rounded_value(best: float, value: float, level: InterventionLevel) -> None:
    calculator = ConfidenceCalculator()
    score = calculator.calculate(
        ConfidenceFactors(is_search_step=True, search_result_count=1, search_max_score=best, search_avg_score=best)
    )
    assert (score.value, calculator.decide_action(score).level) == (value, level)


@pytest.mark.parametrize("method", ["mean", "min", "weighted"])
@pytest.mark.parametrize(("value", "level"), [(0.9, SILENT), (0.7, NOTIFY), (0.4, CONFIRM)])
def test_steps_that_reach_a_threshold_reach_it_together(method: str, value: float, level: InterventionLevel) -> None:
    # (.7 + .7 + .7) / 3 is .6999999999999998 in floating point.
    for count in range(1, 30):
        assert decide(aggregate_scores([scored(value)] * count, method), Thresholds()).level is level


def test_that_kindness_is_of_the_last_digits_only() -> None:
    assert decided(0.69999).level is CONFIRM


def test_the_thresholds_are_the_policy_s() -> None:
    policy = load_policy(
        env={}, overrides={"confidence": {"thresholds": {"silent": 0.5, "notify": 0.3, "confirm": 0.2}}}
    )
    calculator = ConfidenceCalculator(policy)
    levels = [calculator.decide_action(scored(value)).level for value in (0.5, 0.49, 0.29, 0.19)]
    assert levels == [SILENT, NOTIFY, CONFIRM, ESCALATE]


def test_equal_thresholds_leave_a_level_out() -> None:
    thresholds = Thresholds(silent=0.7, notify=0.7, confirm=0.7)
    assert [decide(scored(value), thresholds).level for value in (0.7, 0.69)] == [SILENT, ESCALATE]


@pytest.mark.parametrize(
    "thresholds",
    [
        {"silent": 0.6},  # below notify .7
        {"notify": 0.95},  # above silent .9
        {"confirm": 0.8},  # above notify .7
        {"silent": 0.1, "notify": 0.5, "confirm": 0.9},
    ],
)
def test_thresholds_out_of_order_are_refused(thresholds: dict[str, float]) -> None:
    with pytest.raises(
        PolicyError, match=r"confidence\.thresholds: silent .*, notify .*, confirm .*: they must not increase"
    ):
        load_policy(env={}, overrides={"confidence": {"thresholds": thresholds}})
    with pytest.raises(ValueError, match="they must not increase"):
        Thresholds(**thresholds)


def test_thresholds_from_a_file_and_from_the_environment_are_checked_too(tmp_path: Path) -> None:
    file = tmp_path / "scalepan.yaml"
    file.write_text("confidence: {thresholds: {silent: 0.6}}\n")
    with pytest.raises(PolicyError, match="they must not increase"):
        load_policy(file, env={})
    with pytest.raises(PolicyError, match="they must not increase"):
        load_policy(env={"SCALEPAN_CONFIDENCE__THRESHOLDS__SILENT": "0.6"})


@pytest.mark.parametrize("value", [1.2, -0.1, "high", float("nan"), True])
def test_a_threshold_that_is_no_share_is_refused(value: Any) -> None:
    with pytest.raises(PolicyError, match=r"confidence\.thresholds\.silent"):
        load_policy(env={}, overrides={"confidence": {"thresholds": {"silent": value}}})


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_higher_score_never_asks_for_more(one: float, other: float) -> None:
    order = list(InterventionLevel)
    low, high = sorted((one, other))
    assert order.index(decided(high).level) <= order.index(decided(low).level)
    decision = decided(one)
    assert [decision.should_proceed, decision.needs_confirmation, decision.needs_user_input].count(True) == 1
