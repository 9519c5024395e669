"""Many questions at once, from loops, threads and processes."""

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from scalepan.judge import Judge, Judgement
from tests.judge.ask import WELL, about
from tests.judge.conftest import Meet
from tests.modelserver import (
    ModelServer,
    Reply,
    Request,
    fails,
    in_turn,
    says,
    slow,
)

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
        for task in reversed(tasks):  # those that wait first: a turn that is given back would be theirs
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
    assert judge.ask(about()).reason == "the judge needs an optional part: pip install 'scalepan[judge]'"
    assert server.calls == 0


def test_a_server_by_itself() -> None:
    with ModelServer(WELL) as server:
        assert server.calls == 0
