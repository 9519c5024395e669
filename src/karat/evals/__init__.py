"""Is the output right? Cases, blocks, scorers, verdicts, and what broke."""

from karat.evals.apply import Applied, Outcome, apply
from karat.evals.blocks import Block, Operation, Page, PageOperations, Run
from karat.evals.cases import Case, Expected, Output
from karat.evals.context import Context, Evidence
from karat.evals.diagnose import Cause, Diagnosis, diagnose
from karat.evals.lint import lint
from karat.evals.load import CaseFile, OutputFile
from karat.evals.registry import Scorer, scorer
from karat.evals.result import ScorerDetails, ScorerResult, is_passed, weighted_average
from karat.evals.run import CaseResult, Evaluator
from karat.evals.schema import cases_schema, outputs_schema
from karat.evals.scorers.response_time import ResponseTimeScorer
from karat.evals.task import as_task

__all__ = [
    "Applied",
    "Block",
    "Case",
    "CaseFile",
    "CaseResult",
    "Cause",
    "Context",
    "Diagnosis",
    "Evaluator",
    "Evidence",
    "Expected",
    "Operation",
    "Outcome",
    "Output",
    "OutputFile",
    "Page",
    "PageOperations",
    "ResponseTimeScorer",
    "Run",
    "Scorer",
    "ScorerDetails",
    "ScorerResult",
    "apply",
    "as_task",
    "cases_schema",
    "diagnose",
    "is_passed",
    "lint",
    "outputs_schema",
    "scorer",
    "weighted_average",
]
