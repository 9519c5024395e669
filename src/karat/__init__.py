"""Karat judges LLM agents. Each answer is one number that explains itself.

    >>> import karat
    >>> from karat.samples import sample_trace
    >>> score = karat.TraceValuer().evaluate_value(sample_trace())
    >>> 0 <= float(score) <= 1
    True

This page is the public API. Names load when they are first used, so `import karat` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karat.confidence import (
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
    from karat.embed import find_encoder
    from karat.errors import InputError, KaratError, PolicyError
    from karat.evals import (
        Evaluator,
        ResponseTimeScorer,
        Scorer,
        ScorerDetails,
        ScorerResult,
        is_passed,
        scorer,
        weighted_average,
    )
    from karat.loop import Session, session
    from karat.memory import Memory
    from karat.policy import Policy, ScoringWeights, load_policy
    from karat.score import Part, Rule, Score
    from karat.trace import ReasoningTrace, TraceValuer, VectorCache, evaluate_value, read_jsonl

__version__ = "0.1.0"

_HOMES = {
    "karat.confidence": (
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
    "karat.embed": ("find_encoder",),
    "karat.errors": ("InputError", "KaratError", "PolicyError"),
    "karat.evals": (
        "Evaluator",
        "ResponseTimeScorer",
        "Scorer",
        "ScorerDetails",
        "ScorerResult",
        "is_passed",
        "scorer",
        "weighted_average",
    ),
    "karat.loop": ("Session", "session"),
    "karat.memory": ("Memory",),
    "karat.policy": ("Policy", "ScoringWeights", "load_policy"),
    "karat.score": ("Part", "Rule", "Score"),
    "karat.trace": ("ReasoningTrace", "TraceValuer", "VectorCache", "evaluate_value", "read_jsonl"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ActionDecision",
    "ConfidenceAggregator",
    "ConfidenceCalculator",
    "ConfidenceFactors",
    "ConfidenceScore",
    "Evaluator",
    "Gate",
    "InputError",
    "InterventionLevel",
    "KaratError",
    "LLMSelfEvaluator",
    "Memory",
    "Part",
    "Policy",
    "PolicyError",
    "QueryCoverageCalculator",
    "ReasoningTrace",
    "ResponseTimeScorer",
    "Rule",
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
    "scorer",
    "session",
    "weighted_average",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'karat' has no attribute '{name}'")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
