"""Counts for Prometheus, in its text format: requests, time, bytes. No names of tenants, projects or tokens."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

import scalepan

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """What one server has done since it started. The event loop alone writes here.

    >>> metrics = Metrics()
    >>> metrics.done("confidence_score", 200, 0.002, received=90, sent=150)
    >>> metrics.text().splitlines()[5]
    'scalepan_requests_total{operation="confidence_score",code="200"} 1'
    """

    def __init__(self) -> None:
        self.in_flight = 0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self._bytes = {"received": 0, "sent": 0}

    def done(self, operation: str, code: int, seconds: float, *, received: int, sent: int) -> None:
        """One request was answered, or its client went away (code 499)."""
        self._requests[operation, code] += 1
        times = self._times.setdefault(operation, [0] * (len(BUCKETS) + 1))
        times[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[operation] += seconds  # type: ignore[assignment]
        self._bytes["received"] += received
        self._bytes["sent"] += sent

    def text(self) -> str:
        """The page that Prometheus reads."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# HELP scalepan_info The version that runs."
        yield "# TYPE scalepan_info gauge"
        yield f'scalepan_info{{version="{scalepan.__version__}"}} 1'
        yield "# HELP scalepan_requests_total Requests by operation and HTTP status."
        yield "# TYPE scalepan_requests_total counter"
        for (operation, code), count in sorted(self._requests.items()):
            yield f'scalepan_requests_total{{operation="{operation}",code="{code}"}} {count}'
        yield "# HELP scalepan_request_seconds How long requests took."
        yield "# TYPE scalepan_request_seconds histogram"
        for operation, times in sorted(self._times.items()):
            total = 0
            for limit, count in zip((*BUCKETS, "+Inf"), times, strict=True):
                total += count
                yield f'scalepan_request_seconds_bucket{{operation="{operation}",le="{limit}"}} {total}'
            yield f'scalepan_request_seconds_sum{{operation="{operation}"}} {self._seconds[operation]:.6f}'
            yield f'scalepan_request_seconds_count{{operation="{operation}"}} {total}'
        yield "# HELP scalepan_requests_in_flight Requests that have begun and are not answered yet."
        yield "# TYPE scalepan_requests_in_flight gauge"
        yield f"scalepan_requests_in_flight {self.in_flight}"
        yield "# HELP scalepan_bytes_total Bytes of bodies, received and sent."
        yield "# TYPE scalepan_bytes_total counter"
        for direction, count in self._bytes.items():
            yield f'scalepan_bytes_total{{direction="{direction}"}} {count}'
