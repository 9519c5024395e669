"""Score: one number that explains itself. All that Scalepan prints, stores or serves is one (docs/contract/score.md).

The law: part weights add up to 1, `base` is the sum of weight x value over the parts, the first rule starts at `base`,
each rule starts where the last one ended, and `value` is where the last one ended.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Literal, SupportsIndex, overload

import msgspec

from scalepan.errors import NotMeasuredError, printable, shorten

Status = Literal["ok", "not_applicable", "failed"]
Source = Literal["measured", "inherited", "default", "failed"]
MOST_SHOWN = 3
"""How many parts, and how many rules, the one-line form shows."""
LEAST_SHOWN = 0.0005
"""A change too small for three decimal places is left out of it."""


class Part(msgspec.Struct, frozen=True, gc=False):
    """One part of the base."""

    name: str
    value: float
    weight: float
    source: Source = "measured"
    """Where the value comes from: a fallback is a `default`, a measurement that broke is `failed`."""
    note: str = ""

    @property
    def adds(self) -> float:
        """What this part adds to the base."""
        return self.value * self.weight


class Rule(msgspec.Struct, frozen=True, gc=False):
    """One change of the number after the parts were added up."""

    name: str
    before: float
    after: float
    note: str = ""


class Score(msgspec.Struct, frozen=True):
    """A number between 0 and 1 with its reasons, or no number and the reason why.

    It behaves as its number: compare it, sort it, format it, calculate with it. Two scores are equal if everything in
    them is; a score and a number, if the value is. A score without a value equals no number, and any other use as
    a number is a NotMeasuredError. A score is always true, like any object, whatever its value.

    >>> half = Score("confidence", 0.5, parts=(Part("search_quality", 0.5, 1.0),), base=0.5)
    >>> half >= 0.4, f"{half:.2f}", max(half, 0.25) * 2
    (True, '0.50', 1.0)
    >>> print(half)
    confidence 0.500: search_quality +0.500
    >>> print(not_measured("novelty", "no encoder found"))
    novelty not measured (not_applicable): no encoder found
    """

    name: str
    value: float | None
    status: Status = "ok"
    reason: str = ""
    parts: tuple[Part, ...] = ()
    base: float | None = None
    rules: tuple[Rule, ...] = ()
    details: Any = None
    """Typed evidence of this kind of score: what did not match, which trace is nearest."""
    policy: str = ""
    """Version of the policy section that it was computed under."""

    def __post_init__(self) -> None:
        if self.value is None:
            if self.status == "ok" or not self.reason or self.base is not None or self.rules:
                raise ValueError(
                    f"score {self.name}: without a value it needs a status, a reason, and no base or rules"
                )
        elif self.status != "ok":
            raise ValueError(f"score {self.name}: status {self.status} must not have a value")
        elif not 0.0 <= self.value <= 1.0:
            raise ValueError(f"score {self.name}: {self.value} is not between 0 and 1")

    def __float__(self) -> float:
        if self.value is None:
            raise NotMeasuredError(f"{self.name} was not measured: {self.reason}")
        return self.value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, msgspec.Struct):
            return super().__eq__(other)
        return self.value is not None and self.value == other

    def __hash__(self) -> int:
        # A score that equals a number must have the same hash, and equal scores have equal values.
        return hash(self.value) if self.value is not None else hash((self.name, self.status, self.reason))

    def __lt__(self, other: "float | Score") -> bool:
        return float(self) < _number(other)

    def __le__(self, other: "float | Score") -> bool:
        return float(self) <= _number(other)

    def __gt__(self, other: "float | Score") -> bool:
        return float(self) > _number(other)

    def __ge__(self, other: "float | Score") -> bool:
        return float(self) >= _number(other)

    def __add__(self, other: "float | Score") -> float:
        return float(self) + _number(other)

    def __radd__(self, other: float) -> float:
        return other + float(self)

    def __sub__(self, other: "float | Score") -> float:
        return float(self) - _number(other)

    def __rsub__(self, other: float) -> float:
        return other - float(self)

    def __mul__(self, other: "float | Score") -> float:
        return float(self) * _number(other)

    def __rmul__(self, other: float) -> float:
        return other * float(self)

    def __truediv__(self, other: "float | Score") -> float:
        return float(self) / _number(other)

    def __rtruediv__(self, other: float) -> float:
        return other / float(self)

    def __neg__(self) -> float:
        return -float(self)

    def __abs__(self) -> float:
        return abs(float(self))

    @overload
    def __round__(self, digits: None = None) -> int: ...
    @overload
    def __round__(self, digits: SupportsIndex) -> float: ...
    def __round__(self, digits: SupportsIndex | None = None) -> float:
        return round(float(self), digits)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __str__(self) -> str:
        """One line: name, value, and what mattered most."""
        if self.value is None:
            return f"{printable(self.name)} not measured ({self.status}): {shorten(self.reason, 100)}"
        added = _most((part.name, part.adds, part.source) for part in self.parts)
        changed = _most((rule.name, rule.after - rule.before, "measured") for rule in self.rules)
        why = "; then ".join(some for some in (added, changed) if some)
        return f"{printable(self.name)} {self.value:.3f}{': ' if why else ''}{why}"

    def _repr_html_(self) -> str:
        """The waterfall, for notebooks."""
        # Imported by name, so that this module does not depend on draw, and nothing is loaded before it is needed.
        html: str = import_module("scalepan.draw.notebook").score_html(self)
        return html

    def part(self, name: str) -> Part:
        """The part of that name."""
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(f"{self.name} has no part '{name}'; it has {', '.join(p.name for p in self.parts) or 'none'}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    def explain(self) -> str:
        """The one-screen table: the parts, the rules that changed the number, and the value."""
        if self.value is None:
            return f"{self.name}  not measured ({self.status}): {self.reason}"
        rows = [(p.name, f"{p.value:.3f}", f"x {p.weight:.2f}", f"{p.adds:+.3f}", _said(p)) for p in self.parts]
        if self.rules and self.base is not None:
            rows.append(("base", "", "", f"{self.base:.3f}", "sum of the parts"))
        rows += [(rule.name, "", "", f"{rule.after - rule.before:+.3f}", rule.note) for rule in self.rules]
        rows.append((self.name, "", "", f"{self.value:.3f}", f"policy {self.policy}" if self.policy else ""))
        return _columns(rows)


def not_measured(name: str, reason: str, *, status: Status = "not_applicable", policy: str = "") -> Score:
    """A score without a value: not applicable, or failed."""
    return Score(name, None, status=status, reason=reason, policy=policy)


def _number(other: "float | Score") -> float:
    return float(other) if isinstance(other, Score) else other


def _most(changes: Iterable[tuple[str, float, Source]]) -> str:
    """The largest changes by name, in order; the source is shown unless it is `measured`."""
    some = [change for change in changes if abs(change[1]) >= LEAST_SHOWN]
    least = sorted((abs(by) for _, by, _ in some), reverse=True)[:MOST_SHOWN][-1:]
    kept = [change for change in some if abs(change[1]) >= least[0]][:MOST_SHOWN]
    said = [
        f"{shorten(name, 40)} {by:+.3f}" + ("" if source == "measured" else f" ({source})") for name, by, source in kept
    ]
    return ", ".join([*said, "…"] if len(kept) < len(some) else said)


def _said(part: Part) -> str:
    """A part's source and note in a few words; `measured` is not mentioned."""
    source = "" if part.source == "measured" else part.source
    return ": ".join(word for word in (source, part.note) if word)


def _columns(rows: list[tuple[str, str, str, str, str]]) -> str:
    """Rows as aligned text: names to the left, numbers to the right, the note last."""
    width = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join(
        f"{row[0]:<{width[0]}}  {row[1]:>{width[1]}}  {row[2]:>{width[2]}}  {row[3]:>{width[3]}}  {row[4]}".rstrip()
        for row in rows
    )
