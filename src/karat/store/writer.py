"""One thread that writes: whatever is waiting is committed together, and each caller is told when it is durable."""

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from karat.store.operations import Operation, insert_rows
from karat.store.wire import GoneError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_TOGETHER = 512
REQUEST_COLUMNS = {"id": "VARCHAR", "operation": "VARCHAR", "response": "VARCHAR", "ts": "MICROSECONDS"}


class Write(NamedTuple):
    """A write that waits: the response comes when it is on disk."""

    operation: Operation
    request: Any
    id: str
    repeated: bool
    done: "Future[Any]"


class Writer:
    """Takes writes from any thread. A batch that fails is done again one by one, so a bad write costs only itself."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection
        self._waiting: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="karat-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation, request: Any, id_: str, *, repeated: bool) -> "Future[Any]":
        """Queue a write; GoneError if it comes too late."""
        write = Write(operation, request, id_, repeated, Future())
        with self._lock:
            if self._closed:
                raise GoneError("the store is closed")
            self._waiting.put(write)
        return write.done

    def close(self) -> None:
        """Write what is waiting, then stop."""
        with self._lock:
            self._closed = True
            self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (batch := self._next_batch()) is not None:
            try:
                self._commit(batch)
            except Exception as error:
                if len(batch) == 1:
                    batch[0].done.set_exception(error)
                    continue
                for write in batch:
                    try:
                        self._commit([write])
                    except Exception as alone:
                        write.done.set_exception(alone)

    def _next_batch(self) -> list[Write] | None:
        first = self._waiting.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < MOST_TOGETHER:
            try:
                write = self._waiting.get_nowait()
            except queue.Empty:
                break
            if write is None:
                self._waiting.put(None)  # for the next turn
                break
            batch.append(write)
        return batch

    def _commit(self, batch: Sequence[Write]) -> None:
        connection = self._connection
        connection.execute("BEGIN")
        try:
            answers = self._known(batch)
            fresh = list({write.id: write for write in batch if write.id not in answers}.values())
            for run in _runs(fresh):
                responses = run[0].operation.run(connection, [write.request for write in run])
                answers.update((write.id, response) for write, response in zip(run, responses, strict=True))
            _remember(connection, fresh, answers)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        for write in batch:
            write.done.set_result(answers[write.id])

    def _known(self, batch: Sequence[Write]) -> dict[str, Any]:
        """Responses of writes that were applied before: the caller asks again because it was never told."""
        repeated = {write.id: write for write in batch if write.repeated}
        if not repeated:
            return {}
        found = self._connection.execute(
            "SELECT id, response FROM requests WHERE id IN (SELECT unnest(from_json(?::JSON, '[\"VARCHAR\"]')))",
            [msgspec.json.encode(list(repeated)).decode()],
        ).fetchall()
        return {id_: msgspec.json.decode(body, type=repeated[id_].operation.response) for id_, body in found}


def _runs(writes: Sequence[Write]) -> list[list[Write]]:
    """Neighbors of the same operation together, so that the order of what was asked is kept."""
    runs: list[list[Write]] = []
    for write in writes:
        if runs and runs[-1][0].operation.name == write.operation.name:
            runs[-1].append(write)
        else:
            runs.append([write])
    return runs


def _remember(connection: "DuckDBPyConnection", fresh: Sequence[Write], answers: dict[str, Any]) -> None:
    now = time_ns() // 1000
    rows = [
        {
            "id": write.id,
            "operation": write.operation.name,
            "response": msgspec.json.encode(answers[write.id]).decode(),
            "ts": now,
        }
        for write in fresh
    ]
    if rows:
        insert_rows(connection, "requests", REQUEST_COLUMNS, rows)
