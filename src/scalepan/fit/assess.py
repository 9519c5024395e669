"""How good is a number now? Calibration, ranking and risk, each beside a constant that knows only the base rate."""

from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.fit.labels import Labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COVERAGES = (0.2, 0.5, 0.8, 1.0)
DRAWS = 1000


class Figure(msgspec.Struct, frozen=True):
    """A measured figure with its 95 % interval."""

    value: float | None
    low: float | None = None
    high: float | None = None


class ReliabilityPoint(msgspec.Struct, frozen=True):
    """Cases with about the same number: what it says, and what came of them."""

    stated: float
    actual: float
    count: int


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """How good a number is on labeled cases."""

    count: int
    groups: int
    base_rate: float
    """The share that was right: what a constant would state."""
    calibration_error: Figure
    """Expected calibration error over 15 bins of equal mass; 0 is perfect. A constant has about 0 too, and says nothing."""
    auroc: Figure
    """The chance that a right one is above a wrong one; 0.5 is what a constant has."""
    brier: float
    brier_constant: float
    miscalibration: float
    discrimination: float
    risk_at_coverage: dict[str, float]
    """The share of wrong ones among the most confident part of the cases."""
    points: tuple[ReliabilityPoint, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data


def assess(labels: Labels, values: "NDArray[np.float64] | None" = None) -> Assessment:
    """The figures of a number, or of `values` that a curve made of it."""
    import numpy as np

    from scalepan.stats import reliability
    from scalepan.stats.bootstrap import interval, resampled
    from scalepan.stats.ranking import auroc

    stated = labels.values if values is None else values
    right = labels.right.astype(float)
    drawn = resampled(labels.units, draws=DRAWS)
    where, count = reliability.bin_of(stated)
    gaps = np.zeros((len(stated), count))
    gaps[np.arange(len(stated)), where] = stated - right
    errors = np.abs(drawn @ gaps).sum(axis=1) / drawn.sum(axis=1)
    area = float(auroc(stated, labels.right)[0])
    parts = reliability.brier_parts(stated, right)
    return Assessment(
        count=len(stated),
        groups=len(set(labels.units)),
        base_rate=float(right.mean()),
        calibration_error=Figure(reliability.calibration_error(stated, right), *interval(errors)),
        auroc=Figure(None) if np.isnan(area) else Figure(area, *interval(auroc(stated, labels.right, drawn))),
        brier=parts.score,
        brier_constant=parts.uncertainty,
        miscalibration=parts.miscalibration,
        discrimination=parts.discrimination,
        risk_at_coverage={f"{share:.0%}": reliability.risk_at_coverage(stated, right, share) for share in COVERAGES},
        points=tuple(ReliabilityPoint(*one) for one in reliability.equal_mass_bins(stated, right)),
    )
