"""Calibration: raw scores to probabilities, fitted on labels. Quantile, isotonic or Platt, and how good it is."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_POINTS = 200
"""A curve is stored in a policy that people read: no more points than this."""
_SMALL = 1e-15


class Points(NamedTuple):
    """A curve to interpolate between: x rises, y does not fall."""

    x: "Floats"
    y: "Floats"


def fit_quantile(scores: "Floats") -> Points:
    """Quantile mapping: a score becomes the share of scores at most as high; ties share their midpoint.

    >>> [float(y) for y in fit_quantile(np.array([1.0, 2.0, 4.0])).y]
    [0.16666666666666666, 0.5, 0.8333333333333334]
    """
    x, counts = np.unique(_finite(scores), return_counts=True)
    y = (np.cumsum(counts) - counts / 2) / counts.sum()
    return _thinned(x, y)


def fit_isotonic(scores: "Floats", labels: "Floats") -> Points:
    """The rising step curve with the least squared error, by pooling adjacent violators.

    >>> points = fit_isotonic(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.0, 0.0, 1.0]))
    >>> points.x.tolist(), points.y.tolist()
    ([1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 0.5, 1.0])
    """
    x, where = np.unique(_finite(scores), return_inverse=True)
    weights = np.bincount(where).astype(float)
    means = np.bincount(where, weights=np.asarray(labels, dtype=float)) / weights
    y = _pooled(means, weights)
    # Inside a flat stretch only its ends matter.
    keep = np.ones(len(x), dtype=bool)
    keep[1:-1] = (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])
    return _thinned(x[keep], y[keep])


def _pooled(means: "Floats", weights: "Floats") -> "Floats":
    """Pool adjacent violators: blocks of (mean, weight, length), merged while the last falls below the one before."""
    blocks: list[tuple[float, float, int]] = []
    for mean, weight in zip(means.tolist(), weights.tolist(), strict=True):
        block = (mean, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            before, heavy, length = blocks.pop()
            total = heavy + block[1]
            block = ((before * heavy + block[0] * block[1]) / total, total, length + block[2])
        blocks.append(block)
    return np.repeat([mean for mean, _, _ in blocks], [length for _, _, length in blocks])


def fit_platt(scores: "Floats", labels: "Floats") -> tuple[float, float]:
    """The pair a, b of 1 / (1 + exp(a s + b)), by Newton's method on Platt's smoothed targets."""
    s = _finite(scores)
    y = np.asarray(labels, dtype=float)
    positives = y.sum()
    negatives = len(y) - positives
    target = np.where(y > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    # On standardized scores the method converges at any scale; a and b are converted back at the end.
    center, spread = s.mean(), s.std()
    if spread <= 1e-12 * abs(center):  # all equal up to rounding: there is no slope
        spread = 1.0
    z = (s - center) / spread
    a, b = 0.0, float(np.log((negatives + 1) / (positives + 1)))
    loss = _platt_loss(z, target, a, b)
    for _ in range(100):
        p = _logistic(-(a * z + b))
        slope = np.array([((target - p) * z).sum(), (target - p).sum()])
        w = p * (1 - p)
        bend = np.array([[(w * z * z).sum() + 1e-10, (w * z).sum()], [(w * z).sum(), w.sum() + 1e-10]])
        step = -np.linalg.solve(bend, slope)
        scale = 1.0
        while scale > 1e-10:
            tried = _platt_loss(z, target, a + scale * step[0], b + scale * step[1])
            if tried < loss:
                break
            scale /= 2
        else:
            break
        a, b, gain, loss = a + scale * step[0], b + scale * step[1], loss - tried, tried
        if gain < 1e-12 * max(loss, 1.0):
            break
    return float(a / spread), float(b - a * center / spread)


def _platt_loss(z: "Floats", target: "Floats", a: float, b: float) -> float:
    f = a * z + b
    # -log p = log(1 + e^f), -log(1 - p) = log(1 + e^-f), without overflow.
    return float((target * np.logaddexp(0, f) + (1 - target) * np.logaddexp(0, -f)).sum())


def _logistic(x: "Floats") -> "Floats":
    return np.exp(-np.logaddexp(0, -x))


def apply_points(scores: "Floats", x: "Floats", y: "Floats") -> "Floats":
    """The curve at these scores; outside its range it is constant."""
    return np.interp(scores, x, y)


def apply_platt(scores: "Floats", a: float, b: float) -> "Floats":
    """1 / (1 + exp(a s + b)).

    >>> apply_platt(np.array([0.0]), -1.0, 0.0).tolist()
    [0.5]
    """
    return _logistic(-(a * np.asarray(scores, dtype=float) + b))


def log_loss(probabilities: "Floats", labels: "Floats") -> float:
    """Mean of -log(probability of the true label); 0 and 1 are clipped, because one miss would be infinite.

    >>> round(log_loss(np.array([0.5, 0.5]), np.array([0.0, 1.0])), 6)
    0.693147
    """
    p = np.clip(probabilities, _SMALL, 1 - _SMALL)
    y = np.asarray(labels, dtype=float)
    return float(-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean())


def _finite(scores: "Floats") -> "Floats":
    values = np.asarray(scores, dtype=float)
    if not len(values) or not np.isfinite(values).all():
        raise ValueError("calibration needs scores, all of them finite")
    return values


def _thinned(x: "Floats", y: "Floats") -> Points:
    """At most MOST_POINTS of the curve, its ends among them."""
    if len(x) > MOST_POINTS:
        keep = np.unique(np.linspace(0, len(x) - 1, MOST_POINTS).round().astype(int))
        x, y = x[keep], y[keep]
    return Points(x, np.clip(np.maximum.accumulate(y), 0.0, 1.0))
