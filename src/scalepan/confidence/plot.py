"""The score against each factor, the others held: what would have to be different for another decision."""

from collections.abc import Sequence

import msgspec
import numpy as np

from scalepan.confidence.batch import confidence_batch
from scalepan.confidence.factors import SHARES, ConfidenceFactors
from scalepan.confidence.formula import confidence
from scalepan.draw.bands import bands_svg
from scalepan.policy.confidence import Confidence

POINTS = 201


def factor_curves(
    factors: ConfidenceFactors, policy: Confidence
) -> list[tuple[str, Sequence[float], Sequence[float], float, float]]:
    """For each factor that is a share: its values, the score at each, and where it is now."""
    given = msgspec.structs.asdict(factors)
    now = float(confidence(factors, policy))
    xs = np.linspace(0.0, 1.0, POINTS)
    return [
        (name, xs.tolist(), confidence_batch({**given, name: xs}, policy).tolist(), given[name], now) for name in SHARES
    ]


def factors_svg(factors: ConfidenceFactors, policy: Confidence) -> str:
    """The picture, with the thresholds as bands."""
    thresholds = policy.thresholds
    bands = [
        ("silent", thresholds.silent, 1.0),
        ("notify", thresholds.notify, thresholds.silent),
        ("confirm", thresholds.confirm, thresholds.notify),
        ("escalate", 0.0, thresholds.confirm),
    ]
    return bands_svg(factor_curves(factors, policy), bands)
