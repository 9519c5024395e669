"""contains: which of the expected texts are in the output?"""

from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import nothing_to_judge, ratio
from scalepan.evals.scorers._text import TextOptions, actual_text, alike, all_expected, text_of
from scalepan.score import Score

NAME = "contains"
Options = TextOptions


class ContainsDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """The texts that were not found."""

    found: int
    total: int
    missing: list[str]


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """The share of texts that are found; `expected.contains`, else `expected.output`, is one text or a list of them."""
    options = context.options or Options()
    parts = [text_of(part) for part in all_expected(expected.contains, expected)]
    text = alike(actual_text(actual), options)
    missing = [part for part in parts if alike(part, options) not in text]
    found = len(parts) - len(missing)
    details = ContainsDetails(found=found, total=len(parts), missing=missing)
    if not parts:
        return nothing_to_judge(NAME, "no text is expected", details)
    return ratio(NAME, found / len(parts), f"{found} of {len(parts)} found", details)
