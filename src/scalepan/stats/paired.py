"""Is the difference between two runs over the same cases real? Exact and resampling tests on pairs, by group.

Cases of one group (one document, one conversation) rise and fall together. All tests treat a group as one observation.
"""

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scalepan.stats.proportion import binomial_at_most, normal_quantile, normal_two_sided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

EXACT_GROUPS = 16
"""Up to so many groups that differ, every assignment of signs is counted."""
DRAWS = 9_999
MOST_RESAMPLED = 5_000
"""From so many groups on, the mean is normal enough, and resampling would only cost time."""
_CHUNK = 1 << 22


def mcnemar(gained: int, lost: int) -> float:
    """The two-sided p-value of so many cases gained and lost, exactly: each is a fair coin if nothing changed.

    >>> mcnemar(5, 0), mcnemar(2, 2)
    (0.0625, 1.0)
    """
    return min(1.0, 2 * binomial_at_most(min(gained, lost), gained + lost, 0.5))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for asking several questions at once (Holm's step-down), in the same order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


class GroupedDifferences(NamedTuple):
    """Differences summed by group, and how many cases each group has."""

    sums: "Floats"
    sizes: "Floats"

    @property
    def mean(self) -> float:
        """The mean difference of a case."""
        return float(self.sums.sum() / self.sizes.sum())

    @property
    def deviations(self) -> "Floats":
        """By group: its share of the deviation from the mean."""
        found: Floats = self.sums - self.mean * self.sizes
        return found

    @property
    def error(self) -> float:
        """The standard error of the mean; groups are independent, cases in a group are not."""
        count = len(self.sums)
        if count < 2:
            return float("inf")
        return sqrt(float((self.deviations**2).sum()) * count / (count - 1)) / float(self.sizes.sum())


def grouped(differences: "Floats", groups: Sequence[str] | None = None) -> GroupedDifferences:
    """Differences by group; without groups every case is one.

    >>> grouped(np.array([1.0, 0.0, -1.0]), ["a", "a", "b"]).sums.tolist()
    [1.0, -1.0]
    """
    values = np.asarray(differences, dtype=float)
    if groups is None:
        return GroupedDifferences(values, np.ones(len(values)))
    _, where = np.unique(np.asarray(groups), return_inverse=True)
    sums: Floats = np.bincount(where, weights=values).astype(float)
    return GroupedDifferences(sums, np.bincount(where).astype(float))


def sign_flip(differences: GroupedDifferences, seed: int = 0) -> float:
    """The two-sided p-value of a mean difference: if nothing changed, each group's sign is a coin.

    >>> sign_flip(grouped(np.array([1.0, 1.0, 1.0])))
    0.25
    """
    sums = np.abs(differences.sums[differences.sums != 0])
    observed = abs(float(differences.sums.sum()))
    if not len(sums):
        return 1.0
    # Sums of the same numbers in another order differ in their last digits.
    least = observed * (1 - 1e-9)
    if len(sums) <= EXACT_GROUPS:
        signs = 1 - 2 * ((np.arange(1 << len(sums))[:, None] >> np.arange(len(sums))) & 1)
        return float((np.abs(signs @ sums) >= least).mean())
    if len(sums) > MOST_RESAMPLED:
        return normal_two_sided(observed / sqrt(float((sums**2).sum())))
    random = np.random.default_rng(seed)
    hits = 0
    for count in _chunks(DRAWS, len(sums)):
        signs = random.integers(0, 2, (count, len(sums)), dtype=np.int8)
        hits += int((np.abs(signs @ (2 * sums) - sums.sum()) >= least).sum())
    return (hits + 1) / (DRAWS + 1)


def bca_interval(differences: GroupedDifferences, confidence: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """An interval for the mean difference: bootstrap over groups, corrected for bias and skew (BCa)."""
    sums, sizes = differences
    mean, count = differences.mean, len(sums)
    if count < 2:
        return -float("inf"), float("inf")
    tail = normal_quantile(0.5 + confidence / 2)
    if not differences.deviations.any():
        return mean, mean
    if count > MOST_RESAMPLED:
        return mean - tail * differences.error, mean + tail * differences.error
    random = np.random.default_rng(seed)
    means = np.empty(DRAWS)
    done = 0
    for some in _chunks(DRAWS, count):
        drawn = random.integers(0, count, (some, count))
        means[done : done + some] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
        done += some
    below = (float((means < mean).sum()) + float((means == mean).sum()) / 2) / DRAWS
    bias = normal_quantile(min(max(below, 1 / (DRAWS + 1)), DRAWS / (DRAWS + 1)))
    skew = _acceleration(differences)
    ends = [_corrected(bias, skew, z) for z in (-tail, tail)]
    low, high = np.quantile(means, ends)
    return float(low), float(high)


def _acceleration(differences: GroupedDifferences) -> float:
    """The skew of the mean, by leaving each group out."""
    sums, sizes = differences
    left = (sums.sum() - sums) / (sizes.sum() - sizes)
    off = left.mean() - left
    squares = float((off**2).sum())
    return float((off**3).sum()) / (6 * squares**1.5) if squares else 0.0


def _corrected(bias: float, skew: float, z: float) -> float:
    from math import erf

    moved = bias + (bias + z) / max(1 - skew * (bias + z), 1e-9)
    return 0.5 * (1 + erf(moved / sqrt(2)))


def _chunks(draws: int, width: int) -> list[int]:
    """How many draws at a time, so that memory stays small."""
    most = max(1, min(draws, _CHUNK // max(width, 1)))
    return [most] * (draws // most) + ([draws % most] if draws % most else [])
