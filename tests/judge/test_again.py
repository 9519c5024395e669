"""How long a repeat waits."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from scalepan.judge.retry import asked_for, pause
from scalepan.policy.judge import JudgePolicy

POLICY = JudgePolicy(backoff_s=0.5, wait_max_s=60)


@pytest.mark.parametrize(("number", "longest"), [(0, 0.5), (1, 1.0), (2, 2.0), (6, 32.0), (7, 60.0), (5000, 60.0)])
def test_each_wait_is_twice_the_last_and_varies_by_half(number: int, longest: float) -> None:
    waits = [pause(number, None, None, POLICY) for _ in range(200)]
    assert longest / 2 <= min(waits) < max(waits) <= longest
    assert max(waits) - min(waits) > longest / 5


@pytest.mark.parametrize(("said", "wait"), [("7", 7), ("0", 0), ("-3", 0), ("3600", 60)])
def test_what_the_server_asks_for_counts_but_not_without_end(said: str, wait: float) -> None:
    assert pause(0, said, None, POLICY) == wait


@pytest.mark.parametrize("said", [None, "", "soon", "nan", "inf", "Wed, 99 Oct 2026 07:28:30 GMT"])
def test_what_says_nothing_is_passed_over(said: str | None) -> None:
    assert asked_for(said) is None


def test_a_date_is_taken_by_the_servers_clock() -> None:
    assert asked_for("Wed, 21 Oct 2026 07:28:30 GMT", "Wed, 21 Oct 2026 07:28:00 GMT") == 30
    assert asked_for("Wed, 21 Oct 2026 07:28:00 GMT", "Wed, 21 Oct 2026 07:28:30 GMT") == 0
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    assert asked_for(soon) == pytest.approx(20, abs=2)
