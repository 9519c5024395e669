"""Which profile is better on the same queries? Means, paired differences with their 95 % intervals, and words."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from scalepan.errors import counted
from scalepan.stats.paired import bca_interval, grouped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PAIRS = (("best", "default"), ("default", "spec"), ("best", "spec"))
FEWEST_QUERIES = 20
FEWEST_DIFFERING = 6
"""If nothing is better, five differences of one sign are still one case in sixteen."""
FEWEST_GROUPS = 10
"""Of fewer groups, draws of whole groups say too little; then queries are drawn."""


class ProfileFigures(msgspec.Struct, frozen=True):
    """What one profile finds: means over the queries."""

    profile: str
    recall: float
    ndcg: float


class ProfilePair(msgspec.Struct, frozen=True):
    """Two profiles on the same queries: the mean of `profile` minus that of `than`, and its 95 % interval.

    Without an interval there was too little to tell; `reason` says what. `better` is None if no difference can be told.
    """

    profile: str
    than: str
    recall: float
    ndcg: float
    low: float | None
    high: float | None
    better: str | None
    reason: str | None = None

    def told(self, k: int) -> str:
        """In words, the better one first."""
        if self.reason is not None:
            return f"{self.profile} and {self.than}: no difference that can be told: {self.reason}"
        first, second, sign = self.profile, self.than, 1.0
        if self.better == self.than:
            first, second, sign = self.than, self.profile, -1.0
        low, high = sorted((sign * (self.low or 0.0), sign * (self.high or 0.0)))
        figures = f"nDCG@{k} {signed(sign * self.ndcg)} ({signed(low)} to {signed(high)})"
        if self.better is None:
            return f"{first} and {second}: no difference that can be told: {figures}"
        return f"{first} is better than {second} on your data: {figures}"


class ProfilesCompared(msgspec.Struct, frozen=True):
    """The profiles on the same queries. What was drawn for the intervals: queries, or whole groups of them."""

    profiles: list[ProfileFigures]
    pairs: list[ProfilePair]
    drawn: str


class QueryFigures(NamedTuple):
    """Recall and nDCG, query by query."""

    recall: "Floats"
    ndcg: "Floats"


def compare(figures: Mapping[str, QueryFigures], groups: Sequence[str]) -> ProfilesCompared:
    """Means and differences. Groups are drawn whole if there are enough of them."""
    several = len(set(groups)) >= FEWEST_GROUPS
    return ProfilesCompared(
        [ProfileFigures(name, float(one.recall.mean()), float(one.ndcg.mean())) for name, one in figures.items()],
        [_pair(one, other, figures, groups if several else None) for one, other in PAIRS],
        "groups" if several else "queries",
    )


def _pair(one: str, other: str, figures: Mapping[str, QueryFigures], groups: Sequence[str] | None) -> ProfilePair:
    ndcg = figures[one].ndcg - figures[other].ndcg
    recall = float((figures[one].recall - figures[other].recall).mean())
    differences = grouped(ndcg, groups)
    differing = int((np.abs(ndcg) > 1e-9).sum())
    reason = None
    if len(ndcg) < FEWEST_QUERIES:
        reason = f"{counted(len(ndcg), 'query', 'queries')}, fewer than {FEWEST_QUERIES}"
    elif differing < FEWEST_DIFFERING:
        reason = f"{counted(differing, 'query', 'queries')} of {len(ndcg):,} differ" if differing else "none differs"
    if reason is not None:
        return ProfilePair(one, other, recall, differences.mean, None, None, None, reason)
    low, high = bca_interval(differences)
    better = one if low > 0 else other if high < 0 else None
    return ProfilePair(one, other, recall, differences.mean, low, high, better)


def signed(value: float) -> str:
    """A difference with its sign, without a zero before the point.

    >>> signed(0.0301), signed(-0.5), signed(0.0001), signed(-1.0)
    ('+.030', '-.500', '.000', '-1.000')
    """
    text = f"{value:+.3f}"
    return ".000" if float(text) == 0 else text.replace("0.", ".", 1) if abs(float(text)) < 1 else text
