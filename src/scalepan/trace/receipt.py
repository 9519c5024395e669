"""What a trace's value was computed from, and how it is recomputed. Only counts of the trace are stored."""

from collections.abc import Mapping
from typing import Any

import msgspec

from scalepan.policy.value import ScoringWeights, Value
from scalepan.score import Part, Score
from scalepan.trace import formula
from scalepan.trace.formula import Shape
from scalepan.trace.gate import verdict
from scalepan.trace.model import ReasoningTrace

CONSTANTS = (
    *("complexity", "tool_diversity", "outcome_confidence", "single_step_penalty", "error_recovery_bonus"),
    "zero_diversity_penalty",
)
"""The keys of the policy section that the formula uses, besides the weights and the gate of the trace's domain."""


def inputs_of(trace: ReasoningTrace, score: Score, policy: Value) -> dict[str, Any]:
    """What is stored of a trace that was valued."""
    section, domain = msgspec.to_builtins(policy), trace.metadata.task_domain
    return {
        "shape": msgspec.structs.asdict(formula.shape_of(trace)),
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
    novelty = Part("novelty", inputs["novelty"], weights.novelty)
    outcome = formula.outcome_of(inputs["confidence"], inputs["success"], policy)
    shape, version = Shape(**inputs["shape"]), inputs["policy_version"]
    numbers = formula.value_numbers(shape, novelty.value, outcome, weights, policy)
    score = formula.value_score(numbers, shape, novelty, outcome, weights, version)
    return msgspec.structs.replace(score, details={"verdict": verdict(numbers.value, inputs["gate"])})
