"""What the caller gets from a model that answers late, with errors, or not at all."""

import asyncio
import time

import pytest

from scalepan.judge import Judge
from scalepan.policy import Policy, load_policy
from tests.judge.ask import WELL, about
from tests.judge.conftest import Meet
from tests.modelserver import (
    Behaviour,
    Reply,
    Request,
    drops,
    fails,
    in_turn,
    says,
    slow,
)


def test_429_then_200_waits_as_long_as_it_is_told(meet: Meet) -> None:
    judge, server = meet(in_turn(fails(429, retry_after="0.15"), WELL))
    judgement = judge.ask(about())
    assert (judgement.value, judgement.calls, server.calls) == (0.8, 2, 2)
    assert judgement.took_ms >= 150


def test_retry_after_is_capped(meet: Meet) -> None:
    judge, _ = meet(in_turn(fails(429, retry_after="3600"), WELL), wait_max_s=0.05)
    judgement = judge.ask(about())
    assert judgement.value == 0.8
    assert 50 <= judgement.took_ms < 5000


def test_a_server_that_asks_for_quiet_gets_it_from_all_callers(meet: Meet) -> None:
    at: list[float] = []

    def busy_at_first(request: Request) -> Reply:
        at.append(time.monotonic())
        return (fails(429, retry_after="0.15") if request.number == 1 else WELL)(request)

    judge, server = meet(busy_at_first, concurrency=1)
    assert [one.value for one in judge.ask_many([about(str(n)) for n in range(3)])] == [0.8] * 3
    assert server.calls == 4
    assert at[1] - at[0] >= 0.15


def test_a_question_that_breaks_the_server_does_not_hold_up_the_others(meet: Meet) -> None:
    judge, _ = meet(
        lambda request: (fails(500) if "bad" in request.prompt else WELL)(request), backoff_s=0.2, retries=1
    )
    done: list[str] = []

    async def both() -> None:
        async def ask(answer: str) -> None:
            await judge.aask(about(answer))
            done.append(answer)

        await asyncio.gather(ask("bad"), *(ask(f"good {n}") for n in range(5)))

    asyncio.run(both())
    assert done[-1] == "bad"


@pytest.mark.parametrize("behaviour", [fails(500), fails(503), drops(), lambda _: Reply(body=b"0" * 50, drop_after=10)])
def test_trouble_that_passes(meet: Meet, behaviour: Behaviour) -> None:
    judge, server = meet(in_turn(behaviour, behaviour, WELL))
    assert (judge.ask(about()).value, server.calls) == (0.8, 3)


@pytest.mark.parametrize(
    ("behaviour", "calls", "reason"),
    [
        (fails(500, "out of memory"), 4, "the endpoint answered 500 4 times: out of memory"),
        (fails(429, "slow down"), 4, "the endpoint answered 429 4 times: slow down"),
        (drops(), 4, "drops the connection"),
        (fails(401, "bad key"), 1, "the endpoint refuses the key in SCALEPAN_JUDGE_KEY (401): bad key"),
        (
            fails(404, "no model x"),
            1,
            "no such address or model (404): no model x; check judge.base_url and judge.model",
        ),
        (fails(413, "too long"), 1, "the endpoint answered 413: too long"),
        (
            fails(400, "context is 4096"),
            2,
            "the endpoint answered 400: context is 4096",
        ),  # once with, once without format
        (lambda _: Reply(500, b'{"error": "as text"}'), 4, "the endpoint answered 500 4 times: as text"),
        (lambda _: Reply(500, b'{"detail": [{"msg": "x"}]}'), 4, "the endpoint answered 500 4 times"),
        (lambda _: Reply(502, b"<html>"), 4, "the endpoint answered 502 4 times"),
    ],
)
def test_trouble_that_stays(meet: Meet, behaviour: Behaviour, calls: int, reason: str) -> None:
    judge, server = meet(behaviour)
    judgement = judge.ask(about())
    assert (judgement.value, judgement.status, judgement.calls, server.calls) == (None, "failed", calls, calls)
    assert reason in judgement.reason
    assert "\n" not in judgement.reason


def test_slowness_has_an_end(meet: Meet) -> None:
    judge, server = meet(slow(5), timeout_s=0.1)
    judgement = judge.ask(about())
    assert judgement.reason == "no answer within 0.1 s (judge.timeout_s)"
    assert (server.calls, judgement.took_ms < 3000) == (1, True)


def test_an_answer_that_drips_has_an_end_too(meet: Meet) -> None:
    judge, _ = meet(says("0.8", drip=0.02), timeout_s=0.1)
    judgement = judge.ask(about())
    assert judgement.reason == "no answer within 0.1 s (judge.timeout_s)"


def test_nobody_there(meet: Meet) -> None:
    _, server = meet(WELL)
    closed = load_policy(
        overrides={"judge": {"base_url": "http://127.0.0.1:9/v1", "model": "m", "backoff_s": 0.001, "cache": False}}
    )
    with Judge(closed) as alone:
        many = alone.ask_many([about(str(n)) for n in range(20)])
    assert all("http://127.0.0.1:9/v1 cannot be reached" in one.reason for one in many)
    assert [one.calls for one in many[-5:]] == [1] * 5  # the first wait for it, the others do not
    assert server.calls == 0


def test_redirects_are_not_followed(meet: Meet) -> None:
    _, other = meet(WELL)
    to = f"{other.base_url}/chat/completions?token=abc"
    judge, server = meet(lambda _: Reply(307, headers={"Location": to}))
    reason = judge.ask(about()).reason
    assert reason.startswith("the endpoint redirects to http://127.0.0.1/v1/chat/completions, which is not followed")
    assert (server.calls, other.calls) == (1, 0)


def test_nothing_is_asked_where_nothing_is_set() -> None:
    judge = Judge(Policy())
    assert judge.missing.startswith("no judge is set")
    assert (judge.ask(about()).reason, judge.ask(about()).calls) == (judge.missing, 0)
