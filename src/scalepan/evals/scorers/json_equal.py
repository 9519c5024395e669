"""json-equal: which fields of the output are as expected? Each field may be compared in its own way."""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import msgspec

from scalepan.check import join
from scalepan.errors import counted, did_you_mean
from scalepan.evals.cases import Expected, Output
from scalepan.evals.context import Context
from scalepan.evals.result import ScorerDetails, as_json
from scalepan.evals.scorers._ratio import ratio
from scalepan.evals.scorers._text import TextOptions, alike, expected_of
from scalepan.evals.scorers.levenshtein import distance
from scalepan.evals.scorers.numeric import LARGEST, number
from scalepan.score import Score

NAME = "json-equal"
ABSENT = object()


class Comparator(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How one field is compared: `how` is exact, ignoreCase, numeric, levenshtein, contains, set or ignore."""

    how: str = "exact"
    tolerance: Annotated[float, msgspec.Meta(ge=0, le=LARGEST)] = 0.0

    def __post_init__(self) -> None:
        if self.how not in COMPARATORS:
            raise ValueError(f"comparator '{self.how}'{did_you_mean(self.how, list(COMPARATORS))}")


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`fields`: comparators by path (`items[].price`); `extra`: whether unexpected fields lower the score."""

    fields: dict[str, Comparator | str] = msgspec.field(default_factory=dict)
    extra: bool = True

    def __post_init__(self) -> None:
        for path in self.fields:
            self.comparator(path)

    def comparator(self, path: str) -> Comparator:
        """How the field at this path is compared; indexes are written `[]` in the options."""
        chosen = self.fields.get(path, self.fields.get(re.sub(r"\[\d+\]", "[]", path), "exact"))
        return Comparator(chosen) if isinstance(chosen, str) else chosen


class JsonDifference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field that is not as expected; a missing side was absent."""

    path: str
    score: float
    expected: Any = msgspec.UNSET
    actual: Any = msgspec.UNSET


class JsonEqualDetails(ScorerDetails, frozen=True, kw_only=True, rename="camel"):
    """How many fields were compared, and those that differ."""

    fields: int
    differences: list[JsonDifference]


def score(actual: Output, expected: Expected, context: Context) -> Score:
    """The mean over all fields of either side. JSON in a text is read as JSON."""
    options: Options = context.options or Options()
    compared = list(_fields(_parsed(actual.output), _parsed(expected_of(expected)), options, ""))
    differences = [
        JsonDifference(path=path, score=value, expected=_shown(wanted), actual=_shown(got))
        for path, value, got, wanted in compared
        if value < 1.0
    ]
    total = 0.0
    for _, value, _, _ in compared:
        total = total + value
    mean = total / len(compared) if compared else 1.0
    details = JsonEqualDetails(fields=len(compared), differences=differences)
    return ratio(
        NAME, mean, f"{len(compared) - len(differences)} of {counted(len(compared), 'field')} as expected", details
    )


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return value


def _fields(got: Any, wanted: Any, options: Options, path: str) -> Iterator[tuple[str, float, Any, Any]]:
    """Every field of either side with its score; lists and objects are taken apart unless compared as a whole."""
    how = options.comparator(path)
    if how.how == "ignore" or (wanted is ABSENT and not options.extra):
        return
    if how.how == "exact" and isinstance(got, dict) and isinstance(wanted, dict) and (got or wanted):
        for key in {**wanted, **got}:
            yield from _fields(got.get(key, ABSENT), wanted.get(key, ABSENT), options, join(path, key))
    elif how.how == "exact" and isinstance(got, list) and isinstance(wanted, list) and (got or wanted):
        for index in range(max(len(got), len(wanted))):
            one, other = (side[index] if index < len(side) else ABSENT for side in (got, wanted))
            yield from _fields(one, other, options, join(path, index))
    elif got is ABSENT or wanted is ABSENT:
        yield path, 0.0, got, wanted
    else:
        yield path, COMPARATORS[how.how](got, wanted, how), got, wanted


def _same(got: Any, wanted: Any, _: Comparator) -> float:
    # True == 1 in Python, but not in JSON.
    return float(got == wanted and isinstance(got, bool) == isinstance(wanted, bool))


def _same_in_any_case(got: Any, wanted: Any, how: Comparator) -> float:
    if isinstance(got, str) and isinstance(wanted, str):
        return float(alike(got, TextOptions(ignore_case=True)) == alike(wanted, TextOptions(ignore_case=True)))
    return _same(got, wanted, how)


def _near(got: Any, wanted: Any, how: Comparator) -> float:
    one, other = number(got), number(wanted)
    return float(one is not None and other is not None and abs(one - other) <= how.tolerance)


def _nearly(got: Any, wanted: Any, how: Comparator) -> float:
    if not (isinstance(got, str) and isinstance(wanted, str)):
        return _same(got, wanted, how)
    longest = max(len(got), len(wanted))
    return 1.0 - distance(got, wanted) / longest if longest else 1.0


def _within(got: Any, wanted: Any, how: Comparator) -> float:
    return float(wanted in got) if isinstance(got, str) and isinstance(wanted, str) else _same(got, wanted, how)


def _same_set(got: Any, wanted: Any, how: Comparator) -> float:
    if not (isinstance(got, list) and isinstance(wanted, list)):
        return _same(got, wanted, how)
    one, other = (sorted(msgspec.json.encode(item, order="sorted") for item in side) for side in (got, wanted))
    return float(one == other)


COMPARATORS: dict[str, Callable[[Any, Any, Comparator], float]] = {
    "exact": _same,
    "ignoreCase": _same_in_any_case,
    "numeric": _near,
    "levenshtein": _nearly,
    "contains": _within,
    "set": _same_set,
    "ignore": _same,
}


def _shown(value: Any) -> Any:
    return msgspec.UNSET if value is ABSENT else as_json(value)
