"""How sure may the agent be, and must a person step in?"""

from karat.confidence.batch import confidence_batch
from karat.confidence.calculator import ConfidenceAggregator, ConfidenceCalculator
from karat.confidence.decide import ActionDecision, InterventionLevel
from karat.confidence.evaluators import (
    LLMSelfEvaluator,
    QueryCoverageCalculator,
    SourceAgreementCalculator,
    judge_answer,
)
from karat.confidence.factors import ConfidenceFactors
from karat.confidence.formula import ConfidenceScore
from karat.confidence.gate import Answer, AskQueue, Gate, NotAllowedError, Question, Verdict, terminal

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
