"""What may be promised of a threshold: how seldom it is wrong, how surely, on how many cases; or what is missing."""

from collections.abc import Sequence
from math import ceil

import msgspec

from scalepan.errors import InputError, counted
from scalepan.fit.labels import LabeledNumbers
from scalepan.fit.outlook import outlook
from scalepan.stats.promise import fewest_labels, promised_threshold

_ROUNDING = 1e-9


class PromisedLevel(msgspec.Struct, frozen=True):
    """What happens from a threshold on, and how often that may be wrong."""

    name: str
    """SILENT, for example."""
    does: str
    """Said with a share of the cases: `acts alone on`."""
    max_error: float


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """A threshold that keeps its word, or how many labels are missing."""

    level: str
    does: str
    max_error: float
    sure: float
    threshold: float | None
    """None if the labels allow no promise."""
    coverage: float
    """The share of the labeled cases at or above the threshold."""
    let_through: int
    wrong: int
    """How many of those let through were wrong."""
    labels: int
    more_labels: int | None = None
    """About how many more labels would allow `more_coverage`; None if that is not known or would not help."""
    more_coverage: float | None = None
    lowest_error: float | None = None
    """Without a threshold: the error of the surest cases, as far as the labels tell."""

    @property
    def text(self) -> str:
        """The promise in one sentence."""
        limit = f"at most {percent(self.max_error)} wrong, {percent(self.sure)} sure"
        if self.threshold is None:
            return f"{self.level}: no promise of {limit}: {self._missing()}"
        kept = f"{self.level} from {shown(self.threshold)}: {limit}, {self.does} {about(self.coverage)}"
        if not self.more_labels or self.more_coverage is None:
            return kept
        return f"{kept}; about {self.more_labels:,} more labels would allow {about(self.more_coverage)}"

    def _missing(self) -> str:
        fewest = fewest_labels(self.max_error, self.sure)
        if self.labels < fewest:
            few = f"it takes at least {fewest:,} labels, and there are {self.labels:,}"
        else:
            few = f"{counted(self.labels, 'label')} are too little evidence"
        if self.more_labels:
            return f"{few}; about {self.more_labels:,} more like these would allow one"
        if self.labels < fewest:
            return f"{few}; at least {fewest - self.labels:,} more are needed"
        if self.lowest_error is not None and self.lowest_error > self.max_error:
            wrong = about(self.lowest_error)
            return f"even the surest cases are wrong in about {wrong}, so more labels like these would not help"
        return few


def promise(
    labels: LabeledNumbers, level: PromisedLevel, sure: float, *, within: float | None = None, look_ahead: bool = True
) -> Promise:
    """The lowest threshold that keeps the promise on cases like the labeled ones.

    `within` is a threshold that keeps a stricter promise, and so keeps this one too: the result is never above it.
    """
    for name, share in (("max_error", level.max_error), ("sure", sure)):
        if not 0.0 < share < 1.0:
            raise InputError(f"{share:g} is not between 0 and 1", path=name)
    found = promised_threshold(labels.values, labels.right, level.max_error, sure)
    thresholds = [one for one in (found.threshold if found is not None else None, within) if one is not None]
    threshold = min(thresholds, default=None)
    chosen = labels.values >= (2.0 if threshold is None else threshold)
    coverage = float(chosen.mean()) if len(labels) else 0.0
    seen = outlook(labels, level.max_error, sure, coverage) if look_ahead else None
    return Promise(
        level=level.name,
        does=level.does,
        max_error=level.max_error,
        sure=sure,
        threshold=threshold,
        coverage=coverage,
        let_through=int(chosen.sum()),
        wrong=int((chosen & ~labels.right).sum()),
        labels=len(labels),
        more_labels=seen.more_labels if seen else None,
        more_coverage=seen.coverage if seen and seen.more_labels else None,
        lowest_error=seen.lowest_error if seen and threshold is None else None,
    )


def promises(
    labels: LabeledNumbers, levels: Sequence[PromisedLevel], sure: float, *, look_ahead: bool = True
) -> list[Promise]:
    """A promise for each level, from strict to loose."""
    found: list[Promise] = []
    for level in levels:
        within = found[-1].threshold if found else None
        # How many labels are missing is worth knowing for the first level; the others follow.
        found.append(promise(labels, level, sure, within=within, look_ahead=look_ahead and not found))
    return found


def shown(threshold: float) -> str:
    """A threshold for people, rounded up: rounded down it would let more through than was tested.

    >>> shown(0.93), shown(0.93001), shown(1.0)
    ('0.93', '0.931', '1')
    """
    return f"{ceil(threshold * 1000 - _ROUNDING) / 1000:g}"


def percent(share: float) -> str:
    """A limit in percent, with all its digits.

    >>> percent(0.05), percent(0.005), percent(0.125)
    ('5 %', '0.5 %', '12.5 %')
    """
    return f"{share * 100:.4g} %"


def about(share: float) -> str:
    """A measured share in percent, without decimals from 1 % on.

    >>> about(0.414), about(0.0041), about(0.0)
    ('41 %', '0.4 %', '0 %')
    """
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 else percent(float(f"{share:.1g}"))
