"""contains: which of the expected texts are in the output?"""

from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import ratio
from scalepan.evals.scorers._text import TextOptions, alike, expected_of, text_of
from scalepan.score import Score

NAME = "contains"
Options = TextOptions


class Details(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """What was looked for and not found."""

    found: int
    total: int
    missing: list[str]


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """The share that is there; `expected.output` is one text or a list of them."""
    options = context.options or Options()
    wanted = expected_of(expected)
    parts = [text_of(part) for part in (wanted if isinstance(wanted, list) else [wanted])]
    text = alike(text_of(actual.output), options)
    missing = [part for part in parts if alike(part, options) not in text]
    found = len(parts) - len(missing)
    details = Details(found=found, total=len(parts), missing=missing)
    return ratio(NAME, found / len(parts) if parts else 1.0, f"{found} of {len(parts)} found", details)
