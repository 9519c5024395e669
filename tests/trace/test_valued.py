"""Rows have the numbers of the Score, bit for bit, and a Score that is made late is the one made at once."""

import copy
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.policy import Policy, load_policy
from scalepan.score import Score
from scalepan.trace import ReasoningTrace, TraceValuer
from scalepan.trace.rows import ValueRow, row_of
from tests.law import assert_law
from tests.trace.anytrace import logged_traces, traces
from tests.trace.spec import value_of
from tests.trace.test_value import Letters
from tests.trace.traces import trace, trace_dict

POLICIES = [
    load_policy(env={}, overrides={"value": value})
    for value in (
        {},
        {"complexity": {"cap_length": True}, "tool_diversity": {"multiplier": 9.0}, "novelty": {"fallback": 0.9}},
        # Rules that nearly always apply, and lead out of the range.
        {
            "error_recovery_bonus": {"more_than": 0, "add": 1.0},
            "zero_diversity_penalty": {"at_most": 3, "subtract": 0.7},
            "single_step_penalty": {"value": 0.9},
            "outcome_confidence": {"failure_factor": 0.9, "fallback": 0.1},
        },
        {"aliases": {"": "medical"}, "gate": 0.2, "gates": {"code": 0.9, "medical": 0.0}},
    )
]
any_trace = traces | logged_traces()


def row_from_score(data: ReasoningTrace, score: Score) -> dict[str, Any]:
    """The row as the explained value has it."""
    details, origin = score.details, data.origin
    worst, best = details.range or (score.value, score.value)
    values = {part.name: part.value for part in score.parts}
    sources = {part.name: part.source for part in score.parts}
    tools = [step.tool.name for step in data.steps if step.tool is not None]
    kept = ("project", "session", "parent", "model", "input_tokens", "output_tokens")
    return {
        **values,
        **{name: getattr(origin, name) if origin else None for name in kept},
        "id": data.id,
        "value": score.value,
        "novelty_source": sources["novelty"],
        "outcome_source": sources["outcome_confidence"],
        "base": score.base,
        "rules": ",".join(rule.name for rule in score.rules),
        "verdict": details.gate.verdict,
        "threshold": details.gate.threshold,
        "worst": worst,
        "best": best,
        "nearest": details.nearest.id if details.nearest else None,
        "similarity": details.nearest.similarity if details.nearest else None,
        "domain": data.metadata.task_domain,
        "profile": details.profile,
        "success": data.metadata.success,
        "created_at": data.metadata.created_at,
        "steps": len(data.steps),
        "tools": len(set(tools)),
        "recoveries": sum(step.type == "error_recovery" for step in data.steps),
        "format": origin.format if origin else "native",
        "policy": score.policy,
        "file": "t.jsonl",
        "number": 7,
    }


def bits(row: dict[str, Any]) -> dict[str, Any]:
    """Floats to their last bit, so that -0.0 is not 0.0."""
    return {key: value.hex() if isinstance(value, float) else value for key, value in row.items()}


def rows(valuer: TraceValuer, data: list[ReasoningTrace]) -> list[ValueRow]:
    return [row_of("t.jsonl", 7, valued) for valued in valuer.value_many(data)]


@given(st.lists(any_trace, min_size=1, max_size=3), st.sampled_from(POLICIES), st.booleans())
def test_a_row_has_the_numbers_of_the_score_bit_for_bit(
    data: list[dict[str, Any]], policy: Policy, encoded: bool
) -> None:
    decoded = [ReasoningTrace.from_dict(one) for one in data]
    embedder = Letters() if encoded else None
    scores = list(map(TraceValuer(policy, embedder=embedder).evaluate_value, decoded))
    fast = rows(TraceValuer(policy, embedder=embedder), decoded)
    for one, score, row in zip(decoded, scores, fast, strict=True):
        assert_law(score)
        assert bits(msgspec.structs.asdict(row)) == bits(row_from_score(one, score))


@given(traces)
def test_a_row_has_the_value_of_the_contract(data: dict[str, Any]) -> None:
    (row,) = rows(TraceValuer(Policy(), embedder=None), [ReasoningTrace.from_dict(data)])
    types = [step["type"] for step in data["steps"]]
    tools = [step["tool"]["name"] if "tool" in step else None for step in data["steps"]]
    metadata = data["metadata"]
    expected = value_of(
        types, tools, data["outcome"]["confidence"], metadata["success"], domain=metadata["task_domain"]
    )
    assert row.value == expected


@given(any_trace, st.sampled_from(POLICIES))
def test_a_score_that_is_made_late_is_the_one_made_at_once(data: dict[str, Any], policy: Policy) -> None:
    valuer, decoded = TraceValuer(policy, embedder=None), ReasoningTrace.from_dict(data)
    (valued,) = valuer.value_many([decoded])
    at_once = valuer.evaluate_value(decoded)
    late = valued.score
    took = msgspec.structs.replace(late.details, took_ms=at_once.details.took_ms)
    assert msgspec.structs.replace(late, details=took) == at_once
    assert valued.score is late
    assert valued.value == at_once.value


def test_nodes_without_unknown_keys_share_an_extra_that_nobody_can_write_to() -> None:
    empty = trace().extra
    with pytest.raises(TypeError, match="a trace is immutable"):
        empty["note"] = 1
    assert trace().extra == {}


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_trace_with_unknown_keys_can_be_copied_and_sent_to_another_process(again: Any) -> None:
    data = trace_dict() | {"note": {"deep": [1]}}
    copied = again(ReasoningTrace.from_dict(data))
    assert copied == ReasoningTrace.from_dict(data)
    assert copied.to_dict() == data
