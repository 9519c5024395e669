"""What must be recreated in a forked child: locks, connections, threads."""

import os
from collections.abc import Callable
from typing import Any
from weakref import WeakMethod


def after_fork(method: Callable[[], None]) -> None:
    """Call this bound method in every forked child, for as long as its object lives."""
    alive: WeakMethod[Any] = WeakMethod(method)

    def run() -> None:
        bound = alive()
        if bound is not None:
            bound()

    os.register_at_fork(after_in_child=run)
