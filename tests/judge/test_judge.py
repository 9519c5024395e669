"""What the caller gets from a model that answers well, badly, late or not at all."""

import asyncio
import gc
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from karat.judge import Judge, Judgement, Prompt, Tokens
from karat.policy import Policy, load_policy
from tests.judge.conftest import KEY, Meet
from tests.modelserver import (
    Behaviour,
    ModelServer,
    Reply,
    Request,
    completion,
    drops,
    error,
    fails,
    in_turn,
    refuses,
    says,
    slow,
)

WELL = says('{"score": 0.8}')


def about(answer: str = "an answer", **more: Any) -> Prompt:
    return Prompt(text="Is it good? {answer}", values={"answer": answer}, version="t 1", **more)


# Well


def test_a_good_answer(meet: Meet) -> None:
    judge, server = meet(WELL)
    judgement = judge.ask(about())
    assert judgement == Judgement(
        value=0.8,
        values={"score": 0.8},
        raw='{"score": 0.8}',
        tokens=Tokens(100, 7),
        model="stand-in",
        prompt="t 1",
        calls=1,
        took_ms=judgement.took_ms,
    )
    (request,) = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    sent = request.body
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("stand-in", 0.0, 1024)
    assert sent["response_format"]["json_schema"]["schema"]["required"] == ["score"]


def test_self_evaluation_and_coverage_in_one_call(meet: Meet) -> None:
    judge, server = meet(says('{"evaluation": 0.9, "coverage": 0.5}'))
    judgement = judge.ask(judge.prompt("both", {"query": "q", "answer": "a", "sources": ["s"]}))
    assert (judgement.value, judgement.values) == (0.9, {"evaluation": 0.9, "coverage": 0.5})
    assert (judgement.tokens and judgement.tokens.total, server.calls) == (107, 1)


@pytest.mark.parametrize("words", ["I would say 8/10.", "スコアは０．８です。", '```json\n{"score": 0.8}\n```'])
def test_prose(meet: Meet, words: str) -> None:
    judge, _ = meet(says(words))
    judgement = judge.ask(about())
    assert judgement.value == pytest.approx(0.8)
    assert (judgement.status, judgement.raw) == ("ok", words)


def test_a_number_out_of_range_is_clamped_and_noted_or_refused(meet: Meet) -> None:
    judge, _ = meet(says("1.2"))
    assert judge.ask(about()).notes == ("score 1.2 was clamped to 1",)
    strict, _ = meet(says("1.2"), parse="strict")
    refused = strict.ask(about())
    assert (refused.value, refused.status, refused.tokens) == (None, "failed", Tokens(100, 7))
    assert refused.reason == "score is 1.2, which is not between 0 and 1 (judge.parse: strict)"


def test_no_key_no_header(meet: Meet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KARAT_JUDGE_KEY")
    judge, server = meet(WELL)
    assert judge.ask(about()).value == 0.8
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("env", "key_env", "sent"),
    [
        ({"OPENAI_API_KEY": "next"}, "KARAT_JUDGE_KEY", "Bearer next"),
        ({"OPENAI_API_KEY": "next", "KARAT_JUDGE_KEY": " first\n"}, "KARAT_JUDGE_KEY", "Bearer first"),
        ({"OPENAI_API_KEY": "next", "MINE": "mine"}, "MINE", "Bearer mine"),
        ({"OPENAI_API_KEY": "next"}, "MINE", None),  # who names a variable means that one
    ],
)
def test_where_the_key_comes_from(
    meet: Meet, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], key_env: str, sent: str | None
) -> None:
    monkeypatch.delenv("KARAT_JUDGE_KEY")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    judge, server = meet(WELL, key_env=key_env)
    judge.ask(about())
    assert server.requests[0].headers.get("authorization") == sent


# Badly

