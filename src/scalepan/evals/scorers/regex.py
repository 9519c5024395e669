"""regex: which of the expected patterns are found in the output?"""

import msgspec

from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.patterns import PatternTimeoutError, found, with_case
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import failed, nothing_to_judge, ratio
from scalepan.evals.scorers._text import actual_text, all_expected, text_of
from scalepan.score import Score

NAME = "regex"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`ignoreCase`: upper and lower case are the same. None: as the policy says."""

    ignore_case: bool | None = None


class RegexDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """Which patterns were not found."""

    matched_patterns: int
    total_patterns: int
    missing: list[str]


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """The share that is found; `expected.matches`, else `expected.output`, is one pattern or a list of them."""
    options: Options = context.options or Options()
    limits = with_case(context.policy.patterns, options.ignore_case)
    patterns = [text_of(pattern) for pattern in all_expected(expected.matches, expected)]
    text = actual_text(actual)
    try:
        missing = [p for p in patterns if not found(p, text, limits)]
    except PatternTimeoutError as error:
        return failed(NAME, str(error))
    hits = len(patterns) - len(missing)
    details = RegexDetails(matched_patterns=hits, total_patterns=len(patterns), missing=missing)
    if not patterns:
        return nothing_to_judge(NAME, "no pattern is expected", details)
    return ratio(NAME, hits / len(patterns), f"{hits} of {len(patterns)} found", details)
