"""The value of a trace as the contract has it, in plain Python, and traces and an embedder to try it with."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scalepan.policy import load_policy
from scalepan.score import Score
from scalepan.trace import ReasoningTrace, TraceValuer, VectorCache
from tests.law import assert_law

Trace = dict[str, Any]
Vectors = npt.NDArray[np.float32]

TYPES = ("thought", "tool_call", "observation", "error_recovery")
WEIGHTS = {  # value-2, "available profiles": wC, wN, wD, wO
    "default": (0.25, 0.35, 0.15, 0.25),
    "finance": (0.20, 0.25, 0.10, 0.45),
    "code": (0.20, 0.30, 0.30, 0.20),
    "medical": (0.15, 0.20, 0.10, 0.55),
    "customer_service": (0.20, 0.30, 0.20, 0.30),
}
PART_NAMES = ["complexity", "novelty", "tool_diversity", "outcome_confidence"]


# The contract's expressions, left to right, in plain Python


def c_of(types: Sequence[str]) -> float:
    """`min(1.0, (uniqueTypes / 4) * 0.5 + (errorRecovery > 0 ? 0.3 : 0) + (steps.length / 20) * 0.2)`"""
    recovered = 0.3 if types.count("error_recovery") > 0 else 0
    return min(1.0, (len(set(types)) / 4) * 0.5 + recovered + (len(types) / 20) * 0.2)


def d_of(tools: Sequence[str | None]) -> float:
    """`min(1.0, (uniqueTools / max(1, steps.length)) * 3)`"""
    unique = len({tool for tool in tools if tool is not None})
    return min(1.0, (unique / max(1, len(tools))) * 3)


def o_of(confidence: float, success: bool) -> float:
    """`outcome.confidence * (metadata.success ? 1.0 : 0.3)`"""
    return confidence * (1.0 if success else 0.3)


def value_of(
    types: Sequence[str],
    tools: Sequence[str | None],
    confidence: float,
    success: bool,
    n: float = 0.5,
    domain: str = "default",
) -> float:
    """The weighted sum, then the three overrides in order."""
    w = WEIGHTS.get(domain, WEIGHTS["default"])
    score = c_of(types) * w[0] + n * w[1] + d_of(tools) * w[2] + o_of(confidence, success) * w[3]
    if len(types) == 1 and types[0] == "thought":
        score = 0.1
    if types.count("error_recovery") > 2 and success:
        score = min(1.0, score + 0.1)
    if len(set(tools) - {None}) <= 1 and any(tool is not None for tool in tools):
        score = max(0.0, score - 0.1)
    return min(1.0, max(0.0, score))


# Traces to work with


def trace_of(
    types: Sequence[str],
    tools: Sequence[str | None] = (),
    confidence: float = 0.9,
    success: bool = True,
    domain: str = "default",
    objective: str = "Weigh the gold",
    name: str = "a",
) -> Trace:
    """A valid trace; the i-th step carries the i-th tool, where there is one."""
    steps: list[dict[str, Any]] = [{"step_id": i, "type": kind, "content": f"step {i}"} for i, kind in enumerate(types)]
    for step, tool in zip(steps, tools, strict=False):
        if tool is not None:
            step["tool"] = {"name": tool}
    return {
        "@context": "https://openknowledgepulse.org/schema/v1",
        "@type": "ReasoningTrace",
        "id": f"kp:trace:{name}",
        "metadata": {
            "created_at": "2026-03-01T09:00:00Z",
            "task_domain": domain,
            "success": success,
            "quality_score": 0,
            "visibility": "network",
            "privacy_level": "aggregated",
        },
        "task": {"objective": objective},
        "steps": steps,
        "outcome": {"result_summary": "Weighed", "confidence": confidence},
    }


FIVE_STEPS = ("thought", "tool_call", "observation", "tool_call", "observation")
FIVE_TOOLS = (None, "reader", None, "analyser", None)  # both worked examples of the contract: 5 steps, 3 types, 2 tools


def value(trace: Trace | ReasoningTrace, **overrides: Any) -> Score:
    """The value without an embedder, checked against the law."""
    policy = load_policy(overrides={"value": overrides}) if overrides else None
    score = TraceValuer(policy, embedder=None).evaluate_value(trace)
    assert_law(score)
    return score


def parts(score: Score) -> dict[str, float]:
    return {part.name: part.value for part in score.parts}


def rules(score: Score) -> list[str]:
    return [rule.name for rule in score.rules]


class Table:
    """An embedder that looks each text up by its first word, and remembers what it was asked."""

    model_id = "table"

    def __init__(self, **vectors: Sequence[float]) -> None:
        self.vectors = vectors
        self.dimensions = len(next(iter(vectors.values())))
        self.asked: list[str] = []

    def load(self) -> None:
        """Is ready as it is."""

    def is_cut(self, text: str, kind: str = "passage") -> bool:
        return False

    def encode(self, texts: Sequence[str], kind: str = "passage") -> Vectors:
        self.asked += texts
        return np.array([self.vectors[text.split()[0]] for text in texts], dtype=np.float32)


EAST, NORTH, WEST, NORTHEAST = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.6, 0.8, 0.0)


def compass(cache: VectorCache | None = None, **overrides: Any) -> TraceValuer:
    """A valuer that knows four directions; no budget, so that a slow machine changes nothing."""
    return TraceValuer(
        load_policy(overrides={"value": {"budget_ms": None, **overrides}}),
        cache if cache is not None else VectorCache(dimensions=3),
        Table(east=EAST, north=NORTH, west=WEST, northeast=NORTHEAST, nowhere=(0.0, 0.0, 0.0)),
    )


def facing(direction: str, **kwargs: Any) -> Trace:
    kwargs = {"types": FIVE_STEPS, "tools": FIVE_TOOLS, **kwargs}
    return trace_of(objective=direction, name=direction, **kwargs)


def novelty(score: Score) -> tuple[float, str]:
    """N to six places, and where it comes from."""
    assert_law(score)
    part = score.part("novelty")
    return round(part.value, 6), part.source