GARBAGE: list[tuple[Behaviour, str]] = [
    (says("A fine answer, I think."), "no number for 'score' in the answer"),
    (says("0.2 or 0.9"), "several numbers for 'score' in the answer: 0.2, 0.9"),
    (says(""), "the answer is empty"),
    (lambda _: Reply(body=b"<html>welcome</html>"), "the endpoint's answer is no chat completion"),
    (lambda _: Reply(body=b"\xff\xfe\x00"), "the endpoint's answer is no chat completion"),
    (lambda _: Reply(body=b"{}"), "the endpoint's answer is no chat completion"),
    (lambda _: Reply(body=b'{"choices": []}'), "the endpoint's answer is no chat completion"),
    (lambda _: Reply(body=b'{"choices": [{"message": null}]}'), "the endpoint's answer is no chat completion"),
    (lambda _: Reply(body=error("overloaded")), "the endpoint's answer is no chat completion: overloaded"),
    (lambda _: Reply(body=b"[" * 100_000), "the endpoint's answer is no chat completion"),
    (lambda _: Reply(body=b" " * 1_100_000), "the endpoint's answer is longer than 1,000,000 bytes"),
    (
        lambda _: Reply(body=completion("0.", finish="length")),
        "the answer was cut off at 1024 tokens; a larger judge.max_tokens may help",
    ),
    (lambda _: Reply(body=completion("0.8", finish="content_filter")), "the endpoint's filter held the answer back"),
    (lambda _: Reply(body=completion(None, refusal="I cannot help.")), "the model declined: I cannot help."),
    (lambda _: Reply(body=completion(None)), "the answer is empty"),
]


@pytest.mark.parametrize(("behaviour", "reason"), GARBAGE)
def test_garbage_is_a_failure_with_a_reason_and_is_not_kept(meet: Meet, behaviour: Behaviour, reason: str) -> None:
    judge, server = meet(behaviour)
    for _ in range(2):
        judgement = judge.ask(about())
        assert (judgement.value, judgement.values, judgement.status) == (None, {}, "failed")
        assert judgement.reason == reason
    assert server.calls == 2  # a failure is asked for again, but not repeated by itself
    assert judge._cache is not None
    assert judge._cache._connect().execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_words_in_pieces_and_a_server_that_does_not_count(meet: Meet) -> None:
    pieces = json.loads(completion("", usage=False))
    pieces["choices"][0]["message"]["content"] = [{"type": "text", "text": "0."}, {"type": "text", "text": "8"}]
    judge, _ = meet(lambda _: Reply(body=json.dumps(pieces).encode()))
    judgement = judge.ask(about())
    assert (judgement.value, judgement.tokens) == (0.8, None)


# Errors and repeats


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
        (fails(401, "bad key"), 1, "the endpoint refuses the key in KARAT_JUDGE_KEY (401): bad key"),
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


# What a server does not take


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Unrecognized request argument supplied: response_format"),
        (400, "'response_format.type' must be 'text'"),
        (500, 'response_format type must be one of "text" or "json_object", but got: json_schema'),
        (422, "bad request"),
    ],
)
def test_structured_output_that_is_refused_is_left_out_and_that_is_remembered(
    meet: Meet, status: int, message: str
) -> None:
    judge, server = meet(refuses("response_format", says("0.8"), message, status))
    first, second = judge.ask(about("one")), judge.ask(about("two"))
    assert (first.value, first.calls, second.value, second.calls) == (0.8, 2, 0.8, 1)
    assert first.notes == ("the server does not take response_format",)
    assert ["response_format" in request.body for request in server.requests] == [True, False, False]


def test_other_parameters_that_a_model_does_not_take(meet: Meet) -> None:
    max_tokens = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    behaviour = refuses("max_tokens", refuses("temperature", WELL, "temperature does not support 0.0"), max_tokens)
    judge, server = meet(behaviour)
    assert judge.ask(about("one")).calls == 3
    assert judge.ask(about("two")).notes == (
        "the server does not take max_tokens",
        "the server does not take temperature",
    )
    last = server.requests[-1].body
    assert (server.calls, last["max_completion_tokens"], "temperature" in last) == (4, 1024, False)


def test_a_refusal_that_was_about_something_else_is_not_remembered(meet: Meet) -> None:
    judge, server = meet(in_turn(fails(400, "too long"), fails(400, "too long"), WELL))
    assert judge.ask(about("one")).status == "failed"
    assert judge.ask(about("two")).value == 0.8
    assert "response_format" in server.requests[-1].body


# Cache


