"""How sure may the agent be, and must a person step in?"""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.confidence.ask import AskQueue, terminal
    from scalepan.confidence.batch import confidence_batch
    from scalepan.confidence.calculator import ConfidenceAggregator, ConfidenceCalculator
    from scalepan.confidence.decide import ActionDecision, InterventionLevel
    from scalepan.confidence.evaluators import (
        LLMSelfEvaluator,
        QueryCoverageCalculator,
        SourceAgreementCalculator,
        judge_answer,
    )
    from scalepan.confidence.factors import ConfidenceFactors
    from scalepan.confidence.formula import ConfidenceScore
    from scalepan.confidence.gate import Answer, Gate, NotAllowedError, Verdict
    from scalepan.confidence.question import Question

__all__ = [
    "ActionDecision",
    "Answer",
    "AskQueue",
    "ConfidenceAggregator",
    "ConfidenceCalculator",
    "ConfidenceFactors",
    "ConfidenceScore",
    "Gate",
    "InterventionLevel",
    "LLMSelfEvaluator",
    "NotAllowedError",
    "QueryCoverageCalculator",
    "Question",
    "SourceAgreementCalculator",
    "Verdict",
    "confidence_batch",
    "judge_answer",
    "terminal",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.confidence.ask": ["AskQueue", "terminal"],
        "scalepan.confidence.batch": ["confidence_batch"],
        "scalepan.confidence.calculator": ["ConfidenceAggregator", "ConfidenceCalculator"],
        "scalepan.confidence.decide": ["ActionDecision", "InterventionLevel"],
        "scalepan.confidence.evaluators": [
            "LLMSelfEvaluator",
            "QueryCoverageCalculator",
            "SourceAgreementCalculator",
            "judge_answer",
        ],
        "scalepan.confidence.factors": ["ConfidenceFactors"],
        "scalepan.confidence.formula": ["ConfidenceScore"],
        "scalepan.confidence.gate": ["Answer", "Gate", "NotAllowedError", "Verdict"],
        "scalepan.confidence.question": ["Question"],
    },
)
