"""Score: one number that explains itself. Everything that Scalepan prints, stores or serves is one (DESIGN, part 1).

The law: part weights add up to 1, `base` is the sum of weight x value over the parts, the first rule starts at `base`,
each rule starts where the last one ended, and `value` is where the last one ended.
"""

from typing import Any, Literal

import msgspec

Status = Literal["ok", "not_applicable", "failed"]
Source = Literal["measured", "inherited", "default", "failed"]


class Part(msgspec.Struct, frozen=True, gc=False):
    """One thing that was weighed."""

    name: str
    value: float
    weight: float
    source: Source = "measured"
    """Where the value comes from: a fallback is a `default`, a measurement that broke is `failed`."""
    note: str = ""

    @property
    def adds(self) -> float:
        """What this part brings to the base."""
        return self.value * self.weight


class Rule(msgspec.Struct, frozen=True, gc=False):
    """One thing that changed the number after the parts were added up."""

    name: str
    before: float
    after: float
    note: str = ""


class Score(msgspec.Struct, frozen=True):
    """A number between 0 and 1 with its reasons, or no number and the reason why.

    >>> half = Score("confidence", 0.5, parts=(Part("search_quality", 0.5, 1.0),), base=0.5)
    >>> float(half)
    0.5
    >>> not_measured("novelty", "no encoder found").value is None
    True
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
    """Version of the policy section that it was made under."""

    def __post_init__(self) -> None:
        if self.value is None:
            if self.status == "ok" or not self.reason or self.base is not None or self.rules:
                raise ValueError(f"score {self.name}: without a value it needs a status, a reason, and no base or rules")
        elif self.status != "ok":
            raise ValueError(f"score {self.name}: status {self.status} goes without a value")
        elif not 0.0 <= self.value <= 1.0:
            raise ValueError(f"score {self.name}: {self.value} is not between 0 and 1")

    def __float__(self) -> float:
        if self.value is None:
            raise ValueError(f"{self.name} was not measured: {self.reason}")
        return self.value

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
        """The one-screen table: what was weighed, what changed it, what it came to."""
        if self.value is None:
            return f"{self.name}  not measured ({self.status}): {self.reason}"
        rows = [(p.name, f"{p.value:.3f}", f"x {p.weight:.2f}", f"{p.adds:+.3f}", _said(p)) for p in self.parts]
        if self.rules and self.base is not None:
            rows.append(("base", "", "", f"{self.base:.3f}", "what the parts come to"))
        rows += [(rule.name, "", "", f"{rule.after - rule.before:+.3f}", rule.note) for rule in self.rules]
        rows.append((self.name, "", "", f"{self.value:.3f}", f"policy {self.policy}" if self.policy else ""))
        return _columns(rows)


def not_measured(name: str, reason: str, *, status: Status = "not_applicable", policy: str = "") -> Score:
    """A score that has no number: nothing to judge, or the judging failed."""
    return Score(name, None, status=status, reason=reason, policy=policy)


def _said(part: Part) -> str:
    """Where a part's value comes from and why, in a few words; `measured` goes without saying."""
    source = "" if part.source == "measured" else part.source
    return ": ".join(word for word in (source, part.note) if word)


def _columns(rows: list[tuple[str, str, str, str, str]]) -> str:
    """Rows as aligned text: names to the left, numbers to the right, the note last."""
    width = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join(
        f"{row[0]:<{width[0]}}  {row[1]:>{width[1]}}  {row[2]:>{width[2]}}  {row[3]:>{width[3]}}  {row[4]}".rstrip()
        for row in rows
    )
