"""A time limit that SQL obeys too."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from scalepan.errors import TookTooLongError


class Deadline:
    """When a call must be done."""

    def __init__(self, timeout_ms: float) -> None:
        self.timeout_ms = timeout_ms
        self._end = monotonic() + timeout_ms / 1000

    def check(self, stage: str) -> None:
        """TookTooLongError, naming the stage that was reached, if the time is up."""
        if monotonic() >= self._end:
            raise TookTooLongError(f"recall took over {self.timeout_ms:g} ms (retrieval.timeout_ms), by {stage}")

    @contextmanager
    def not_counted(self) -> Iterator[None]:
        """What is made once and kept, such as an index, is not this call's time."""
        started = monotonic()
        try:
            yield
        finally:
            self._end += monotonic() - started

    @contextmanager
    def seconds_left(self, stage: str) -> Iterator[float]:
        """For what stops by itself, with TimeoutError, when it has taken that long."""
        self.check(stage)
        try:
            yield self._end - monotonic()
        except TimeoutError:
            self.check(stage)
            raise
