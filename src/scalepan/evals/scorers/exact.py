"""exact: is the output the expected text?"""

from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.result import as_json
from scalepan.evals.scorers._ratio import ratio
from scalepan.evals.scorers._text import TextDetails, TextOptions, texts
from scalepan.score import Score

NAME = "exact"
Options = TextOptions


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """1 if both are the same, else 0."""
    got, wanted = texts(actual, expected, context.options or Options())
    same = got == wanted
    details = TextDetails(expected=as_json(expected.output), actual=as_json(actual.output))
    return ratio(NAME, float(same), "the same" if same else "different", details)
