"""A call that may take too long: wait for it so long and no longer, and let it finish behind the caller's back."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar
from weakref import finalize

from scalepan.forks import after_fork

T = TypeVar("T")

MAX_WAITING = 64


class LateError(Exception):
    """Not done within the time given."""


class Budget(Generic[T]):
    """One thread that does what callers wait for. A result that comes too late goes to `on_late` instead."""

    _lock: threading.Lock
    _thread: threading.Thread | None
    _jobs: "queue.Queue[tuple[Callable[[], T], Future[T]] | None]"

    def __init__(self) -> None:
        self._begin()
        after_fork(self._begin)

    def call(self, work: Callable[[], T], seconds: float, on_late: Callable[[T], None]) -> T:
        """The result of `work`, or LateError after `seconds`."""
        future: Future[T] = Future()
        self._start()
        try:
            self._jobs.put_nowait((work, future))
        except queue.Full:
            raise LateError(f"{MAX_WAITING} calls are waiting already") from None
        try:
            return future.result(timeout=seconds)
        except TimeoutError:
            if future.done():  # it was `work` that raised this
                raise
        future.add_done_callback(lambda done: None if done.exception() else on_late(done.result()))
        raise LateError(f"took longer than {seconds * 1000:.0f} ms")

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=_work, args=(self._jobs,), name="scalepan-encoder", daemon=True)
                self._thread.start()
                # The thread knows only its queue, so it does not keep this object alive; when that goes, it ends.
                finalize(self, _end, self._jobs)

    def _begin(self) -> None:
        # In a forked child too: the parent's thread does not cross a fork, and its lock may be held for ever.
        self._lock = threading.Lock()
        self._thread = None
        self._jobs = queue.Queue(MAX_WAITING)


def _end(jobs: "queue.Queue[Any]") -> None:
    # A full queue belongs to a thread that hangs: there is no ending that.
    with suppress(queue.Full):
        jobs.put_nowait(None)


def _work(jobs: "queue.Queue[tuple[Callable[[], T], Future[T]] | None]") -> None:
    while True:
        job = jobs.get()
        if job is None:
            return
        work, future = job
        try:
            future.set_result(work())
        except BaseException as error:  # whatever it is, it belongs to the caller
            future.set_exception(error)
