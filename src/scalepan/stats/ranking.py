"""Does a number rank the right ones above the wrong ones? The area under the ROC curve, ties counted half."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def auroc(scores: "Floats", labels: "NDArray[np.bool_]", weights: "Floats | None" = None) -> "Floats":
    """The chance that a true one is above a false one, ties half; one number for each row of weights.

    NaN where only one kind of label has any weight: then nothing was measured. 0.5 says nothing, below it the number
    ranks the wrong way round. A weight says how often a record counts, as `resampled` draws them.

    >>> auroc(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, True, False, True])).tolist()
    [0.875]
    """
    scores, labels = np.asarray(scores, dtype=float), np.asarray(labels, dtype=bool)
    if scores.shape != labels.shape or scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
        raise ValueError("AUROC needs scores, all of them finite, and a label for each")
    weights = np.ones((1, len(scores))) if weights is None else weights
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=-np.inf))
    true = np.add.reduceat(weights[:, order] * labels[order], starts, axis=1)
    false = np.add.reduceat(weights[:, order] * ~labels[order], starts, axis=1)
    below = np.cumsum(false, axis=1) - false
    pairs = true.sum(axis=1) * false.sum(axis=1)
    won = (true * (below + false / 2)).sum(axis=1)
    area: Floats = np.divide(won, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    return area
