"""exact: is the output the expected text?"""

from karat.evals.cases import Expected, Output
from karat.evals.context import Context
from karat.evals.scorers._ratio import ratio
from karat.evals.scorers._text import TextDetails, TextOptions, texts
from karat.score import Score

NAME = "exact"
Options = TextOptions


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """1 if both are the same, else 0."""
    got, wanted = texts(actual, expected, context.options or Options())
    same = got == wanted
    details = TextDetails(expected=expected.output, actual=actual.output)
    return ratio(NAME, float(same), "the same" if same else "different", details)
