"""Is the output right? Cases, blocks, scorers, verdicts, and what broke."""

from scalepan.evals.apply import Applied, OperationOutcome, apply
from scalepan.evals.blocks import Block, BlockOperation, Page, PageOperations, Run
from scalepan.evals.cases import Case, Expected, Output
from scalepan.evals.context import Context, Evidence
from scalepan.evals.diagnose import Cause, Diagnosis, diagnose
from scalepan.evals.lint import lint
from scalepan.evals.load import CaseFile, OutputFile
from scalepan.evals.registry import Scorer, scorer
from scalepan.evals.result import ScorerDetails, ScorerResult, is_passed, weighted_average
from scalepan.evals.run import CaseResult, Evaluator
from scalepan.evals.schema import cases_schema, outputs_schema
from scalepan.evals.scorers.response_time import ResponseTimeScorer
from scalepan.evals.task import as_task

__all__ = [
    "Applied",
    "Block",
    "BlockOperation",
    "Case",
    "CaseFile",
    "CaseResult",
    "Cause",
    "Context",
    "Diagnosis",
    "Evaluator",
    "Evidence",
    "Expected",
    "OperationOutcome",
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
