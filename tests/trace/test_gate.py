"""The gate: share or keep, and what would have to rise by how much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.policy import load_policy
from scalepan.trace import TraceValuer
from scalepan.trace.formula import after_rules, shape_of
from tests.trace.traces import trace


def test_from_the_gate_on_a_trace_is_shared() -> None:
    score = TraceValuer(embedder=None).peek(trace())
    at = TraceValuer(load_policy(overrides={"value": {"gate": score.value}})).peek(trace())
    above = TraceValuer(load_policy(overrides={"value": {"gate": float(score) + 1e-9}})).peek(trace())
    assert at.details.gate.verdict == "share"
    assert above.details.gate.verdict == "keep"


def test_a_domain_has_its_own_gate_by_its_name_or_its_alias() -> None:
    valuer = TraceValuer(load_policy(overrides={"value": {"gates": {"code": 0.1}, "aliases": {"coding": "code"}}}))
    thresholds = [valuer.peek(trace(domain=domain)).details.gate.threshold for domain in ("code", "coding", "finance")]
    assert thresholds == [0.1, 0.1, 0.75]


def test_the_gate_says_which_part_would_have_to_rise_by_how_much() -> None:
    # C = 3/4 x .5 + 3/20 x .2 = .405, N = .5, D = min(1, 2/3 x 3) = 1, O = .8
    # value = .405 x .25 + .5 x .35 + 1 x .15 + .8 x .25 = .62625; lacking .12375
    score = TraceValuer(embedder=None).peek(
        trace(("thought", "tool_call", "tool_call", "observation")[:4], ("a", "b"), confidence=0.8)
    )
    # four steps: C = .375 + .04 = .415, value = .62875; lacking .12125
    gate = score.details.gate
    assert gate.short_by == pytest.approx(0.12125)
    rises = {rise.part: (rise.by, rise.to) for rise in gate.would_pass}
    assert rises["novelty"] == pytest.approx((0.12125 / 0.35, 0.5 + 0.12125 / 0.35))
    assert rises["complexity"] == pytest.approx((0.12125 / 0.25, 0.415 + 0.12125 / 0.25))
    assert "tool_diversity" not in rises  # it is 1 already
    assert "outcome_confidence" not in rises  # .8 + .485 would be over 1
    assert str(gate).startswith("keep (0.121 below 0.75): raise novelty by 0.346 to 0.846 or complexity by 0.485")


def test_a_single_thought_cannot_be_lifted_by_any_part() -> None:
    gate = TraceValuer(embedder=None).peek(trace(("thought",), ())).details.gate
    assert gate.would_pass == ()
    assert str(gate) == "keep (0.650 below 0.75): no single part can lift it that far"


steps = st.lists(st.sampled_from(["thought", "tool_call", "observation", "error_recovery"]), min_size=1, max_size=30)


@given(steps, st.integers(0, 3), st.floats(0, 1), st.booleans(), st.sampled_from(["default", "finance", "code", "x"]))
def test_a_part_raised_as_the_gate_says_reaches_it_and_less_does_not(
    types: list[str], tools: int, confidence: float, success: bool, domain: str
) -> None:
    valuer = TraceValuer(load_policy())
    tried = trace(types, ["a", "b", "c"][:tools], confidence=confidence, success=success, domain=domain)
    score = valuer.peek(tried)
    shape, policy = shape_of(tried), valuer.policy.value

    def value_if(part_name: str, to: float) -> float:
        base = sum((to if part.name == part_name else part.value) * part.weight for part in score.parts)
        return after_rules(base, shape, success, policy)

    gate = score.details.gate
    can = {rise.part for rise in gate.would_pass}
    for rise in gate.would_pass:
        assert value_if(rise.part, rise.to) == pytest.approx(gate.threshold, abs=1e-9)
        assert value_if(rise.part, rise.to - 1e-6) < gate.threshold
    if gate.verdict == "keep":
        for part in score.parts:
            if part.name not in can:
                assert value_if(part.name, 1.0) < gate.threshold + 1e-9
