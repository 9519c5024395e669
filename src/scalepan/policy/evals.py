"""Constants of the scorers: thresholds, presets, limits (docs/contract/evals.md)."""

from typing import Annotated, Any

import msgspec

from scalepan.policy._fields import Section, choice, count, number, share


def _use(type_: str, weight: float, threshold: float) -> dict[str, Any]:
    return {"type": type_, "weight": weight, "threshold": threshold}


PRESETS: dict[str, list[dict[str, Any]]] = {
    "standard": [
        _use("operation-accuracy", 1.0, 0.8),
        _use("target-block-precision", 1.0, 0.75),
        _use("content-quality", 1.0, 0.6),
    ],
    "strict": [
        _use("operation-accuracy", 1.0, 0.9),
        _use("target-block-precision", 1.0, 0.9),
        _use("content-quality", 1.0, 0.8),
        _use("anti-hallucination", 2.0, 1.0),
    ],
    "operation-focused": [
        _use("operation-accuracy", 2.0, 0.9),
        _use("target-block-precision", 1.5, 0.85),
        _use("content-quality", 0.5, 0.5),
    ],
}
THRESHOLDS = {
    "operation-accuracy": 0.8,
    "target-block-precision": 0.75,
    "content-quality": 0.6,
    "operation-result": 0.8,
    "anti-hallucination": 1.0,
    "response-time": 1.0,
    "exact": 1.0,
    "contains": 1.0,
    "regex": 1.0,
    "json-equal": 1.0,
    "levenshtein": 0.8,
    "numeric": 1.0,
    "embedding-similarity": 0.8,
    "llm-judge": 0.7,
}

LONGEST_PATTERN = 10_000
LONGEST_SEARCH_MS = 60_000
"""Upper limits for a policy, which may come with somebody else's cases."""


class OperationResult(Section, frozen=True, kw_only=True):
    """Did the operations apply, and is the result good?"""

    applied_weight: Annotated[float, share("weight of the share of operations that applied")] = 0.6
    content_weight: Annotated[float, share("weight of the resulting content")] = 0.4

    def __post_init__(self) -> None:
        if abs(self.applied_weight + self.content_weight - 1.0) > 1e-9:
            raise ValueError(f"the weights add up to {self.applied_weight + self.content_weight:g}, not 1")


class Patterns(Section, frozen=True, kw_only=True):
    """Regular expressions over page content."""

    ignore_case: Annotated[bool, choice("whether upper and lower case are the same")] = False
    timeout_ms: Annotated[
        float, number("how long one pattern may search; after that the scorer fails", "ms", gt=0, le=LONGEST_SEARCH_MS)
    ] = 1000.0
    longest: Annotated[
        int, number("how long a pattern may be; a longer one is refused", "characters", ge=1, le=LONGEST_PATTERN)
    ] = 1000
    shown_characters: Annotated[int, count("how much content an issue quotes", "characters", 1)] = 100


class Evals(Section, frozen=True, kw_only=True):
    """Is the output right?"""

    version: Annotated[str, choice("your label for this section; comes before its hash")] = ""
    preset: Annotated[str, choice("the preset used if nothing else is set")] = "standard"
    presets: Annotated[
        dict[str, list[dict[str, Any]]], choice("lists of scorers by name: type, weight, threshold, options")
    ] = msgspec.field(default_factory=PRESETS.copy)
    thresholds: Annotated[
        dict[str, Annotated[float, share("the scorer passes from this score on")]], choice("thresholds by scorer")
    ] = msgspec.field(default_factory=THRESHOLDS.copy)
    strict_operations: Annotated[bool, choice("whether operations that nobody asked for lower operation-accuracy")] = (
        False
    )
    literal_hallucination: Annotated[
        bool, choice("any new block fails, even if it was asked for (contract evals.22)")
    ] = False
    long_document: Annotated[
        int, count("from this length on, content missed after the first third points to context loss", "blocks", 1)
    ] = 20
    operation_result: OperationResult = OperationResult()
    patterns: Patterns = Patterns()

    def __post_init__(self) -> None:
        if self.preset not in self.presets:
            raise ValueError(f"preset '{self.preset}' is not one of {', '.join(self.presets)}")
