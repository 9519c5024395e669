"""How many more labels would allow more? Simulated, from cases like the labeled ones."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scalepan.fit.curve import KINDS
from scalepan.fit.labels import LabeledNumbers
from scalepan.stats.calibration import apply_points, fit_isotonic
from scalepan.stats.promise import fewest_labels, promised_threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_LABELS = 50_000
"""Further than this it does not look."""
SIMULATED, POWER = 20, 0.8
"""A number of labels is enough if this share of so many simulated sets reaches the target."""
GROWTH = 1.4
WORTH = 0.05
"""Coverage that more labels could add; less is not worth a sentence."""


class Outlook(NamedTuple):
    """What more labels of the same kind would bring."""

    more_labels: int | None
    """About how many more; None if they would not help."""
    coverage: float
    """The coverage that they would allow."""
    lowest_error: float
    """The error of the surest cases, as far as the labels tell."""


def outlook(labels: LabeledNumbers, max_error: float, sure: float, coverage: float) -> Outlook:
    """How many more labels would raise the coverage halfway to the best possible, or from nothing to something."""
    if not len(labels):
        return Outlook(fewest_labels(max_error, sure), 0.0, 0.0)
    chance = _chances(labels)
    best, lowest = _best(labels.values, chance, max_error)
    if best < coverage + WORTH:
        return Outlook(None, coverage, lowest)
    target = coverage + (best - coverage) / 2 if coverage else 0.0
    random = np.random.default_rng(0)
    count = max(len(labels), fewest_labels(max_error, sure) - 1)
    while count < MOST_LABELS:
        count = max(int(count * GROWTH), count + 1)
        reached = _reached(labels.values, chance, count, max_error, sure, target, random)
        if reached is not None:
            return Outlook(_rounded(count - len(labels)), reached, lowest)
    return Outlook(None, coverage, lowest)


def _chances(labels: LabeledNumbers) -> "Floats":
    """How often each case would be right: halfway between a step curve, which trusts the labels too much, and a smooth
    one, which trusts them too little.
    """
    right = labels.right.astype(float)
    points = fit_isotonic(labels.values, right)
    smooth = KINDS["logit"]
    fitted = smooth.apply(labels.values, smooth.fit(labels.values, right))
    chances: Floats = (apply_points(labels.values, points.x, points.y) + fitted) / 2
    return chances


def _best(values: "Floats", chance: "Floats", max_error: float) -> tuple[float, float]:
    """The largest coverage that keeps the promise if the estimated chances were true; and the lowest error."""
    order = np.argsort(-values, kind="stable")
    falling = values[order]
    risk = 1 - np.cumsum(chance[order]) / np.arange(1, len(order) + 1)
    ends = np.flatnonzero(np.append(falling[1:] < falling[:-1], True))
    kept = ends[risk[ends] <= max_error]
    return (float(kept[-1] + 1) / len(order) if len(kept) else 0.0), max(float(risk[ends].min()), 0.0)


def _reached(
    values: "Floats",
    chance: "Floats",
    count: int,
    max_error: float,
    sure: float,
    target: float,
    random: np.random.Generator,
) -> float | None:
    """The usual coverage with so many labels; None if too many simulated sets fall short of the target."""
    coverages: list[float] = []
    short = 0
    for _ in range(SIMULATED):
        drawn = random.integers(0, len(values), count)
        found = promised_threshold(values[drawn], random.random(count) < chance[drawn], max_error, sure)
        coverages.append(0.0 if found is None else found.let_through / count)
        short += coverages[-1] <= target
        if short > SIMULATED * (1 - POWER):
            return None
    return float(np.median(coverages))


def _rounded(count: int) -> int:
    """Two digits: it is an estimate.

    >>> _rounded(1234), _rounded(87)
    (1200, 87)
    """
    digits = max(len(str(count)) - 2, 0)
    return round(count, -digits)
