"""How good is a number now? Calibration, ranking and risk, each beside a constant that knows only the base rate."""

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from scalepan.errors import InputError
from scalepan.fit.labels import LabeledNumbers
from scalepan.stats import reliability
from scalepan.stats.bootstrap import interval, resampled
from scalepan.stats.proportion import wilson
from scalepan.stats.ranking import auroc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

COVERAGES = (0.2, 0.5, 0.8, 1.0)
POINTS = 10
DRAWS, DRAWS_OF_MANY, MANY = 1000, 200, 20_000
"""How often the bootstrap draws; less often from many labels, where intervals are narrow anyway."""
_CHUNK = 1 << 22


class Measured(msgspec.Struct, frozen=True):
    """A figure with its 95 % interval; None if it was not measured."""

    value: float | None
    low: float | None = None
    high: float | None = None


class ReliabilityPoint(msgspec.Struct, frozen=True):
    """Cases with about the same number: what it says, and what came of them."""

    stated: float
    actual: float
    low: float
    """The lower end of the 95 % interval of `actual`."""
    high: float
    cases: int


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """How good a number is on labeled cases."""

    labels: int
    base_rate: float
    """The share that was right: what a constant would state."""
    calibration_error: Measured
    """Expected calibration error, 15 bins of equal mass; 0 is perfect. A constant has about 0 too, and says nothing."""
    calibration_error_by_chance: float
    """What a perfect number would show on so few cases."""
    auroc: Measured
    """The chance that a right one is above a wrong one; 0.5 is what a constant has."""
    brier: float
    brier_of_constant: float
    miscalibration: float
    """The part of the Brier score that a curve could take away."""
    discrimination: float
    """What the number takes away from the Brier score of a constant, once it is calibrated."""
    risk_at_coverage: dict[str, float]
    """The share of wrong ones among the most confident part of the cases."""
    points: tuple[ReliabilityPoint, ...]


def assess(labels: LabeledNumbers, values: "Floats | None" = None) -> Assessment:
    """The figures of a number, or of `values` that a curve made of it."""
    if not len(labels):
        raise InputError("there is no label to assess a number by")
    stated = labels.values if values is None else values
    right = labels.right.astype(float)
    errors, areas = _drawn(stated, labels)
    found = reliability.calibration_error(stated, right)
    # Chance adds to each draw's error as it did to ours: without this shift, the interval would lie above the figure.
    low, high = interval(errors - (float(np.median(errors)) - found))
    area = float(auroc(stated, labels.right)[0])
    parts = reliability.brier_parts(stated, right)
    return Assessment(
        labels=len(stated),
        base_rate=float(right.mean()),
        calibration_error=Measured(found, max(low, 0.0), high),
        calibration_error_by_chance=reliability.error_by_chance(stated),
        auroc=Measured(None) if np.isnan(area) else Measured(area, *interval(areas)),
        brier=parts.score,
        brier_of_constant=parts.uncertainty,
        miscalibration=parts.miscalibration,
        discrimination=parts.discrimination,
        risk_at_coverage={f"{share:.0%}": reliability.risk_at_coverage(stated, right, share) for share in COVERAGES},
        points=tuple(_point(one) for one in reliability.equal_mass_bins(stated, right, POINTS)),
    )


def _drawn(stated: "Floats", labels: LabeledNumbers) -> tuple["Floats", "Floats"]:
    """Calibration error and AUROC of every draw, a few draws at a time."""
    where, count = reliability.bin_of(stated)
    gaps = np.zeros((len(stated), count))
    gaps[np.arange(len(stated)), where] = stated - labels.right
    units = labels.drawn_units
    draws = DRAWS if len(stated) <= MANY else DRAWS_OF_MANY
    size = max(1, _CHUNK // len(stated))
    errors, areas = [], []
    for seed, start in enumerate(range(0, draws, size)):
        drawn = resampled(units, draws=min(size, draws - start), seed=seed)
        errors.append(np.abs(drawn @ gaps).sum(axis=1) / drawn.sum(axis=1))
        areas.append(auroc(stated, labels.right, drawn))
    return np.concatenate(errors), np.concatenate(areas)


def _point(one: reliability.ReliabilityBin) -> ReliabilityPoint:
    low, high = wilson(round(one.actual * one.cases), one.cases)
    return ReliabilityPoint(one.stated, one.actual, low, high, one.cases)
