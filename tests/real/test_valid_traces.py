"""Every valid trace has a value, and nothing of it is lost on the way through."""

import json
import math
from typing import Any

import pytest
from hypothesis import given

from scalepan.trace import ReasoningTrace, TraceValuer
from tests.law import assert_law
from tests.real.wholetrace import TEXT, Trace
from tests.trace.anytrace import traces


@given(traces)
def test_every_valid_trace_has_a_value(trace: Trace) -> None:
    score = TraceValuer().evaluate_value(trace)
    assert_law(score)
    assert score.value is not None
    assert math.isfinite(score.value)
    assert 0.0 <= score.value <= 1.0
    assert TraceValuer().peek(ReasoningTrace.from_dict(trace)).value == score.value


@given(traces)
def test_nothing_is_lost_on_the_way_through(trace: Trace) -> None:
    made = ReasoningTrace.from_dict(trace)
    assert made.to_dict() == trace
    assert ReasoningTrace.from_dict(made.to_dict()) == made


@given(traces)
def test_nothing_is_lost_on_the_way_through_json(trace: Trace) -> None:
    made = ReasoningTrace.from_json(json.dumps(trace))
    assert made.to_dict() == json.loads(json.dumps(trace))
    assert json.loads(made.to_json()) == json.loads(json.dumps(trace))


@pytest.mark.parametrize("inside", [{"id": "kp:trace:other"}, {"outcome": 3}, {"a": 1}, 5, None])
def test_no_key_of_the_format_can_be_smuggled_in_by_an_unknown_one(inside: Any) -> None:
    """Where unknown keys are kept in the meantime is nobody's business but the model's."""
    trace = json.loads(TEXT) | {"scalepan:extra": inside}
    del trace["metadata"]["note"]  # a trace without any other unknown key takes the fast way
    assert ReasoningTrace.from_dict(trace).to_dict() == trace
    assert ReasoningTrace.from_json(json.dumps(trace)).to_dict() == trace
