"""Utility over everything that a request may read: what a z-score is measured against."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scalepan.memory.rank import linear_utility, sigmoid

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Population(NamedTuple):
    """Mean and deviation of utility."""

    mean: float
    deviation: float

    def gain(self, utility: float) -> float:
        """sigma(z); without spread there is no z, and utility itself stands in."""
        if self.deviation <= 0:
            return linear_utility(utility)
        return sigmoid((utility - self.mean) / self.deviation)

    def gains(self, utilities: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """The same of many."""
        return np.array([self.gain(utility) for utility in utilities.tolist()])

    def about(self, utilities: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """The same of very many, quickly, and equal but for the last digit."""
        if self.deviation <= 0:
            return np.clip((utilities + 1) / 2, 0.0, 1.0)
        return 1 / (1 + np.exp(-(utilities - self.mean) / self.deviation))


NO_SPREAD = Population(0.0, 0.0)


def population(utilities: "NDArray[np.float64]") -> Population:
    """Mean and deviation; fewer than two claims, or all alike, have no spread.

    >>> population(np.array([0.0, 1.0]))
    Population(mean=0.5, deviation=0.5)
    """
    if len(utilities) < 2 or utilities.min() == utilities.max():
        return NO_SPREAD
    return Population(float(utilities.mean()), float(utilities.std()))
