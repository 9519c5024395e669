"""Half-lives: what time leaves of a number."""

from math import exp, log
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def recency(age_days: float, half_life_days: float) -> float:
    """1.0 for a new claim, 0.5 after one half-life.

    >>> recency(30, half_life_days=30)
    0.5
    """
    # A clock that went back must not make a claim newer than new.
    return exp(-log(2) * max(age_days, 0.0) / half_life_days)


def recencies(ages_days: "NDArray[np.float64]", half_life_days: Any) -> "NDArray[np.float64]":
    """The same of many, with one half-life for all or one for each."""
    import numpy as np

    found: NDArray[np.float64] = np.exp(-log(2) * np.maximum(ages_days, 0.0) / half_life_days)
    return found


def faded(value: float, age_days: float, half_life_days: float) -> float:
    """What time has left of a value: half of it after each half-life.

    >>> faded(0.8, 60, half_life_days=30)
    0.2
    """
    return value * recency(age_days, half_life_days)
