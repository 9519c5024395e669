"""operation-result: could the operations be applied, and is the result good? (contract evals.19, evals.20)"""

import msgspec

from scalepan.errors import counted
from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.patterns import PatternTimeoutError
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers import content_quality
from scalepan.evals.scorers._ratio import failed
from scalepan.score import Part, Score

NAME = "operation-result"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`ignoreCase`: upper and lower case are the same. None: as the policy says."""

    ignore_case: bool | None = None


class NotApplied(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An operation that had no effect, and why."""

    page_id: str
    type: str
    reason: str


class OperationResultDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """Both halves, and what could not be applied."""

    application_success_rate: float
    content_score: float | None
    applied_operations: int
    attempted_operations: int
    not_applied: list[NotApplied]


def score(actual: Output, expected: Expected, context: Context) -> Score:  # noqa: ARG001 - every scorer's signature
    """0.6 × the share that applied + 0.4 × the content score; without patterns, the share alone."""
    outcomes = context.evidence.applied.outcomes
    applied = sum(outcome.applied for outcome in outcomes)
    if outcomes:
        rate = applied / len(outcomes)
    else:
        rate = 0.0 if any(group.operations for group in expected.operations) else 1.0
    options: Options = context.options or Options()
    try:
        # The final page (contract evals.19): what was there already counts as well.
        content = content_quality.match(expected, context, options.ignore_case, "page")
    except PatternTimeoutError as error:
        return failed(NAME, str(error))
    quality = content.matched_patterns / content.total_patterns if content.total_patterns else None
    details = OperationResultDetails(
        application_success_rate=rate,
        content_score=quality,
        applied_operations=applied,
        attempted_operations=len(outcomes),
        not_applied=[
            NotApplied(page_id=o.page_id, type=o.operation.type, reason=o.reason) for o in outcomes if not o.applied
        ],
    )
    note = f"{applied} of {len(outcomes)} applied"
    if quality is None:
        return Score(NAME, rate, parts=(Part("applied", rate, 1.0, note=note),), base=rate, details=details)
    key = context.policy.operation_result
    value = (rate * key.applied_weight) + (quality * key.content_weight)
    found = f"{content.matched_patterns} of {counted(content.total_patterns, 'pattern')} found"
    parts = (
        Part("applied", rate, key.applied_weight, note=note),
        Part("content", quality, key.content_weight, note=found),
    )
    return Score(NAME, value, parts=parts, base=value, details=details)
