"""Fits for ranking: what observations of candidates are worth, learned within each query. Pure functions on arrays.

Fitted over all queries at once, an observation that is always 0 in some of the data becomes a marker of that data. Here
a query's relevant candidates are compared with its other candidates only, and each query counts with its own weight.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

LEVEL = -13.0
"""Log-odds of an average candidate in `fit_sides`."""
_TINY = 1e-300
_MOST_STEPS = 2000
_HISTORY = 10
_LONGEST_WAY = 100.0


class Choices(NamedTuple):
    """Candidates of many queries, one below the other: whether each is relevant, and which query it belongs to."""

    labels: "Floats"
    query: "Ints"
    """Counted from 0, rising; each query has a relevant candidate."""
    weight: "Floats"
    """How much each query counts."""


class SidesFit(NamedTuple):
    """Two sides of a score: weights and bias of each."""

    text: "Floats"
    text_bias: float
    vector: "Floats"
    vector_bias: float


def fit_choice(features: "Floats", choices: Choices, ridge: float = 1e-4) -> "Floats":
    """Weights, none below 0, by which relevant candidates stand out within their query (conditional logit).

    >>> choices = Choices(np.array([1.0, 0.0, 0.0, 1.0]), np.array([0, 0, 1, 1]), np.ones(2))
    >>> weights = fit_choice(np.array([[1.0, 5.0], [0.0, 5.0], [0.0, 2.0], [1.0, 2.0]]), choices)
    >>> bool(weights[0] > 1), round(float(weights[1]), 6)
    (True, 0.0)
    """
    spread = _spread(features)
    z = features / spread
    relevant = _relevant(choices)

    def loss(w: "Floats") -> "tuple[float, Floats]":
        scores = z @ w
        scores = scores - np.maximum.reduceat(scores, _starts(choices.query))[choices.query]
        odds = np.exp(scores)
        share = odds / np.bincount(choices.query, odds)[choices.query]
        wrong = (share - choices.labels * relevant) * choices.weight[choices.query]
        kept = -np.log(np.maximum(share, _TINY)) * choices.labels * relevant * choices.weight[choices.query]
        return float(kept.sum() + ridge * (w @ w)), wrong @ z + 2 * ridge * w

    return minimize(loss, np.zeros(features.shape[1]), np.zeros(features.shape[1])) / spread


def fit_sides(text: "Floats", vector: "Floats", alpha: "Floats", choices: Choices, ridge: float = 1e-4) -> SidesFit:
    """Curves of two sides by which the relevant have the largest share of S = alpha p_vector + (1 - alpha) p_text.

    Each p is 1 / (1 + exp(-(bias + weights . observations))). A share does not change if both sides grow alike, so the
    level is given: log-odds of an average candidate by text, low enough for both to stay far from 1.
    """
    spread_text, spread_vector = _spread(text), _spread(vector)
    mean_text, mean_vector = text.mean(axis=0) / spread_text, vector.mean(axis=0) / spread_vector
    z_text, z_vector = text / spread_text - mean_text, vector / spread_vector - mean_vector
    relevant, weight = _relevant(choices), choices.weight[choices.query]
    many = text.shape[1]

    def loss(w: "Floats") -> "tuple[float, Floats]":
        p_text = logistic(z_text @ w[:many] + LEVEL)
        p_vector = logistic(z_vector @ w[many:-1] + w[-1])
        both = np.maximum(alpha * p_vector + (1 - alpha) * p_text, _TINY)
        total = np.bincount(choices.query, both)[choices.query]
        kept = -np.log(both / total) * choices.labels * relevant * weight
        slope = weight * (1 / total - choices.labels * relevant / both)
        by_text = slope * (1 - alpha) * p_text * (1 - p_text)
        by_vector = slope * alpha * p_vector * (1 - p_vector)
        gradient = np.concatenate([by_text @ z_text, by_vector @ z_vector, [by_vector.sum()]])
        ridged = np.append(w[:-1], 0.0)
        return float(kept.sum() + ridge * (ridged @ ridged)), gradient + 2 * ridge * ridged

    start = np.append(np.ones(len(spread_text) + len(spread_vector)), LEVEL)
    w = minimize(loss, start, np.append(np.zeros(len(start) - 1), -np.inf))
    by_text, by_vector = w[:many], w[many:-1]
    return SidesFit(
        by_text / spread_text,
        LEVEL - float(by_text @ mean_text),
        by_vector / spread_vector,
        float(w[-1]) - float(by_vector @ mean_vector),
    )


def fit_logistic(features: "Floats", labels: "Floats", weight: "Floats", ridge: float = 1e-4) -> "tuple[Floats, float]":
    """Weights, none below 0, and bias of 1 / (1 + exp(-(bias + weights . features))), by weighted log loss.

    >>> weights, bias = fit_logistic(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 1.0, 1.0, 1.0]), np.ones(4))
    >>> bool(weights[0] > 1), round(float(logistic(np.array([bias]))[0]), 2)
    (True, 0.5)
    """
    spread = _spread(features)
    z = np.column_stack([features / spread, np.ones(len(features))])

    def loss(w: "Floats") -> "tuple[float, Floats]":
        odds = z @ w
        kept = (weight * (np.logaddexp(0, odds) - labels * odds)).sum()
        gradient = (weight * (logistic(odds) - labels)) @ z
        ridged = np.append(w[:-1], 0.0)
        return float(kept + ridge * (ridged @ ridged)), gradient + 2 * ridge * ridged

    lowest = np.append(np.zeros(features.shape[1]), -np.inf)
    w = minimize(loss, np.zeros(len(lowest)), lowest)
    return w[:-1] / spread, float(w[-1])


def logistic(x: "Floats") -> "Floats":
    """1 / (1 + exp(-x)) without overflow."""
    return np.exp(-np.logaddexp(0, -x))


def minimize(loss: "Callable[[Floats], tuple[float, Floats]]", start: "Floats", lowest: "Floats") -> "Floats":
    """Where a smooth loss is least, with each number at least `lowest`: spectral projected gradient.

    `loss` gives the value and the gradient.

    >>> there = np.array([3.0, -1.0])
    >>> minimize(lambda x: (float((x - there) @ (x - there)), 2 * (x - there)), np.zeros(2), np.zeros(2)).tolist()
    [3.0, 0.0]
    """
    x = np.maximum(start, lowest)
    value, gradient = loss(x)
    recent = [value]
    step = 1 / max(1.0, float(np.abs(gradient).max(initial=0.0)))
    for _ in range(_MOST_STEPS):
        way = np.maximum(x - step * gradient, lowest) - x
        longest = float(np.abs(way).max(initial=0.0))
        if longest < 1e-10 or not np.isfinite(longest):
            break
        way /= max(longest / _LONGEST_WAY, 1.0)
        slope, length = float(gradient @ way), 1.0
        # Not below the last value but below the worst of the last few: steps of this length need not go down each time.
        while length > 1e-12:
            tried = x + length * way
            found, found_gradient = loss(tried)
            if found <= max(recent) + 1e-4 * length * slope:
                break
            length /= 2
        else:
            break
        moved, bent = tried - x, found_gradient - gradient
        curvature = float(moved @ bent)
        step = min(max(float(moved @ moved) / curvature, 1e-10), 1e10) if curvature > 0 else 1e3
        x, value, gradient = tried, found, found_gradient
        recent = [*recent[-_HISTORY + 1 :], value]
        if len(recent) == _HISTORY and max(recent) - min(recent) < 1e-10 * max(abs(value), 1.0):
            break
    return x


def _relevant(choices: Choices) -> "Floats":
    """1 over the number of relevant candidates of the query, for each candidate."""
    return 1 / np.maximum(np.bincount(choices.query, choices.labels), 1)[choices.query]


def _starts(query: "Ints") -> "Ints":
    return np.flatnonzero(np.diff(query, prepend=-1))


def _spread(features: "Floats") -> "Floats":
    """By what columns are divided, so that one ridge means the same to all."""
    deviation = features.std(axis=0)
    return np.where(deviation > 1e-12, deviation, 1.0)
