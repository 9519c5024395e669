"""A fit: how good a number is, the curve that helps, and what may be promised, over all cases and group by group."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from scalepan import clock
from scalepan.errors import InputError
from scalepan.fit.assess import Assessment, assess
from scalepan.fit.curve import FittedCurve, fit_curve, held_out
from scalepan.fit.labels import LabeledNumbers
from scalepan.fit.numbers import CONFIRM_ERROR, NOTIFY_FACTOR, NUMBERS
from scalepan.fit.promise import Promise, PromisedLevel, promises
from scalepan.stats.promise import fewest_labels

MAX_ERROR, SURE = 0.05, 0.95


class GroupPromise(msgspec.Struct, frozen=True, kw_only=True):
    """The thresholds of one group: its own where its labels allow, else those of all cases."""

    group: str
    labels: int
    own: bool
    """Whether the group has a threshold of its own. If not, nothing is promised for it alone."""
    promises: tuple[Promise, ...]
    """Those of the group, or those of all cases."""


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that labels say about a number."""

    number: str
    labels: int
    bad_rows: int
    digest: str
    """A hash of the labels."""
    date: str
    assessment: Assessment
    curve: FittedCurve
    calibrated: Assessment | None
    """The same figures after the curve, on cases that it was not fitted on; None if no curve was taken."""
    promises: tuple[Promise, ...]
    groups: tuple[GroupPromise, ...]

    @property
    def given(self) -> bool:
        """Whether the first promise, the one that was asked for, could be given."""
        return self.promises[0].threshold is not None

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        for one, found in zip(data["promises"], self.promises, strict=True):
            one["text"] = found.text
        return {**data, "given": self.given}


def fit(
    number: str,
    labels: LabeledNumbers,
    *,
    max_error: float = MAX_ERROR,
    sure: float = SURE,
    notify_error: float | None = None,
    confirm_error: float | None = None,
) -> Fit:
    """Assess a number (confidence, value, memory or judge), calibrate it, and promise what the labels allow."""
    if number not in NUMBERS:
        raise InputError(f"no number '{number}'; there are {', '.join(NUMBERS)}")
    if not len(labels):
        raise InputError("no good row in it")
    levels = _levels(number, max_error, notify_error, confirm_error)
    curve = fit_curve(labels)
    pooled = promises(labels, levels, sure)
    return Fit(
        number=number,
        labels=len(labels),
        bad_rows=len(labels.bad),
        digest=labels.digest,
        date=datetime.fromtimestamp(clock.time(), UTC).date().isoformat(),
        assessment=assess(labels),
        curve=curve,
        calibrated=assess(labels, held_out(curve.kind, labels)) if curve.taken else None,
        promises=tuple(pooled),
        groups=tuple(
            _of_group(name, labels.at(places), levels, sure, pooled) for name, places in labels.by_group().items()
        ),
    )


def _levels(
    number: str, max_error: float, notify_error: float | None, confirm_error: float | None
) -> list[PromisedLevel]:
    """How often each level may be wrong; a looser level is never stricter than the one before."""
    if notify_error is None:
        notify_error = min(NOTIFY_FACTOR * max_error, max(CONFIRM_ERROR, max_error))
    if confirm_error is None:
        confirm_error = max(CONFIRM_ERROR, notify_error)
    if not max_error <= notify_error <= confirm_error:
        raise InputError(
            f"errors {max_error:g} (silent), {notify_error:g} (notify), {confirm_error:g} (confirm): "
            "a looser level cannot allow fewer errors"
        )
    errors = (max_error, notify_error, confirm_error)
    return [
        PromisedLevel(line.name, line.does, error) for line, error in zip(NUMBERS[number].lines, errors, strict=False)
    ]


def _of_group(
    name: str, cases: LabeledNumbers, levels: Sequence[PromisedLevel], sure: float, pooled: Sequence[Promise]
) -> GroupPromise:
    found: Sequence[Promise] = ()
    if len(cases) >= fewest_labels(levels[0].max_error, sure):
        found = promises(cases, levels, sure, look_ahead=False)
    own = bool(found) and found[0].threshold is not None
    return GroupPromise(group=name, labels=len(cases), own=own, promises=tuple(found if own else pooled))
