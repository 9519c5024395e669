"""What a trace's value was computed from, and how it is recomputed. Only counts of the trace are stored."""

from collections.abc import Mapping
from typing import Any

import msgspec

from scalepan.policy.value import ScoringWeights, Value
from scalepan.score import Part, Score
from scalepan.trace import formula
from scalepan.trace.formula import Shape
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.value import outcome_of

CONSTANTS = (
    *("complexity", "tool_diversity", "outcome_confidence", "single_step_penalty", "error_recovery_bonus"),
    "zero_diversity_penalty",
)
"""The keys of the policy section that the formula uses, besides the weights and the gate of the trace's domain."""


def inputs_of(trace: ReasoningTrace, score: Score, policy: Value) -> dict[str, Any]:
    """What is stored of a trace that was valued."""
    section, domain = msgspec.to_builtins(policy), trace.metadata.task_domain
    return {
        "shape": formula.shape_of(trace)._asdict(),
        "novelty": score.part("novelty").value,
        "confidence": trace.outcome.confidence,
        "success": trace.metadata.success,
        "weights": msgspec.to_builtins(policy.profile(domain)[1]),
        "gate": policy.gate_for(domain),
        "policy": {name: section[name] for name in CONSTANTS},
        "policy_version": score.policy,
    }


def body_of(score: Score) -> dict[str, Any]:
    """The score as it is stored: only the verdict of its details, because the rest names other traces."""
    return msgspec.structs.replace(score, details={"verdict": score.details.gate.verdict}).to_dict()


def recompute(inputs: Mapping[str, Any]) -> Score:
    """The value, recomputed."""
    policy = msgspec.convert(inputs["policy"], Value)
    weights = msgspec.convert(inputs["weights"], ScoringWeights)
    shape, novelty = Shape(**inputs["shape"]), inputs["novelty"]
    outcome = outcome_of(inputs["confidence"], inputs["success"], policy)
    c, d = formula.complexity(shape, policy), formula.tool_diversity(shape, policy)
    base = formula.composite(c, novelty, d, outcome.value, weights)
    rules = formula.rules(base, shape, inputs["success"] is True, policy)
    value = rules[-1].after if rules else base
    return Score(
        "value",
        value,
        parts=(
            Part("complexity", c, weights.complexity),
            Part("novelty", novelty, weights.novelty),
            Part("tool_diversity", d, weights.tool_diversity),
            Part("outcome_confidence", outcome.value, weights.outcome_confidence),
        ),
        base=base,
        rules=rules,
        details={"verdict": "share" if value >= inputs["gate"] else "keep"},
        policy=inputs["policy_version"],
    )