def test_the_same_question_is_asked_once(meet: Meet) -> None:
    judge, server = meet(WELL)
    first, second = judge.ask(about()), judge.ask(about())
    assert (server.calls, first.cached, second.cached, second.calls) == (1, False, True, 0)
    assert (second.value, second.raw, second.tokens, second.prompt) == (0.8, first.raw, first.tokens, "t 1")


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": about("another answer")},
        {"prompt": Prompt(text="Is it good? {answer}", values={"answer": "an answer"}, version="t 2")},
        {"prompt": about(fields=("rating",))},
        {"model": "another"},
        {"temperature": 0.5},
        {"max_tokens": 99},
        {"parse": "strict"},
        {"prompts": {"system": "Be kind."}},
    ],
)
def test_another_question_is_asked(meet: Meet, change: dict[str, Any]) -> None:
    judge, server = meet(WELL)
    judge.ask(about())
    prompt = change.pop("prompt", about())
    settings = {"base_url": server.base_url, "model": "stand-in", **change}
    with Judge(load_policy(overrides={"judge": settings}), cache=judge._cache) as other:
        assert other.ask(prompt).cached is False
    assert server.calls == 2


def test_a_cache_that_is_damaged_or_switched_off(meet: Meet) -> None:
    judge, server = meet(WELL)
    judge.ask(about())
    assert judge._cache is not None
    (key,) = [row[0] for row in judge._cache._connect().execute("SELECT key FROM kept")]
    judge._cache.put({key: b"nonsense"})
    assert judge.ask(about()).cached is False
    uncached, other = meet(WELL, cache=False)
    assert [uncached.ask(about()).cached for _ in range(2)] == [False, False]
    assert (server.calls, other.calls) == (2, 2)


# Many


def echo(request: Request) -> Reply:
    """Answers with the number that stands in the question, later ones sooner."""
    number = int(request.prompt.split("number ")[1].split("\n")[0])
    return says(f'{{"score": {number / 1000}}}', delay=0.002 * (7 - number % 7))(request)


def test_many_come_back_in_order_and_no_more_than_allowed_are_under_way(meet: Meet) -> None:
    judge, server = meet(echo, concurrency=5)
    told: list[tuple[int, str]] = []
    prompts = [about(f"number {n}") for n in range(60)]
    judgements = judge.ask_many(prompts, lambda done: told.append((done, threading.current_thread().name)))
    assert [one.value for one in judgements] == [n / 1000 for n in range(60)]
    assert max(server.at_once, server.connections) <= 5
    assert told == [(n, threading.current_thread().name) for n in range(1, 61)]
    assert all(one.cached for one in judge.ask_many(prompts))
    assert server.calls == 60
    assert judge.ask_many([]) == []


def test_the_same_question_twice_in_a_batch_is_one_call(meet: Meet) -> None:
    judge, server = meet(slow(0.05))
    judgements = judge.ask_many([about()] * 10)
    assert [one.value for one in judgements] == [0.8] * 10
    assert (server.calls, sum(one.calls for one in judgements), sum(one.cached for one in judgements)) == (1, 1, 9)


def test_one_that_fails_does_not_cost_the_others(meet: Meet) -> None:
    judge, _ = meet(lambda request: (says("no idea") if "number 3\n" in request.prompt else echo)(request))
    judgements = judge.ask_many([about(f"number {n}") for n in range(6)])
    assert [one.value for one in judgements] == [0.0, 0.001, 0.002, None, 0.004, 0.005]


def test_a_key_that_is_refused_is_not_tried_a_thousand_times(meet: Meet) -> None:
    judge, server = meet(fails(401), concurrency=4)
    judgements = judge.ask_many([about(str(n)) for n in range(50)])
    assert {one.status for one in judgements} == {"failed"}
    assert judgements[-1].reason.startswith("not asked, because of an earlier call: the endpoint refuses the key")
    assert server.calls <= 4


def test_progress_that_raises_ends_the_batch(meet: Meet) -> None:
    judge, server = meet(slow(0.01), concurrency=1)

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge.ask_many([about(str(n)) for n in range(100)], stop)
    assert judge.ask(about("after")).value == 0.8
    assert server.calls < 20


# Loops, threads, processes


def test_the_plain_form_in_a_running_loop(meet: Meet) -> None:
    judge, _ = meet(WELL)

    async def cell() -> tuple[float | None, int]:
        return judge.ask(about()).value, len(judge.ask_many([about("x"), about("y")]))

    assert asyncio.run(cell()) == (0.8, 2)


def test_the_await_forms_in_one_loop_after_another(meet: Meet) -> None:
    judge, server = meet(slow(0.02), concurrency=4)
    told: list[int] = []

    async def gathered(mark: str) -> list[float | None]:
        one = [judge.aask(about(f"{mark}{n}")) for n in range(4)]
        many = await judge.aask_many([about(f"{mark}{n}!") for n in range(4)], told.append)
        await asyncio.sleep(0)
        return [judgement.value for judgement in [*await asyncio.gather(*one), *many]]

    assert asyncio.run(gathered("a")) == [0.8] * 8
    assert asyncio.run(gathered("b")) == [0.8] * 8
    assert (server.calls, told) == (16, [1, 2, 3, 4] * 2)
    assert server.at_once <= 4


