"""What may be promised of a threshold: wrong at most so often, this sure, on so much of the cases; or how much is missing."""

from math import ceil
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from scalepan.fit.labels import Labels
from scalepan.stats.promise import fewest_labels, promised_threshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scalepan.fit.curve import FittedCurve

    Floats = NDArray[np.float64]

MOST_MORE = 1_000_000
POWER = 0.8
SIMULATED = 40
_GROWTH = 1.5


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """A threshold that keeps its word, or how many labels are missing."""

    max_error: float
    sure: float
    threshold: float | None
    """None if the labels allow no promise."""
    coverage: float
    """The share of the labeled cases that it lets through."""
    let_through: int
    wrong: int
    labels: int
    more_labels: int | None
    """About how many more labels would allow `more_coverage`; None if more labels would not help."""
    more_coverage: float | None
    grouped: bool
    """Whether cases of one group were counted as one."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    def __str__(self) -> str:
        limit = f"at most {self.max_error:g} wrong"
        if self.threshold is None:
            missing = f"; about {self.more_labels:,} more labels would allow one" if self.more_labels else ""
            return f"no promise of {limit}, {self.sure:.0%} sure: {self.labels:,} labels are too little evidence{missing}"
        more = ""
        if self.more_labels and self.more_coverage:
            more = f"; about {self.more_labels:,} more labels would allow {self.more_coverage:.0%}"
        kept = f"from {self.threshold:.3f}: {limit}, {self.sure:.0%} sure, lets through {self.coverage:.0%}"
        return f"{kept} ({self.wrong:,} of {self.let_through:,} wrong){more}"


def promise(labels: Labels, max_error: float, sure: float, curve: "FittedCurve | None" = None) -> Promise:
    """The lowest threshold that keeps the promise on cases like the labeled ones."""
    values, right = _one_per_group(labels)
    found = promised_threshold(values, right, max_error, sure)
    coverage = float((labels.values >= found.threshold).mean()) if found is not None else 0.0
    more, then = _more(values, right, max_error, sure, coverage)
    chosen = labels.values >= found.threshold if found is not None else np.zeros(len(labels.values), dtype=bool)
    return Promise(
        max_error=max_error,
        sure=sure,
        threshold=found.threshold if found is not None else None,
        coverage=coverage,
        let_through=int(chosen.sum()),
        wrong=int((~labels.right[chosen]).sum()),
        labels=len(labels.values),
        more_labels=more,
        more_coverage=then,
        grouped=labels.groups is not None,
    )
