"""Where operations run: in a few threads beside the event loop, each call with its time limit."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

R = TypeVar("R")
THREADS = 32
"""Writes that wait are committed together, so more threads than cores are worth having."""


class Work:
    """Threads that are bounded in number: a call that is given up keeps its thread until it ends."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="karat-serve")

    async def run(self, seconds: float, name: str, work: Callable[[], R]) -> R:
        """Work in a thread, at most so long. What is late is left alone: it may still write what it has begun."""
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except TimeoutError:
            raise TimeoutError(f"{name} took over {seconds:g} s") from None

    def close(self) -> None:
        """Wait for what has begun; what has not is dropped."""
        self._threads.shutdown(wait=True, cancel_futures=True)
