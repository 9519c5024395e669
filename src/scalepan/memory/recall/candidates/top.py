"""The best k of many scores, of equals the newest: the order that SQL gives with ORDER BY score DESC, ts DESC."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def top(
    scores: "NDArray[np.floating]", mask: "NDArray[np.bool_]", k: int, newest: "NDArray[np.float64]"
) -> list[tuple[int, float]]:
    """Rows of the mask with the k highest scores, best first. Without sorting them all: k is small, rows are many.

    >>> top(np.array([0.5, 0.9, 0.5, 0.1]), np.ones(4, dtype=bool), 2, np.array([1.0, 2.0, 3.0, 4.0]))
    [(1, 0.9), (2, 0.5)]
    """
    rows = best_rows(scores, mask, k, newest)
    found = scores[rows]
    order = np.lexsort((rows, -newest[rows], -found))
    return [(int(rows[i]), float(found[i])) for i in order]


def best_rows(
    scores: "NDArray[np.floating]", mask: "NDArray[np.bool_]", k: int, newest: "NDArray[np.float64]"
) -> "NDArray[np.int64]":
    """The same rows, in no order."""
    rows = np.flatnonzero(mask)
    if len(rows) > k:
        found = scores[rows]
        least = np.partition(found, len(found) - k)[len(found) - k]
        better, equal = rows[found > least], rows[found == least]
        open_places = k - len(better)
        if len(equal) > open_places:
            equal = equal[np.argsort(-newest[equal], kind="stable")[:open_places]]
        rows = np.concatenate([better, equal])
    return rows
