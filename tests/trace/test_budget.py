"""The time of a call: what counts, what does not, and what becomes of a result that comes too late."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from scalepan.trace.budget import Budget, LateError, budget_of


def at_once(count: int, call: Callable[[int], Any]) -> list[Any]:
    """What `call` gives in so many threads that begin together; an exception is a result too."""
    together, results = threading.Barrier(count), [None] * count

    def run(number: int) -> None:
        together.wait()
        try:
            results[number] = call(number)
        except Exception as error:
            results[number] = error  # type: ignore[call-overload]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def ignore(result: object) -> None:
    """Nobody waits for it."""


def test_waiting_in_line_does_not_count() -> None:
    budget: Budget[int] = Budget()

    def work(number: int) -> int:
        time.sleep(0.03)  # sixteen of them take longer than the budget of each
        return number

    got = at_once(16, lambda number: budget.call(lambda: work(number), 0.3, ignore))
    assert got == list(range(16))


def test_behind_an_encoder_that_hangs_everybody_gives_up() -> None:
    budget: Budget[int] = Budget()
    release = threading.Event()

    def hang() -> int:
        release.wait(30)
        return 1

    got = at_once(16, lambda _: budget.call(hang, 0.02, ignore))
    assert all(isinstance(result, LateError) for result in got)
    release.set()


def test_who_comes_while_the_encoder_hangs_waits_one_budget_and_no_patience() -> None:
    budget: Budget[int] = Budget()
    release = threading.Event()
    with pytest.raises(LateError):
        budget.call(lambda: int(release.wait(30)), 0.01, ignore)
    line = budget._line
    with line.changed:
        job = line.join(lambda: 1, 1000.0)
        assert job.joined_late
        assert line.left(job) <= 1000.0
        line.waiting.remove(job)
    release.set()


def test_a_line_that_is_late_once_is_on_time_again() -> None:
    """A text that was given up costs its callers nothing after it is through."""
    budget: Budget[str] = Budget()
    release = threading.Event()
    with pytest.raises(LateError):
        budget.call(lambda: str(release.wait(30)), 0.01, ignore)
    threading.Timer(0.05, release.set).start()
    # The lateness (50 ms) and sixteen times 20 ms are more than the 300 ms of each.
    got = at_once(16, lambda number: budget.call(lambda: time.sleep(0.02) or str(number), 0.3, ignore))  # type: ignore[func-returns-value]
    assert got == [str(number) for number in range(16)]


def test_a_late_result_is_handed_on_and_an_error_is_not() -> None:
    budget: Budget[int] = Budget()
    release = threading.Event()
    late: list[int] = []

    def fail() -> int:
        raise KeyError("x")

    with pytest.raises(LateError, match="took longer than 10 ms"):
        budget.call(lambda: int(release.wait(30)), 0.01, late.append)
    with pytest.raises(LateError):
        budget.call(fail, 0.01, late.append)
    release.set()
    with pytest.raises(KeyError):  # it comes after both
        budget.call(fail, 5.0, late.append)
    assert late == [1]


def test_more_than_so_many_do_not_wait() -> None:
    budget: Budget[int] = Budget()
    release = threading.Event()
    got = at_once(80, lambda _: budget.call(lambda: int(release.wait(30)), 0.2, ignore))
    assert any("64 calls are already waiting" in str(result) for result in got)
    release.set()


class Plain:
    def encode(self, texts: Sequence[str]) -> Any:
        """Nothing."""


class Slotted:
    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]


def test_all_who_share_an_encoder_stand_in_one_line() -> None:
    one, other = Plain(), Plain()
    assert budget_of(one) is budget_of(one)
    assert budget_of(one) is not budget_of(other)
    assert budget_of(Slotted()) is not None  # cannot be a key; it has a line of its own


def test_the_thread_of_a_line_ends_with_its_encoder() -> None:
    encoder = Plain()
    budget = budget_of(encoder)
    budget.call(lambda: 1, 5.0, ignore)
    thread = budget._thread
    assert thread is not None
    del budget, encoder
    thread.join(5)
    assert not thread.is_alive()


def test_where_no_thread_can_start_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python 3.12 on, no thread starts at exit."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    budget: Budget[int] = Budget()
    with monkeypatch.context() as at_exit:
        at_exit.setattr(threading.Thread, "start", refuse)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="can't create new thread"):
                budget.call(lambda: 1, 5.0, ignore)
    assert budget.call(lambda: 2, 5.0, ignore) == 2
