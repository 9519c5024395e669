"""A call that may take too long: wait for a limited time, and let it finish in the background."""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary, finalize

from scalepan.exits import before_exit
from scalepan.forks import after_fork

T = TypeVar("T")

MAX_WAITING = 64
PATIENCE = 5.0
"""How late the encoder may be with other callers' texts, in budgets, before a queued caller gives up."""


class LateError(Exception):
    """Not done in time."""


class Budget(Generic[T]):
    """One worker thread. A result that comes too late goes to `on_late` instead of the caller.

    The limit is for encoding this caller's text: waiting in the queue does not count while the encoder is on time with
    the texts before it. A caller that joins while the encoder is late, with a text that was already given up, pays for
    the wait; one that joined the queue before that waits somewhat longer.
    """

    _line: "_Line[T]"
    _thread: threading.Thread | None

    def __init__(self) -> None:
        self._begin()
        after_fork(self._begin)

    def call(self, work: Callable[[], T], seconds: float, on_late: Callable[[T], None]) -> T:
        """The result of `work`, or LateError after `seconds`."""
        line = self._line
        with line.changed:
            if len(line.waiting) >= MAX_WAITING:
                raise LateError(f"{MAX_WAITING} calls are already waiting")
            self._start()
            job = line.join(work, seconds)
            line.changed.notify_all()
            while not job.done:
                left = line.left(job)
                if left <= 0:
                    job.on_late = on_late
                    raise LateError(f"took longer than {seconds * 1000:.0f} ms")
                line.changed.wait(left)
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[return-value]

    def _start(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=_work, args=(self._line,), name="scalepan-encoder", daemon=True)
            thread.start()  # refused at exit, and if there are too many
            self._thread = thread
            # The thread refers only to its queue, so it does not keep this object alive; when that is gone, it ends.
            finalize(self, self._line.close)

    def _begin(self) -> None:
        # In a forked child too: the parent's thread does not survive a fork, and its lock may be held forever.
        self._line = _Line()
        self._thread = None


class _Job(Generic[T]):
    """One call in the queue."""

    def __init__(self, work: Callable[[], T], seconds: float) -> None:
        self.work = work
        self.seconds = seconds
        self.joined_late = False
        """Whether the encoder was already late when this call joined the queue."""
        self.late_before = 0.0
        """How late the encoder had been in total by then."""
        self.ends: float | None = None
        """Its deadline; None while it waits for its turn."""
        self.done = False
        self.result: T | None = None
        self.error: BaseException | None = None
        self.on_late: Callable[[T], None] | None = None
        """Set when the caller has given up."""


class _Line(Generic[T]):
    """The waiting calls, the running one, and the total lateness. Everything is guarded by the lock of `changed`."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: deque[_Job[T]] = deque()
        self.current: _Job[T] | None = None
        self.due = 0.0
        """When the current call should be done."""
        self.closed = False
        self._late = 0.0

    def join(self, work: Callable[[], T], seconds: float) -> _Job[T]:
        job = _Job(work, seconds)
        ahead = [*self.waiting] if self.current is None else [self.current, *self.waiting]
        job.joined_late = any(other.on_late is not None for other in ahead)
        job.late_before = self._late_until(monotonic())
        self.waiting.append(job)
        return job

    def left(self, job: _Job[T]) -> float:
        """How many seconds a caller waits at most before it checks again or gives up (0 or less)."""
        now = monotonic()
        if job.ends is not None:
            return job.ends - now
        on_time = max(self.due - now, 0.0) if self.current is not None else job.seconds
        patience = job.seconds if job.joined_late else PATIENCE * job.seconds
        return on_time + patience - (self._late_until(now) - job.late_before)

    def next(self) -> _Job[T] | None:
        """The next call, whose time starts now; None when no more calls will come."""
        with self.changed:
            while not self.waiting:
                if self.closed:
                    return None
                self.changed.wait()
            job, now = self.waiting.popleft(), monotonic()
            job.ends = now + job.seconds - (self._late_until(now) - job.late_before if job.joined_late else 0.0)
            # Nobody waits for a text that was given up: all of its time is lateness.
            self.current, self.due = job, now if job.on_late is not None else now + job.seconds
            self.changed.notify_all()
            return job

    def finish(self, job: _Job[T], result: T | None, error: BaseException | None) -> None:
        with self.changed:
            self._late, self.current = self._late_until(monotonic()), None
            job.result, job.error, job.done = result, error, True
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def _late_until(self, now: float) -> float:
        return self._late + (max(now - self.due, 0.0) if self.current is not None else 0.0)


def _work(line: "_Line[Any]") -> None:
    while (job := line.next()) is not None:
        result, error = None, None
        try:
            # The encoder may be native code.
            with before_exit():
                result = job.work()
        except BaseException as raised:  # re-raised in the caller
            error = raised
        line.finish(job, result, error)
        if job.on_late is not None and error is None:
            with suppress(Exception):
                job.on_late(result)
        del job, result, error  # keep nothing alive while waiting for the next


_budgets: "WeakKeyDictionary[object, Budget[Any]]" = WeakKeyDictionary()


def budget_of(embedder: object) -> Budget[Any]:
    """The queue of an encoder, one for all callers: 16 threads on two cores would make each other late."""
    try:
        return _budgets.get(embedder) or _budgets.setdefault(embedder, Budget())
    except TypeError:  # not hashable, or no weak references
        return Budget()
