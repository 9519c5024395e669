"""How much a caller may send, how long it may take, how often it may come."""

from collections import OrderedDict
from time import monotonic

import msgspec

MOST_KEPT = 10_000


class Limits(msgspec.Struct, frozen=True):
    """What `scalepan serve` takes as options."""

    body: int = 10_000_000
    """Bytes of a JSON body, and of one line of NDJSON."""
    body_seconds: float = 20.0
    """To send the head of a request, its body, or one line of NDJSON."""
    rate: float = 2000.0
    """Requests a second of one token, or of one address where there is none; 0 switches it off."""
    at_once: int = 128
    """Requests that are worked on at the same time."""
    stop_seconds: float = 10.0
    """To finish what is under way when the server is stopped."""


class Buckets:
    """A bucket for each caller: it holds two seconds' worth of requests and fills up at the rate.

    >>> buckets = Buckets(rate=1.0)
    >>> [buckets.wait("a", now=0.0) for _ in range(3)], buckets.wait("a", now=5.0)
    ([0.0, 0.0, 1.0], 0.0)
    """

    BURST_SECONDS = 2.0

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._size = max(1.0, rate * self.BURST_SECONDS)
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, who: str, now: float | None = None) -> float:
        """Take one; 0 if there was one, else the seconds until there is."""
        if self._rate <= 0:
            return 0.0
        now = monotonic() if now is None else now
        level, at = self._levels.pop(who, (self._size, now))
        level = min(self._size, level + (now - at) * self._rate)
        if len(self._levels) >= MOST_KEPT:  # who was not here for longest has a full bucket by now, or nearly
            self._levels.popitem(last=False)
        if level < 1.0:
            self._levels[who] = (level, now)
            return (1.0 - level) / self._rate
        self._levels[who] = (level - 1.0, now)
        return 0.0
