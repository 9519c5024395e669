"""From which number on may an agent act alone, if it may be wrong at most so often? Learn-then-Test.

A threshold is tested against the hypothesis "what it lets through is wrong more often than allowed", by an exact
binomial test. Thresholds are tested from strict to loose, in an order that was fixed before the labels were looked at:
a sequence starts with its share of the allowed risk, hands it on to the next threshold as long as tests succeed, and
loses it where one fails. So the chance that the chosen threshold breaks the promise is at most `1 - sure`, provided
that the labels come from the same source as the cases to come (they are exchangeable).

Which thresholds are tried, and where sequences start, depends on the numbers but never on the labels.
"""

from math import ceil, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scalepan.stats.proportion import binomial_at_most

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS = 60
"""How many thresholds are tried at most. More would stop the sequence sooner, at a chance run of errors."""

STARTS = ((600, (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)), (250, (0.3, 0.45, 0.7, 1.0)), (0, ()))
"""By number of labels: the shares of the cases at which further sequences of tests start."""
EXPECTED_SHARE = 0.3
"""How much of the risk the sequence gets that starts by expectation, if there are others."""
_ROUNDING = 1e-9


class PromisedThreshold(NamedTuple):
    """A threshold that keeps a promise."""

    threshold: float
    """From this number on, what is let through is wrong at most as often as allowed."""
    let_through: int
    """How many of the labeled cases are at or above it."""
    wrong: int
    """How many of these were wrong."""
    p: float
    """The probability of so few errors if the promise did not hold."""


def fewest_labels(max_error: float, sure: float) -> int:
    """How many cases, all of them right, it takes at least to promise anything.

    >>> fewest_labels(0.05, 0.95)
    59
    """
    for name, share in (("max_error", max_error), ("sure", sure)):
        if not 0.0 < share < 1.0:
            raise ValueError(f"{name}: {share} is not between 0 and 1")
    return ceil(log(1 - sure) / log(1 - max_error) - _ROUNDING)


def promised_threshold(
    stated: "Floats", right: "NDArray[np.bool_]", max_error: float, sure: float, expected: "Floats | None" = None
) -> PromisedThreshold | None:
    """The lowest threshold that keeps the promise; None if there is too little evidence for any.

    `expected` is how often each case is expected to be right, by anything but these labels: the stated probability, or
    a curve that was fitted on other data. It chooses where the sequence of tests starts, and nothing else: a bad guess
    costs coverage, never the promise.
    """
    fewest = fewest_labels(max_error, sure)
    stated, right = np.asarray(stated, dtype=float), np.asarray(right, dtype=bool)
    if stated.shape != right.shape or stated.ndim != 1 or not np.isfinite(stated).all():
        raise ValueError("a promise needs numbers, all of them finite, and a label for each")
    order = np.argsort(-stated, kind="stable")
    falling, errors = stated[order], np.cumsum(~right[order])
    # Equal numbers are let through together.
    ends = np.flatnonzero(np.append(falling[1:] < falling[:-1], True)[: len(falling)]) + 1
    ends = _thinned(ends[ends >= fewest])
    if not len(ends):
        return None
    chance = np.clip(stated if expected is None else expected, 0.0, 1.0)[order]
    expected_risk = 1 - np.cumsum(chance)[ends - 1] / ends
    shares = _shares(ends, len(stated), expected_risk, max_error) * (1 - sure)
    best: PromisedThreshold | None = None
    carried = 0.0
    for end, share in zip(ends.tolist(), shares.tolist(), strict=True):
        level = share + carried
        wrong = int(errors[end - 1])
        p = binomial_at_most(wrong, end, max_error) if level else 1.0
        carried = level if p <= level else 0.0
        if carried:
            best = PromisedThreshold(float(falling[end - 1]), end, wrong, p)
    return best


def _shares(ends: "NDArray[np.intp]", count: int, expected_risk: "Floats", max_error: float) -> "Floats":
    """Where sequences start, and with which share of the risk. Many labels can afford several starts.

    The first start is where a test is most likely to succeed if the expectation is right: far below the allowed error,
    on many cases. The others are there for the case that it is not.
    """
    shares = np.zeros(len(ends))
    others = next(starts for fewest, starts in STARTS if count >= fewest)
    own = EXPECTED_SHARE if others else 1.0
    if others and (expected_risk > max_error).all():
        own = 0.0  # it expects no test to succeed
    shares[np.argmax((max_error - expected_risk) * np.sqrt(ends))] += own
    for coverage in others:
        shares[np.argmin(np.abs(ends - coverage * count))] += (1 - own) / len(others)
    return shares


def _thinned(ends: "NDArray[np.intp]") -> "NDArray[np.intp]":
    if len(ends) <= STEPS:
        return ends
    kept: NDArray[np.intp] = ends[np.unique(np.linspace(0, len(ends) - 1, STEPS).round().astype(int))]
    return kept
