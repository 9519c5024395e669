"""What must end before the interpreter does: native code in threads that nobody waits for.

A daemon thread that is inside a C++ library at exit is not stopped there. It loses the library's globals while it runs,
and when it comes back for the interpreter it is killed in the middle of C++ frames, which aborts the whole process.
"""

import atexit
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from scalepan.errors import ScalepanError

WAIT_SECONDS = 5.0
"""How long an exit waits at most for running calls that cannot be stopped."""


class EndingError(ScalepanError):
    """The process is ending: nothing new starts outside its main thread."""


class _Native:
    """Every running call that must end before the interpreter does, and how to stop it, if that is possible."""

    def __init__(self) -> None:
        self.last: list[Callable[[], object]] = []
        self.begin()

    def begin(self) -> None:
        # In a forked child too: the parent's threads do not survive a fork, and its lock may be held forever.
        self.changed = threading.Condition()
        self.calls: dict[object, Callable[[], object] | None] = {}
        self.ending = False

    def enter(self, stop: Callable[[], object] | None) -> object:
        call = object()
        with self.changed:
            # The main thread is the one that ends; no other thread may start a call now.
            if self.ending and threading.current_thread() is not threading.main_thread():
                raise EndingError("the process is ending")
            self.calls[call] = stop
        return call

    def leave(self, call: object) -> None:
        with self.changed:
            self.calls.pop(call, None)
            if self.ending:
                self.changed.notify_all()

    def end(self) -> None:
        """Refuse new calls, stop those that can be stopped, wait for the others, and then run the last callbacks."""
        deadline = monotonic() + WAIT_SECONDS
        with self.changed:
            self.ending = True
            for stop in self.calls.values():
                if stop is not None:
                    with suppress(Exception):
                        stop()
            while self.calls and (left := deadline - monotonic()) > 0:
                self.changed.wait(left)
        for work in self.last:
            with suppress(Exception):
                work()


_native = _Native()
os.register_at_fork(after_in_child=_native.begin)
# Not `threading._register_atexit`: that is called while ordinary threads, which Python waits for, may still have work.
atexit.register(_native.end)


@contextmanager
def before_exit(stop: Callable[[], object] | None = None) -> Iterator[None]:
    """The interpreter does not end while the block runs, for five seconds at most; at exit it calls `stop`."""
    call = _native.enter(stop)
    try:
        yield
    finally:
        _native.leave(call)


def last_of_all(work: Callable[[], object]) -> None:
    """At exit, call this when no such block is running any more, or after those five seconds."""
    _native.last.append(work)
