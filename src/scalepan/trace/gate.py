"""Is this trace worth sharing, and if not, what would make it so?"""

from collections.abc import Sequence
from math import inf
from typing import Literal

import msgspec

from scalepan.score import Part

ROUNDING = 1e-12
Verdict = Literal["share", "keep"]


class Raise(msgspec.Struct, frozen=True, gc=False):
    """One part that alone could lift the value to the gate: to where, and by how much."""

    part: str
    to: float
    by: float


class ValueGate(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict: share at or above the threshold, else keep."""

    verdict: Verdict
    threshold: float
    short_by: float = 0.0
    would_pass: tuple[Raise, ...] = ()
    """Each part that could do it alone, all else being equal; the smallest rise first."""

    def __str__(self) -> str:
        if self.verdict == "share":
            return f"share (at or above {self.threshold:g})"
        short = f"keep ({self.short_by:.3f} below {self.threshold:g})"
        if not self.would_pass:
            return f"{short}: no single part can lift it that far"
        rises = " or ".join(f"{r.part} by {r.by:.3f} to {r.to:.3f}" for r in self.would_pass)
        return f"{short}: raise {rises}"


def verdict(value: float, threshold: float) -> Verdict:
    """Share from the threshold on."""
    return "share" if value >= threshold else "keep"


def judge(value: float, threshold: float, parts: Sequence[Part], lift: float | None) -> ValueGate:
    """Compare with the threshold. `lift` is what the parts together lack; None if no lift is enough.

    >>> print(judge(0.7, 0.75, [Part("novelty", 0.5, 0.5), Part("complexity", 0.75, 0.5)], lift=0.05))
    keep (0.050 below 0.75): raise novelty by 0.100 to 0.600 or complexity by 0.100 to 0.850
    """
    if verdict(value, threshold) == "share":
        return ValueGate(verdict="share", threshold=threshold)
    rises = [] if lift is None else _rises(parts, lift)
    return ValueGate(verdict="keep", threshold=threshold, short_by=threshold - value, would_pass=tuple(rises))


def _rises(parts: Sequence[Part], lift: float) -> list[Raise]:
    rises = []
    for part in parts:
        by = lift / part.weight if part.weight else inf
        if part.value + by <= 1.0 + ROUNDING:
            rises.append(Raise(part.name, to=min(1.0, part.value + by), by=by))
    return sorted(rises, key=lambda rise: rise.by)