def test_the_loop_goes_on_while_it_waits(meet: Meet) -> None:
    judge, _ = meet(slow(0.1))

    async def beside() -> int:
        asked = asyncio.create_task(judge.aask(about()))
        beats = 0
        while not asked.done():
            await asyncio.sleep(0.005)
            beats += 1
        return beats

    assert asyncio.run(beside()) >= 3


def test_cancelling_gives_the_call_up_and_its_turn_back(meet: Meet) -> None:
    judge, server = meet(in_turn(*[slow(30)] * 2, WELL), concurrency=2)

    async def give_up() -> None:
        tasks = [asyncio.create_task(judge.aask(about(str(n)))) for n in range(6)]
        while server.calls < 2:
            await asyncio.sleep(0.005)
        for task in tasks:
            task.cancel()
        assert all(
            isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*tasks, return_exceptions=True)
        )

    asyncio.run(give_up())
    assert judge.ask(about("after")).value == 0.8
    for _ in range(200):
        if server.given_up == 2:
            break
        time.sleep(0.005)
    assert (server.given_up, server.calls) == (2, 3)  # both connections were closed; the waiting four were never sent


def test_a_batch_is_cancelled_as_a_whole(meet: Meet) -> None:
    judge, server = meet(slow(30), concurrency=3)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.08):
                await judge.aask_many([about(str(n)) for n in range(50)])

    asyncio.run(give_up())
    server.behaviour = WELL
    assert [one.value for one in judge.ask_many([about(f"{n}!") for n in range(4)])] == [0.8] * 4
    assert server.calls <= 7


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What a shell starts in the background ignores Ctrl-C, and so would these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_gives_the_call_up(meet: Meet) -> None:
    judge, server = meet(slow(30))
    asking = threading.get_ident()

    def interrupt() -> None:
        until(lambda: server.calls == 1)
        # raise_signal would reach this thread, and the one that waits would not wake up.
        signal.pthread_kill(asking, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        judge.ask(about())
    until(lambda: server.given_up == 1)


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that another thread does; half a minute is forever."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_waiting_for_a_turn_is_not_counted_as_slowness(meet: Meet) -> None:
    judge, server = meet(slow(0.06), concurrency=1, timeout_s=0.15)

    async def gathered() -> list[Judgement]:
        return await asyncio.gather(*(judge.aask(about(str(n))) for n in range(5)))

    assert [one.value for one in asyncio.run(gathered())] == [0.8] * 5
    assert server.at_once == 1


def test_threads_share_a_judge_and_its_limit(meet: Meet) -> None:
    judge, server = meet(slow(0.01), concurrency=3)
    got: list[float | None] = []
    threads = [threading.Thread(target=lambda n=n: got.append(judge.ask(about(str(n))).value)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (got, server.calls) == ([0.8] * 12, 12)
    assert server.at_once <= 3


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork beside threads, which is what is tried here
def test_a_forked_child_asks_for_itself(meet: Meet) -> None:
    judge, server = meet(WELL)
    judge.ask(about("parent"))
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        os._exit(0 if judge.ask(about("child")).value == 0.8 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert judge.ask(about("parent again")).value == 0.8
    assert (server.calls, server.connections) == (3, 2)


def test_connections_go_with_the_judge_and_come_back_after_close(meet: Meet) -> None:
    judge, server = meet(WELL)
    judge.ask(about("1"))
    judge.close()
    assert judge.ask(about("2")).value == 0.8
    assert server.connections == 2
    lonely = Judge(judge.policy)
    lonely.ask(about("3"))
    keeper = lonely.endpoint._keeper
    del lonely
    gc.collect()
    for _ in range(200):
        if keeper is not None and keeper.done():
            break
        time.sleep(0.005)
    assert keeper is not None
    assert keeper.done()


def test_the_client_is_an_optional_part(meet: Meet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    judge, server = meet(WELL)
    assert judge.ask(about()).reason == "the judge needs an optional part: pip install 'karat[judge]'"
    assert server.calls == 0


def test_a_server_by_itself() -> None:
    with ModelServer(WELL) as server:
        assert server.calls == 0
