"""A time limit that SQL obeys too."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from scalepan.errors import TookTooLongError
from scalepan.store.duckdb.schema import duckdb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


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
    def interrupting(self, connection: "DuckDBPyConnection", stage: str) -> Iterator[None]:
        """Stop what the connection is doing when the time is up."""
        self.check(stage)
        timer = threading.Timer(self._end - monotonic(), connection.interrupt)
        timer.start()
        try:
            yield
        except duckdb().InterruptException:
            self.check(stage)
            raise
        finally:
            timer.cancel()
