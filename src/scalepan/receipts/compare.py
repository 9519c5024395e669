"""What was kept against what comes out again: equal, changed and where, or why it cannot be known."""

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, Literal

import msgspec

from scalepan.errors import ScalepanError, shorten
from scalepan.score import Part, Score
from scalepan.store.receipts import altered

TOLERANCE = 1e-9
Status = Literal["equal", "changed", "unknown"]
# What a formula says to inputs that nobody would have given it.
UNFIT = (
    *(ScalepanError, msgspec.ValidationError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    RecursionError,
)
DAMAGED = "its stored data is damaged"
UNSEALED = (
    "the digests of its inputs are missing: an older version of Scalepan did not store them, or they were deleted"
)


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is not as it was."""

    what: str
    """`value`, `part search_quality`, `rule no_sources`, `input factors.search_max_score` …"""
    stored: float | str | bool | None
    recomputed: float | str | bool | None = None
    """What should be there; of an input that is not known."""

    def __str__(self) -> str:
        if self.what == "input":
            return "input: one that was recorded is missing"
        if self.what.startswith("input "):
            return f"{self.what}: {_shown(self.stored)} is not what was recorded"
        return f"{self.what}: stored {_shown(self.stored)}, recomputed {_shown(self.recomputed)}"


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """A number that was kept, and what it comes to now."""

    id: str
    name: str
    status: Status
    value: float | None
    recomputed: float | None = None
    differences: list[Difference] = []
    reason: str = ""
    """Why it cannot be made again, where that is so."""
    about: str | None = None
    at: str = ""
    policy_version: str = ""
    explanation: str = ""
    """The one-screen table of how it came about."""
    breakdown: dict[str, Any] | None = None
    """The same as data."""

    def but(self, found: list[Difference]) -> "Number":
        """The same, with further differences."""
        if not found:
            return self
        return msgspec.structs.replace(self, status="changed", differences=[*self.differences, *found])


def status_of(differences: list[Difference], reason: str) -> Status:
    """A difference is a finding even where the rest cannot be known."""
    return "changed" if differences else "unknown" if reason else "equal"


def attempt(work: Callable[[], Any]) -> tuple[Any, str]:
    """What a formula gives, or why it gives nothing."""
    try:
        return work(), ""
    except UNFIT as error:
        return None, why(error)


def why(error: Exception) -> str:
    """An error in plain words: Scalepan's own are, and those that name a place in the data help to find it."""
    said = str(error).partition("\n")[0]
    if isinstance(error, ScalepanError):
        return said
    return f"{DAMAGED}: {said}" if isinstance(error, msgspec.ValidationError) else DAMAGED


def input_differences(inputs: Mapping[str, Any], seal: Any) -> tuple[list[Difference], str]:
    """Inputs that are not what was recorded, or why that cannot be known."""
    if not isinstance(seal, str) or not seal:
        return [], UNSEALED
    return [Difference(f"input {path}".rstrip(), _plain(value)) for path, value in altered(inputs, seal)], ""


def score_differences(stored: Score, again: Score) -> Iterator[Difference]:
    """Where two scores part: their parts, what these come to, and the first rule that leads elsewhere."""
    before, after = _by_name(stored.parts), _by_name(again.parts)
    for name in before | after:
        one, other = before.get(name), after.get(name)
        yield from differs(f"part {name}", one.value if one else None, other.value if other else None)
        if one and other:
            yield from differs(f"weight of {name}", one.weight, other.weight)
    yield from differs("base", stored.base, again.base)
    if near(stored.base, again.base):
        yield from _first_rule(stored, again)
    verdicts = [score.details.get("verdict") if isinstance(score.details, dict) else None for score in (stored, again)]
    if None not in verdicts:
        yield from differs("verdict", *verdicts)


def _by_name(parts: tuple[Part, ...]) -> dict[str, Part]:
    """A scorer may count more than once: `regex`, `regex#2`."""
    named: dict[str, Part] = {}
    for part in parts:
        number = sum(other.name == part.name for other in named.values())
        named[f"{part.name}#{number + 1}" if number else part.name] = part
    return named


def _first_rule(stored: Score, again: Score) -> Iterator[Difference]:
    """What comes after the first rule that differs differs because of it."""
    for one, other in zip_longest(stored.rules, again.rules):
        if one is None or other is None or one.name != other.name:
            if one is not None:
                yield Difference(f"rule {one.name}", one.after, None)
            if other is not None:
                yield Difference(f"rule {other.name}", None, other.after)
            return
        if not near(one.after, other.after):
            yield Difference(f"rule {one.name}", one.after, other.after)
            return


def differs(what: str, stored: Any, recomputed: Any) -> Iterator[Difference]:
    """A difference, if there is one."""
    if not near(stored, recomputed):
        yield Difference(what, _plain(stored), _plain(recomputed))


def near(one: Any, other: Any) -> bool:
    """Whether two numbers are one, but for rounding; anything else must be the same."""
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other) <= TOLERANCE
    return bool(one == other)


def _plain(value: Any) -> float | str | bool | None:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _shown(value: object) -> str:
    return "nothing" if value is None else f"{value:.9g}" if isinstance(value, float) else shorten(str(value))
