"""Bad input is an error that names trace and field; a log that does not state its outcome gets a range."""

from collections.abc import Sequence
from typing import Any

import pytest

from scalepan.errors import InputError
from scalepan.trace import Metadata, Outcome, ReasoningTrace, Step, Task, Tool
from tests.trace.spec import FIVE_STEPS, FIVE_TOOLS, rules, trace_of, value


def test_a_missing_confidence_is_an_input_error_that_names_trace_and_field() -> None:
    for bad in ({"result_summary": "x"}, {"result_summary": "x", "confidence": None}):
        with pytest.raises(InputError, match=r"kp:trace:a.*confidence"):
            value(trace_of(FIVE_STEPS) | {"outcome": bad})


@pytest.mark.parametrize(
    "bad",
    [
        1.0000001,
        -0.0000001,
        1.7,
        -1,
        float("nan"),
        float("inf"),
        float("-inf"),
        pytest.param(10**400, id="1e400"),
        "0.9",
        True,
        [0.9],
        {},
    ],
)
def test_a_bad_confidence_is_an_input_error_that_names_trace_and_field(bad: Any) -> None:
    with pytest.raises(InputError, match=r"kp:trace:a.*outcome\.confidence"):
        value(trace_of(FIVE_STEPS, confidence=bad))


def test_empty_steps_are_an_input_error_that_names_trace_and_field() -> None:
    with pytest.raises(InputError, match=r"kp:trace:a.*steps"):
        value(trace_of([]))


@pytest.mark.parametrize("bad", ["plan", "Thought", "", None, 1])
def test_an_unknown_step_type_is_an_input_error(bad: Any) -> None:
    with pytest.raises(InputError, match=r"kp:trace:a.*steps.*type"):
        value(trace_of(["thought", bad]))


def of_another_tool(
    confidence: float | None, success: bool | None, types: Sequence[str] = FIVE_STEPS
) -> ReasoningTrace:
    """As a reader makes it from a log that does not state everything."""
    return ReasoningTrace(
        context="https://openknowledgepulse.org/schema/v1",
        kind="ReasoningTrace",
        id="kp:trace:log",
        metadata=Metadata(
            created_at="2026-03-01T09:00:00Z",
            task_domain="default",
            success=success,
            quality_score=0,
            visibility="private",
            privacy_level="private",
        ),
        task=Task(objective="Weigh the gold"),
        steps=[
            Step(step_id=i, type=kind, tool=Tool(name=tool) if tool else None)  # type: ignore[arg-type]
            for i, (kind, tool) in enumerate(zip(types, [*FIVE_TOOLS, *[None] * len(types)], strict=False))
        ],
        outcome=Outcome(result_summary="", confidence=confidence),
    )


@pytest.mark.parametrize(
    ("confidence", "success", "worst", "best"),
    [  # C, N and D bring .10625 + .175 + .15 = .43125; O brings at most .25
        (None, None, 0.43125, 0.68125),  # O 0 to 1
        (None, True, 0.43125, 0.68125),  # O 0 to 1
        (None, False, 0.43125, 0.50625),  # O 0 to 1 x .3
        (0.8, None, 0.49125, 0.63125),  # O .8 x .3 to .8
    ],
)
def test_what_a_log_does_not_state(confidence: float | None, success: bool | None, worst: float, best: float) -> None:
    score = value(of_another_tool(confidence, success))
    assert score.part("outcome_confidence").source == "default"
    assert score.details.range == pytest.approx((worst, best), abs=1e-12)


@pytest.mark.parametrize("success", [None, True])
def test_a_log_that_states_no_confidence_gets_one_half(success: bool | None) -> None:
    score = value(of_another_tool(None, success))
    assert score.part("outcome_confidence").value == 0.5
    assert score.value == pytest.approx(0.55625, abs=1e-12)  # .43125 + .5 x .25


@pytest.mark.parametrize("confidence", [None, 0.0, 0.1, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("success", [None, True, False])
def test_the_value_lies_in_its_range(confidence: float | None, success: bool | None) -> None:
    score = value(of_another_tool(confidence, success))
    if score.details.range is not None:
        worst, best = score.details.range
        assert worst <= float(score) <= best


def test_a_known_outcome_has_no_range() -> None:
    assert value(of_another_tool(0.8, success=True)).details.range is None
    assert value(trace_of(FIVE_STEPS)).details.range is None


def test_the_best_of_an_unknown_success_includes_the_bonus() -> None:
    types = ["thought", *["error_recovery"] * 3, "thought"]
    score = value(of_another_tool(None, None, types))
    # Tools 2 of 5: D 1. C = .25 + .3 + .05 = .6; .15 + .175 + .15 = .475; best: + .25 + .1
    assert score.details.range == pytest.approx((0.475, 0.825), abs=1e-12)
    assert rules(score) == []  # not known to have succeeded
