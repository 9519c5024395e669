"""Where operations run: in a few threads beside the event loop, each call with its time limit."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from scalepan.serve.http.refused import RefusedError

R = TypeVar("R")
THREADS = 32
"""Writes that wait are committed together, so more threads than cores are worth having."""


class Places:
    """How many requests are worked on at the same time. One that is still being sent has none yet: it costs no work."""

    def __init__(self, number: int) -> None:
        self._free = asyncio.Semaphore(number)

    def at_once(self) -> asyncio.Semaphore:
        """A place to enter now, or RefusedError."""
        if self._free.locked():
            raise RefusedError(503, "RATE_LIMIT", "too many requests at once", [(b"retry-after", b"1")])
        return self._free

    def in_time(self) -> asyncio.Semaphore:
        """A place to wait for."""
        return self._free


class Work:
    """Threads that are bounded in number: a call that is given up keeps its thread until it ends."""

    def __init__(self, at_once: int) -> None:
        self.places = Places(at_once)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="scalepan-serve")

    async def run(self, seconds: float, name: str, work: Callable[[], R]) -> R:
        """Run in a thread, with a time limit. A late call is not stopped: it may still finish its write."""
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except TimeoutError:
            raise TimeoutError(f"{name} took over {seconds:g} s") from None

    def close(self) -> None:
        """Wait for what has begun; what has not is dropped."""
        self._threads.shutdown(wait=True, cancel_futures=True)
