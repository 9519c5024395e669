"""regex: which of the expected patterns are found in the output?"""

import msgspec

from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.patterns import PatternTimeoutError, found, with_case
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import failed, ratio
from scalepan.evals.scorers._text import expected_of, text_of
from scalepan.score import Score

NAME = "regex"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`ignoreCase`: upper and lower case are the same. None: as the policy says."""

    ignore_case: bool | None = None


class Details(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """Which patterns were not found."""

    matched_patterns: int
    total_patterns: int
    missing: list[str]


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """The share that is found; `expected.output` is one pattern or a list of them."""
    options: Options = context.options or Options()
    limits = with_case(context.policy.patterns, options.ignore_case)
    wanted = expected_of(expected)
    patterns = wanted if isinstance(wanted, list) else [wanted]
    text = text_of(actual.output)
    try:
        missing = [p for p in patterns if not found(p, text, limits)]
    except PatternTimeoutError as error:
        return failed(NAME, str(error))
    hits = len(patterns) - len(missing)
    details = Details(matched_patterns=hits, total_patterns=len(patterns), missing=missing)
    return ratio(NAME, hits / len(patterns) if patterns else 1.0, f"{hits} of {len(patterns)} found", details)
