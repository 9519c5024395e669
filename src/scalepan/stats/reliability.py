"""How far can a stated probability be trusted? Calibration error, the parts of the Brier score, risk at coverage."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scalepan.stats.calibration import apply_points, fit_isotonic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BINS = 15


class ReliabilityBin(NamedTuple):
    """Cases with about the same stated probability."""

    stated: float
    """Their mean stated probability."""
    actual: float
    """The share of them that was right."""
    cases: int


def equal_mass_bins(stated: "Floats", labels: "Floats", bins: int = BINS) -> list[ReliabilityBin]:
    """Bins with about as many cases each; equal statements are never split, so there may be fewer bins.

    >>> equal_mass_bins(np.array([0.2, 0.2, 0.9, 0.9]), np.array([0, 1, 1, 1]), bins=2)
    [ReliabilityBin(stated=0.2, actual=0.5, cases=2), ReliabilityBin(stated=0.9, actual=1.0, cases=2)]
    """
    where, count = bin_of(stated, bins)
    sizes = np.bincount(where, minlength=count)
    sums = np.bincount(where, weights=stated, minlength=count)
    right = np.bincount(where, weights=labels, minlength=count)
    return [
        ReliabilityBin(float(total / size), float(hits / size), int(size))
        for total, hits, size in zip(sums, right, sizes, strict=True)
        if size
    ]


def bin_of(stated: "Floats", bins: int = BINS) -> tuple["NDArray[np.intp]", int]:
    """The number of each case's bin, and how many bins there can be."""
    # Whole numbers: as a float, 3/5 of 5 cases would be 4 of them.
    last = -(-np.arange(1, bins) * len(stated) // bins) - 1
    edges = np.unique(np.sort(stated)[last])
    return np.searchsorted(edges, stated, side="left"), len(edges) + 1


def calibration_error(stated: "Floats", labels: "Floats", bins: int = BINS) -> float:
    """Expected calibration error: how far stated and actual are apart, averaged over bins of equal mass.

    >>> round(calibration_error(np.array([0.2, 0.2, 0.9, 0.9]), np.array([0, 1, 1, 1]), bins=2), 3)
    0.2
    """
    where, count = bin_of(stated, bins)
    return float(np.abs(np.bincount(where, weights=stated - labels, minlength=count)).sum() / len(stated))


def error_by_chance(stated: "Floats", bins: int = BINS) -> float:
    """The calibration error that a perfect number would show on so few cases: chance moves the share of each bin.

    >>> round(error_by_chance(np.full(100, 0.5)), 3)  # the mean distance of a normal with the deviation 0.05
    0.04
    """
    where, count = bin_of(stated, bins)
    variances = np.bincount(where, weights=stated * (1 - stated), minlength=count)
    return float(np.sqrt(variances * 2 / np.pi).sum() / len(stated))


class BrierParts(NamedTuple):
    """The Brier score and what it is made of: `score = miscalibration - discrimination + uncertainty`."""

    score: float
    miscalibration: float
    """What the best rising curve would take away."""
    discrimination: float
    """What knowing the number takes away from the uncertainty, once it is calibrated."""
    uncertainty: float
    """The score of always stating the base rate."""


def brier_parts(stated: "Floats", labels: "Floats") -> BrierParts:
    """The Brier score in parts, by the isotonic curve through the same data: no bins to choose.

    >>> [round(part, 4) for part in brier_parts(np.array([0.5, 0.5, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0]))]
    [0.125, 0.0, 0.0625, 0.1875]
    """
    stated, labels = np.asarray(stated, dtype=float), np.asarray(labels, dtype=float)
    curve = fit_isotonic(stated, labels)
    best = ((apply_points(stated, curve.x, curve.y) - labels) ** 2).mean()
    score = ((stated - labels) ** 2).mean()
    constant = ((labels.mean() - labels) ** 2).mean()
    return BrierParts(float(score), float(score - best), float(constant - best), float(constant))


def risk_at_coverage(stated: "Floats", labels: "Floats", coverage: float) -> float:
    """The share of wrong ones among the most confident part of the cases; ties at the edge are all let in.

    >>> risk_at_coverage(np.array([0.9, 0.8, 0.7, 0.1]), np.array([1, 1, 0, 0]), 0.5)
    0.0
    """
    count = max(1, int(np.ceil(coverage * len(stated))))
    edge = np.sort(stated)[::-1][count - 1]
    return float(1 - np.asarray(labels, dtype=float)[stated >= edge].mean())
