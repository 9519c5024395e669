"""numeric: is the output the expected number, within a tolerance?"""

import re
from typing import Annotated, Any
from unicodedata import normalize

import msgspec

from scalepan.errors import InputError, quoted
from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.result import ScorerDetails
from scalepan.evals.scorers._ratio import ratio
from scalepan.evals.scorers._text import expected_of
from scalepan.score import Score

NAME = "numeric"
LARGEST = 1e300
"""The largest number that is compared: differences and products stay finite."""
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\.\d+(?:[eE][-+]?\d+)?")


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`tolerance`: the largest difference; `relative`: the largest difference as a share of the expected number."""

    tolerance: Annotated[float, msgspec.Meta(ge=0, le=LARGEST)] = 0.0
    relative: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0


class NumericDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """Both numbers, and how far apart they may be."""

    expected: float
    actual: float | None
    allowed: float


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """1 if the two are within tolerance, else 0. An output that is not a number scores 0."""
    options: Options = context.options or Options()
    wanted = number(expected_of(expected))
    if wanted is None:
        raise InputError(f"{quoted(expected.output)} is not a number", path="expected.output")
    allowed = max(options.tolerance, options.relative * abs(wanted))
    got = number(actual.output)
    near = got is not None and abs(got - wanted) <= allowed
    details = NumericDetails(expected=wanted, actual=got, allowed=allowed)
    said = "no number in the output" if got is None else f"{got:g}, expected {wanted:g} within {allowed:g}"
    return ratio(NAME, float(near), said, details)


def number(value: Any) -> float | None:
    """A number, or a text with exactly one number in it: `1,250`, `約３００円`, `-2.5e3`.

    >>> number("約３００円"), number("1,250 of 2"), number(True)
    (300.0, None, None)
    """
    if isinstance(value, str):
        found = _NUMBER.findall(normalize("NFKC", value))
        value = float(found[0].replace(",", "")) if len(found) == 1 else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if abs(value) <= LARGEST else None
    except OverflowError:
        return None
