"""How long to wait before a retry: as the server says, else longer each time, with jitter."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from random import random

from scalepan.policy.judge import JudgePolicy


def pause(number: int, retry_after: str | None, server_date: str | None, policy: JudgePolicy) -> float:
    """Seconds before retry `number`, counted from 0."""
    asked = asked_for(retry_after, server_date)
    if asked is not None:
        return min(asked, policy.wait_max_s)
    grown = policy.backoff_s * 2.0 ** min(number, 30)
    return min(grown, policy.wait_max_s) * (0.5 + jitter() / 2)


def jitter() -> float:
    """From 0 to 1, so that thirty callers that were refused together do not retry together."""
    return random()  # noqa: S311 - no secret


def asked_for(retry_after: str | None, server_date: str | None = None) -> float | None:
    """Retry-After in seconds: a number, or a date by the server's own clock. None if it is neither.

    >>> asked_for("2"), asked_for("soon"), asked_for("-5")
    (2.0, None, 0.0)
    >>> asked_for("Wed, 21 Oct 2026 07:28:30 GMT", "Wed, 21 Oct 2026 07:28:00 GMT")
    30.0
    """
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        until = _date(retry_after)
        if until is None:
            return None
        seconds = (until - (_date(server_date) or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if isfinite(seconds) else None


def _date(text: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(text or "")
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
