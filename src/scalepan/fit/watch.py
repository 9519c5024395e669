"""Does a promise still hold, as labels come in? An alarm that may be read at any time."""

import msgspec

from scalepan.errors import InputError
from scalepan.fit.labels import LabeledNumbers
from scalepan.fit.numbers import NUMBERS
from scalepan.fit.promise import about, percent, shown
from scalepan.policy import Policy
from scalepan.stats.alarm import MAX_FALSE, Alarm


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What labels in order say about a promise."""

    threshold: float
    max_error: float
    labels: int
    let_through: int
    """How many of them were at or above the threshold: the promise is about these alone."""
    wrong: int
    evidence: float
    """Against the promise: it began at 1, and an alarm takes `limit`."""
    limit: float
    alarm: bool
    raised_at: int | None
    """The label, counted from 1 in the order given, at which the alarm was raised."""

    @property
    def text(self) -> str:
        """One sentence."""
        kept = f"at most {percent(self.max_error)} wrong from {shown(self.threshold)}"
        share = f" ({about(self.wrong / self.let_through)})" if self.let_through else ""
        seen = f"{self.wrong:,} of {self.let_through:,} wrong{share}"
        if self.alarm:
            return f"ALARM at label {self.raised_at:,}: the promise of {kept} no longer holds: {seen}"
        return (
            f"no alarm: nothing speaks clearly against {kept}: {seen}, evidence {self.evidence:.2g} of {self.limit:g}"
        )


def watch(labels: LabeledNumbers, threshold: float, max_error: float, *, max_false: float = MAX_FALSE) -> Watched:
    """Read labels in the order in which they came, and say whether the promise still holds."""
    for name, share in (("max_error", max_error), ("max_false", max_false)):
        if not 0.0 < share < 1.0:
            raise InputError(f"{share:g} is not between 0 and 1", path=name)
    alarm = Alarm(max_error, max_false)
    raised_at = None
    for place, (value, right) in enumerate(zip(labels.values.tolist(), labels.right.tolist(), strict=True), 1):
        if value >= threshold and alarm.add(not right) and raised_at is None:
            raised_at = place
    return Watched(
        threshold=threshold,
        max_error=max_error,
        labels=len(labels),
        let_through=alarm.cases,
        wrong=alarm.wrong,
        evidence=alarm.evidence,
        limit=alarm.limit,
        alarm=raised_at is not None,
        raised_at=raised_at,
    )


def threshold_in_force(number: str, policy: Policy) -> float:
    """The first threshold of a number in a policy: that of SILENT, the gate, or the pass line."""
    found = policy
    for key in NUMBERS[number].lines[0].path:
        found = found[key] if isinstance(found, dict) else getattr(found, key)
    return float(found)  # type: ignore[arg-type]
