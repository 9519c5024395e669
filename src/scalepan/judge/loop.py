"""One event loop in its own thread, where all waiting is done: for plain callers, running loops and threads alike.

So a Judge has one connection pool and one concurrency limit for all callers, and the sync methods work in Jupyter.
"""

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from scalepan.forks import after_fork

T = TypeVar("T")
STOP_SECONDS = 2.0


class LoopThread:
    """Starts when it is first used, ends with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._leaked: asyncio.AbstractEventLoop | None = None
        after_fork(self._after_fork)
        atexit.register(self.stop)

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start it; cancelling the future cancels the work."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    @property
    def is_here(self) -> bool:
        """Whether the caller is in that thread, where waiting for a future would wait forever."""
        return self._thread is threading.current_thread()

    def stop(self) -> None:
        """End the thread and cancel what is running. The next use starts another."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None and thread.is_alive():
            loop.call_soon_threadsafe(loop.stop)
            thread.join(STOP_SECONDS)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="scalepan-judge", daemon=True)
                self._thread.start()
            return self._loop

    def _after_fork(self) -> None:
        # The thread does not survive the fork, and a lock that another thread held would never be released.
        self._lock = threading.Lock()
        self._leaked, self._loop, self._thread = self._loop, None, None


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_cancel_all())
    finally:
        loop.close()


async def _cancel_all() -> None:
    under_way = asyncio.all_tasks() - {asyncio.current_task()}
    for task in under_way:
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)


LOOP = LoopThread()


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Run it in that thread and wait here. Ctrl-C cancels it."""
    if LOOP.is_here:
        work.close()
        raise RuntimeError("a sync method was called from the judge's own thread; await the async one")
    future = LOOP.submit(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def await_(work: Coroutine[Any, Any, T]) -> T:
    """Run it in that thread and await it in the caller's loop. Cancelling this cancels it."""
    return await asyncio.wrap_future(LOOP.submit(work))
