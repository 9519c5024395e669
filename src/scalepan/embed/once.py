"""A value made once per process, on first use, from any number of threads, and again in a forked child."""

import os
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar

from scalepan.forks import after_fork

T = TypeVar("T")

no_fork = threading.RLock()
"""While one thread holds this, a fork in another waits.

A child that starts from a half-imported module, or in the middle of another thread's first call of a library, would
wait forever for a thread that it does not have.
"""
os.register_at_fork(before=no_fork.acquire, after_in_parent=no_fork.release, after_in_child=no_fork.release)


class Once(Generic[T]):
    """A value that is made when first needed; after a failure the next call tries again.

    >>> answer = Once(lambda: print("thinking") or 42)
    >>> answer(), answer()
    thinking
    (42, 42)
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._value: T | None = None
        after_fork(self._after_fork)

    def __call__(self) -> T:
        """The value."""
        value = self._value
        if value is None:
            with no_fork:
                if self._value is None:
                    self._value = self._make()
                value = self._value
        return value

    def _after_fork(self) -> None:
        if self._value is None:
            return
        # The child has the parent's session but not its threads. Freeing it, even when the child exits, would wait for
        # them or crash: so it is never freed.
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._value))
        self._value = None


numpy_once: Once[Any] = Once(lambda: import_module("numpy"))
"""numpy, imported while no fork can happen. Once it is loaded, nobody waits for the lock."""
