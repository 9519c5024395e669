"""content-quality: does the generated content have what was asked for? (contract evals.15 to evals.18)"""

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from scalepan.check import in_order
from scalepan.errors import counted
from scalepan.evals.blocks import BlockOperation, content_text
from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context, Evidence
from scalepan.evals.patterns import PatternTimeoutError, found, with_case
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import failed, nothing_to_judge, ratio
from scalepan.policy.evals import Patterns
from scalepan.score import Score

NAME = "content-quality"
Scope = Literal["generated", "page"]


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`ignoreCase`: upper and lower case are the same; None: as the policy says. `scope`: where patterns are searched.

    `generated`: in what the output inserted or replaced on the page; `page`: in the whole resulting page.
    """

    ignore_case: bool | None = None
    scope: Annotated[Scope, in_order(Scope)] = "generated"


class Missed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A pattern that was not found, and the operation that asks for it."""

    page_id: str
    pattern: str
    exact: bool
    operation: BlockOperation


class ContentQualityDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """See contract evals.15; and each pattern that was not found."""

    matched_patterns: int
    total_patterns: int
    content_issues: list[str]
    missed_patterns: list[Missed]
    ignore_case: bool
    scope: Scope


def score(actual: Output, expected: Expected, context: Context) -> Score:  # noqa: ARG001 - every scorer's signature
    """Patterns found in the generated content, over all patterns. Exact content counts as a pattern."""
    options: Options = context.options or Options()
    try:
        details = match(expected, context, options.ignore_case, options.scope)
    except PatternTimeoutError as error:
        return failed(NAME, str(error))
    if not details.total_patterns:
        return nothing_to_judge(NAME, "no pattern is expected", details)
    note = f"{details.matched_patterns} of {counted(details.total_patterns, 'pattern')} found"
    return ratio(NAME, details.matched_patterns / details.total_patterns, note, details)


def match(expected: Expected, context: Context, ignore_case: bool | None, scope: Scope) -> ContentQualityDetails:
    """Look for every pattern on the page that its operation belongs to."""
    limits = with_case(context.policy.patterns, ignore_case)
    texts = searched(context.evidence, scope)
    total, issues, missed = 0, [], []
    for page_id, operation, wanted, exact in wanted_content(expected):
        total += 1
        text = texts.get(page_id, "")
        if not is_found(wanted, exact, text, limits):
            shown = text[: limits.shown_characters]
            issues.append(f"Page '{page_id}': Pattern '{wanted}' not found in content: '{shown}...'")
            missed.append(Missed(page_id=page_id, pattern=wanted, exact=exact, operation=operation))
    return ContentQualityDetails(
        matched_patterns=total - len(missed),
        total_patterns=total,
        content_issues=issues,
        missed_patterns=missed,
        ignore_case=limits.ignore_case,
        scope=scope,
    )


def searched(evidence: Evidence, scope: Scope) -> dict[str, str]:
    """By page, the text in which patterns are searched."""
    return evidence.texts if scope == "page" else evidence.generated


def wanted_content(expected: Expected) -> Iterator[tuple[str, BlockOperation, str, bool]]:
    """Page, operation, pattern or text, and whether the text is exact, for every operation that expects content."""
    for group in expected.operations:
        for operation in group.operations:
            for pattern in operation.expected_content_patterns or ():
                yield group.page_id, operation, pattern, False
            if operation.content is not None and operation.type != "delete":
                yield group.page_id, operation, content_text(operation), True


def expects_exactly(operation: BlockOperation) -> str | None:
    """The exact text that a golden operation asks for, if any."""
    return None if operation.content is None or operation.type == "delete" else content_text(operation)


def is_found(wanted: str, exact: bool, text: str, limits: Patterns) -> bool:
    """Whether a text matches the pattern, or has the exact text as one block or several in a row."""
    if exact:
        return f"\n{wanted}\n" in f"\n{text}\n"
    return found(wanted, text, limits)
