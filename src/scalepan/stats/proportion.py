"""How sure is a share of cases? Binomial tails and intervals, exact and by Wilson's score."""

from math import erfc, exp, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_NORMAL = NormalDist()


def normal_quantile(probability: float) -> float:
    """The z below which this share of a normal distribution lies.

    >>> round(normal_quantile(0.975), 4)
    1.96
    """
    return _NORMAL.inv_cdf(probability)


def normal_two_sided(z: float) -> float:
    """The probability of a value at least this far from 0 on either side.

    >>> round(normal_two_sided(1.96), 3)
    0.05
    """
    return erfc(abs(z) / sqrt(2))


def binomial_at_most(successes: int, trials: int, share: float) -> float:
    """The probability of at most so many successes, exactly.

    >>> round(binomial_at_most(1, 3, 0.5), 9)
    0.5
    """
    if successes >= trials or share <= 0.0:
        return 1.0
    if share >= 1.0 or successes < 0:
        return 0.0
    import numpy as np

    k = np.arange(successes + 1)
    rest = lgamma(trials + 1) - _log_factorials(successes) - _log_factorials_down(trials, successes)
    logs = rest + k * log(share) + (trials - k) * log1p(-share)
    highest = float(logs.max())
    return min(1.0, exp(highest) * float(np.exp(logs - highest).sum()))


def _log_factorials(most: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The logarithms of 0!, 1!, ... most!."""
    import numpy as np

    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1, dtype=float)))])


def _log_factorials_down(trials: int, most: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The logarithms of n!, (n-1)!, ... (n-most)!."""
    import numpy as np

    falling = np.log(np.arange(trials, trials - most, -1, dtype=float))
    return lgamma(trials + 1) - np.concatenate([[0.0], np.cumsum(falling)])


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """An interval for a share, also for few trials and shares near 0 or 1 (Wilson's score).

    >>> tuple(round(end, 3) for end in wilson(9, 10))
    (0.596, 0.982)
    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    if not trials:
        return 0.0, 1.0
    z = normal_quantile(0.5 + confidence / 2)
    share = successes / trials
    center = share + z * z / (2 * trials)
    spread = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (center - spread) / scale), min(1.0, (center + spread) / scale)


def pass_at_k(passed: int, tries: int, k: int) -> float | None:
    """The chance that at least one of k tries passes, estimated from more tries without bias; None with fewer than k.

    >>> pass_at_k(1, 4, 2)
    0.5
    """
    if tries < k:
        return None
    miss = 1.0
    for step in range(k):
        miss *= max(tries - passed - step, 0) / (tries - step)
    return 1.0 - miss


def pass_all_k(passed: int, tries: int, k: int) -> float | None:
    """The chance that all of k tries pass, likewise: what a user who tries k times can count on.

    >>> pass_all_k(3, 4, 2)
    0.5
    """
    if tries < k:
        return None
    chance = 1.0
    for step in range(k):
        chance *= max(passed - step, 0) / (tries - step)
    return chance
