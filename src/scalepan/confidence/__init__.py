"""How sure may the agent be, and must a person step in?"""

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
