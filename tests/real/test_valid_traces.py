"""Every valid trace has a value, and nothing of it is lost on the way through."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.trace import ReasoningTrace, TraceValuer
from tests.law import assert_law
from tests.real.wholetrace import TEXT, TYPES, Trace

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
not_null = json_values.filter(lambda value: value is not None)  # null is a key that is not there
# The Python names of fields that JSON spells otherwise are unknown keys too.
unknown_keys = st.dictionaries(
    st.sampled_from(["extra", "context", "kind", "note", "", "x-1", "__class__", "金", "@id", "toDict"]),
    json_values,
    max_size=2,
)
words = st.text(max_size=20)


def with_unknown(
    required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[Trace]:
    """An object with these keys, and any unknown ones beside them."""
    known = st.fixed_dictionaries(required, optional=optional)
    return st.builds(lambda known, unknown: unknown | known, known, unknown_keys)


steps = with_unknown(
    {"step_id": st.integers(0, 2**62), "type": st.sampled_from(TYPES)},
    content=words,
    tool=with_unknown({"name": words}, mcp_server=words),
    input=not_null,
    output_summary=words,
    latency_ms=st.integers(0, 2**53) | st.floats(0, 1e300),
)
traces = with_unknown(
    {
        "@context": st.sampled_from(
            ["https://openknowledgepulse.org/schema/v1", "https://knowledgepulse.dev/schema/v1"]
        ),
        "@type": st.just("ReasoningTrace"),
        "id": words.map("kp:trace:{}".format),
        "metadata": with_unknown(
            {
                "created_at": st.datetimes().map(lambda at: at.isoformat() + "Z"),
                "task_domain": st.sampled_from(["default", "finance", "code", "medical", "customer_service"]) | words,
                "success": st.booleans(),
                "quality_score": st.floats(0, 1) | st.integers(0, 1),
                "visibility": st.sampled_from(["private", "org", "network"]),
                "privacy_level": st.sampled_from(["aggregated", "federated", "private"]),
            },
            agent_id=words,
            framework=words,
        ),
        "task": with_unknown({"objective": words}, input_schema=not_null),
        "steps": st.lists(steps, min_size=1, max_size=6),
        "outcome": with_unknown({"result_summary": words, "confidence": st.floats(0, 1) | st.integers(0, 1)}),
    },
    source_skill=words,
)


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
