"""Scalepan judges LLM agents. Each answer is one number that explains itself.

    >>> import scalepan
    >>> from scalepan.samples import sample_trace
    >>> score = scalepan.TraceValuer().evaluate_value(sample_trace())
    >>> 0 <= float(score) <= 1
    True

This page is the public API. Names load when they are first used, so `import scalepan` costs next to nothing.
"""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.confidence import (
        ActionDecision,
        ConfidenceAggregator,
        ConfidenceCalculator,
        ConfidenceFactors,
        ConfidenceScore,
        Gate,
        InterventionLevel,
        LLMSelfEvaluator,
        QueryCoverageCalculator,
        SourceAgreementCalculator,
    )
    from scalepan.embed import find_encoder
    from scalepan.errors import InputError, PolicyError, ScalepanError
    from scalepan.evals import (
        Evaluator,
        ResponseTimeScorer,
        Scorer,
        ScorerDetails,
        ScorerResult,
        is_passed,
        scorer,
        weighted_average,
    )
    from scalepan.loop import Session, session
    from scalepan.memory import AsyncMemory, Memory
    from scalepan.policy import Policy, ScoringWeights, load_policy
    from scalepan.score import Part, Rule, Score
    from scalepan.trace import (
        ReasoningTrace,
        TraceValuer,
        VectorCache,
        evaluate_value,
        read_jsonl,
        record,
        recorded_tool,
    )

__version__ = "0.1.0"

_HOMES = {
    "scalepan.confidence": (
        "ActionDecision",
        "ConfidenceAggregator",
        "ConfidenceCalculator",
        "ConfidenceFactors",
        "ConfidenceScore",
        "Gate",
        "InterventionLevel",
        "LLMSelfEvaluator",
        "QueryCoverageCalculator",
        "SourceAgreementCalculator",
    ),
    "scalepan.embed": ("find_encoder",),
    "scalepan.errors": ("InputError", "ScalepanError", "PolicyError"),
    "scalepan.evals": (
        "Evaluator",
        "ResponseTimeScorer",
        "Scorer",
        "ScorerDetails",
        "ScorerResult",
        "is_passed",
        "scorer",
        "weighted_average",
    ),
    "scalepan.loop": ("Session", "session"),
    "scalepan.memory": ("AsyncMemory", "Memory"),
    "scalepan.policy": ("Policy", "ScoringWeights", "load_policy"),
    "scalepan.score": ("Part", "Rule", "Score"),
    "scalepan.trace": (
        "ReasoningTrace",
        "TraceValuer",
        "VectorCache",
        "evaluate_value",
        "read_jsonl",
        "record",
        "recorded_tool",
    ),
}
__all__ = [
    "ActionDecision",
    "AsyncMemory",
    "ConfidenceAggregator",
    "ConfidenceCalculator",
    "ConfidenceFactors",
    "ConfidenceScore",
    "Evaluator",
    "Gate",
    "InputError",
    "InterventionLevel",
    "LLMSelfEvaluator",
    "Memory",
    "Part",
    "Policy",
    "PolicyError",
    "QueryCoverageCalculator",
    "ReasoningTrace",
    "ResponseTimeScorer",
    "Rule",
    "ScalepanError",
    "Score",
    "Scorer",
    "ScorerDetails",
    "ScorerResult",
    "ScoringWeights",
    "Session",
    "SourceAgreementCalculator",
    "TraceValuer",
    "VectorCache",
    "__version__",
    "evaluate_value",
    "find_encoder",
    "is_passed",
    "load_policy",
    "read_jsonl",
    "record",
    "recorded_tool",
    "scorer",
    "session",
    "weighted_average",
]


__getattr__, __dir__ = lazily(__name__, _HOMES)
