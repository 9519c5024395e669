"""How far could a figure be off? The bootstrap: the same figure on many samples drawn from the data itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DRAWS = 2000
LEVEL = 0.95


def resampled(groups: "Sequence[Any] | NDArray[Any]", *, draws: int = DRAWS, seed: int = 0) -> "Floats":
    """How often each record is in, for each draw of as many groups as there are.

    Whole groups are drawn: four runs of one task are not four independent ones. If each record is a group of its own,
    this is the plain bootstrap.

    >>> drawn = resampled(["a", "a", "b"], draws=100)
    >>> drawn.shape, bool((drawn[:, 0] == drawn[:, 1]).all()), set((drawn[:, 0] + drawn[:, 2]).tolist())
    ((100, 3), True, {2.0})
    """
    _, group = np.unique(np.asarray(groups), return_inverse=True)
    if not len(group):
        raise ValueError("there is nothing to draw from")
    count = int(group.max()) + 1
    times = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=draws)
    drawn: Floats = times[:, group].astype(float)
    return drawn


def interval(drawn: "Floats", level: float = LEVEL) -> tuple[float, float]:
    """The middle of a figure's draws: from the 2.5th to the 97.5th percentile at the level 0.95.

    A draw in which nothing was measured, NaN, is left out; if that leaves none, so are the ends NaN.

    >>> interval(np.arange(101.0), level=0.5)
    (25.0, 75.0)
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"the level {level} is not between 0 and 1")
    measured = np.asarray(drawn, dtype=float)
    measured = measured[np.isfinite(measured)]
    if not len(measured):
        return float("nan"), float("nan")
    low, high = np.percentile(measured, [50 * (1 - level), 50 * (1 + level)])
    return float(low), float(high)
