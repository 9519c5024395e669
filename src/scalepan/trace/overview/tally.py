"""Counts of many traces that can be added up: how many, how valuable, how their calls went."""

from array import array
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from scalepan.trace.overview.calls import CallCounts

PLACES = 100
"""Values are counted in hundredths, so that a median of any number of traces needs 101 counters."""


class TraceFacts(NamedTuple):
    """What is counted of one trace."""

    value: float
    passed: bool
    calls: CallCounts
    recoveries: int
    input_tokens: int | None
    output_tokens: int | None
    success: bool | None = None
    """None if the trace does not state it."""


class Tally:
    """The sums of some traces."""

    __slots__ = (
        *("calls", "count", "input_tokens", "output_tokens", "passed", "recoveries", "stated", "succeeded", "values"),
        "with_tokens",
    )

    def __init__(self) -> None:
        self.count = self.passed = self.recoveries = 0
        self.values = array("Q", bytes(8 * (PLACES + 1)))
        self.calls = CallCounts()
        self.with_tokens = self.input_tokens = self.output_tokens = 0
        self.stated = self.succeeded = 0

    def add(self, facts: TraceFacts) -> None:
        """Count one trace."""
        self.count += 1
        self.passed += facts.passed
        self.values[int(facts.value * PLACES + 0.5)] += 1
        if facts.calls.calls or facts.calls.answered or facts.calls.refused:
            self.calls.add(facts.calls)
        self.recoveries += facts.recoveries
        if facts.success is not None:
            self.stated += 1
            self.succeeded += facts.success
        if facts.input_tokens is not None or facts.output_tokens is not None:
            self.with_tokens += 1
            self.input_tokens += facts.input_tokens or 0
            self.output_tokens += facts.output_tokens or 0

    def merge(self, other: "Tally") -> None:
        """Add the sums of others."""
        self.count += other.count
        self.passed += other.passed
        self.recoveries += other.recoveries
        for place, count in enumerate(other.values):
            self.values[place] += count
        self.calls.add(other.calls)
        self.stated += other.stated
        self.succeeded += other.succeeded
        self.with_tokens += other.with_tokens
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens

    @property
    def median(self) -> float | None:
        """The median value to two places; None without a trace."""
        if not self.count:
            return None
        return (self._at((self.count - 1) // 2) + self._at(self.count // 2)) / 2 / PLACES

    def _at(self, rank: int) -> int:
        for place, count in enumerate(self.values):
            rank -= count
            if rank < 0:
                return place
        return PLACES


@lru_cache(maxsize=4096)
def _calendar(day: str) -> tuple[str, str]:
    when = date.fromisoformat(day)
    return when.isoformat(), (when - timedelta(days=when.weekday())).isoformat()


def day_and_week(created_at: str | None) -> tuple[str, str] | None:
    """A UTC time's day and the Monday of its week; None if the log does not say when.

    >>> day_and_week("2026-01-31T12:00:00Z")
    ('2026-01-31', '2026-01-26')
    """
    if created_at is None:
        return None
    try:
        return _calendar(created_at[:10])
    except (ValueError, OverflowError):
        pass
    try:
        # Times may also be written as 20260131T120000Z.
        return _calendar(datetime.fromisoformat(created_at).date().isoformat())
    except (ValueError, OverflowError):
        return None
