"""One thread that writes: whatever is waiting is committed together, and each caller is told when it is durable."""

import os
import queue
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from scalepan import clock
from scalepan.errors import ConflictError, StoreError
from scalepan.store.duckdb.generation import Note, checkpoint, next_statement
from scalepan.store.duckdb.opening import file_id, make_log
from scalepan.store.duckdb.schema import FORGET_REQUESTS, duckdb, log_path, reason
from scalepan.store.duckdb.wire import GoneError
from scalepan.store.here import Here
from scalepan.store.operation import Operation
from scalepan.store.rows import RequestRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_TOGETHER = 512
GATHER_SECONDS = 0.0015
"""How long after a commit to wait for who was just answered: a second commit would cost more than that."""
UNHURRIED_SECONDS = 0.02
"""How long a write that nobody waits for may wait for others: whoever it is about gets their answer in peace."""
LONGEST_LOG = 16 * 1024 * 1024
"""Bytes of DuckDB's log before it is moved into the file."""
ROOM = 3
"""Free disk that moving the log asks for, in logs: rows of many short columns grow when they move."""


class Write(NamedTuple):
    """A write that waits: the response comes when it is on disk."""

    operation: Operation[Any, Any]
    request: Any
    id: str
    repeated: bool
    waited: bool
    """Whether somebody waits for the answer, and may ask again."""
    done: "Future[Any]"


class Writer:
    """Takes writes from any thread. A batch that fails is done again one by one, so a bad write costs only itself.

    `broken` is called once if DuckDB gives up the whole database, as it does when a checkpoint fails: the file is
    sound, but must be opened anew. What was not answered gets GoneError then, and is repeated by its caller.
    """

    def __init__(
        self,
        connection: "DuckDBPyConnection",
        path: Path,
        note: Note,
        here: Callable[["DuckDBPyConnection"], Here],
        broken: Callable[[], object],
    ) -> None:
        """`here` makes what an operation runs with."""
        self._connection = connection
        self._here = here
        self._path = path
        self._file = file_id(path)
        self._note = note
        self._count = next_statement(note.at.store)
        self._log = log_path(path)
        self._broken = broken
        self._waiting: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="scalepan-writer", daemon=True)
        self._thread.start()

    def submit(
        self, operation: Operation[Any, Any], request: Any, id_: str, *, repeated: bool = False, waited: bool = True
    ) -> "Future[Any]":
        """Queue a write; GoneError if it comes too late."""
        write = Write(operation, request, id_, repeated, waited, Future())
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
        answered = 0
        while batch := self._next_batch(answered):
            try:
                for part in _parts(batch):
                    self._write(part)
                self._move_log()
            except duckdb().FatalException as error:
                self._give_up(batch, GoneError(reason(error)))
                return
            answered = len(batch)

    def _write(self, batch: Sequence[Write]) -> None:
        try:
            self._commit(batch)
        except duckdb().FatalException:
            raise
        except Exception as error:
            if len(batch) == 1:
                batch[0].done.set_exception(error)
                return
            for write in batch:
                self._write([write])

    def _give_up(self, batch: Sequence[Write], gone: GoneError) -> None:
        with self._lock:
            self._closed = True
            self._waiting.put(None)
        for write in (*batch, *iter(self._waiting.get, None)):
            if not write.done.done():
                write.done.set_exception(gone)
        self._broken()

    def _move_log(self) -> None:
        """Move a long log into the file. Running out of disk on the way breaks the database: see first if it fits."""
        try:
            length = self._log.stat().st_size
            if length >= LONGEST_LOG and shutil.disk_usage(self._log.parent).free >= ROOM * length:
                self._connection.execute(FORGET_REQUESTS)
                checkpoint(self._connection, self._note)
                make_log(self._path)
        except duckdb().FatalException:
            raise
        except (duckdb().Error, OSError):
            pass  # no log yet, or somebody reads: after the next write, then

    def _next_batch(self, answered: int) -> list[Write]:
        """What is waiting, and what comes at once from those who were just answered: they often write again.

        Without that, callers fall into two groups that take turns, and every commit carries half of them. Nothing
        means that the writer is closed.
        """
        expected = answered + self._waiting.qsize()
        deadline = monotonic() + GATHER_SECONDS
        first = self._waiting.get()
        if first is None:
            return []
        batch = [first]
        hurry = first.waited
        unhurried = monotonic() + UNHURRIED_SECONDS
        while len(batch) < MOST_TOGETHER:
            patience = (deadline if len(batch) < expected else 0.0) if hurry else unhurried
            try:
                write = self._waiting.get(timeout=max(patience - monotonic(), 0.0))
            except queue.Empty:
                break
            if write is None:
                self._waiting.put(None)  # for the next turn
                break
            batch.append(write)
            hurry = hurry or write.waited
        return batch

    def _check_place(self) -> None:
        """What is written to a file that no path leads to is lost when it is closed: nobody is told that it is kept."""
        if file_id(self._path) != self._file:
            raise StoreError(
                f"{self._path} was moved, replaced or removed while process {os.getpid()} has it open: nothing more is "
                "written; put it back, or stop that process to use what is there now"
            )

    def _commit(self, batch: Sequence[Write]) -> None:
        self._check_place()
        connection = self._connection
        here = self._here(connection)
        connection.execute("BEGIN")
        try:
            answers = _known(here, batch)
            fresh = list({write.id: write for write in batch if write.id not in answers}.values())
            for run in _runs(fresh):
                responses = run[0].operation.handler.run(here, [write.request for write in run])
                answers.update((write.id, response) for write, response in zip(run, responses, strict=True))
            _remember(here, fresh, answers)
            connection.execute(self._count)
            connection.execute("COMMIT")
        except BaseException:
            # A commit that failed has rolled back, and a second time would hide why.
            with suppress(duckdb().Error):
                connection.execute("ROLLBACK")
            raise
        self._note.committed()
        self._follow(here)
        for write in batch:
            write.done.set_result(answers[write.id])

    def _follow(self, here: Here) -> None:
        """Bring what is derived from the file up to it. What cannot follow is dropped, and made anew when asked for."""
        try:
            for work in here.committed:
                work()
        except duckdb().FatalException:
            raise
        except Exception:
            here.state.clear()


def _known(here: Here, batch: Sequence[Write]) -> dict[str, Any]:
    """Responses of writes that were applied before: the caller asks again because it was never told."""
    repeated = {write.id: write for write in batch if write.repeated}
    found = here.requests.answered(list(repeated)) if repeated else []
    for row in found:
        if row.operation != repeated[row.id].operation.name:
            raise ConflictError(
                f"request id {row.id} belongs to a {row.operation}, and this is another call; give it its own"
            )
    return {row.id: msgspec.json.decode(row.response, type=repeated[row.id].operation.response) for row in found}


def _parts(batch: Sequence[Write]) -> list[list[Write]]:
    """A batch in as few transactions as it may be written in."""
    parts: list[list[Write]] = []
    for write in batch:
        if not parts or write.operation.alone or parts[-1][-1].operation.alone:
            parts.append([write])
        else:
            parts[-1].append(write)
    return parts


def _runs(writes: Sequence[Write]) -> list[list[Write]]:
    """Neighbors of the same operation together, so that the order of what was asked is kept."""
    runs: list[list[Write]] = []
    for write in writes:
        if runs and runs[-1][0].operation.name == write.operation.name:
            runs[-1].append(write)
        else:
            runs.append([write])
    return runs


def _remember(here: Here, fresh: Sequence[Write], answers: dict[str, Any]) -> None:
    now = clock.time()
    here.requests.add(
        [
            RequestRow(write.id, write.operation.name, msgspec.json.encode(answers[write.id]).decode(), now)
            for write in fresh
            if write.waited
        ]
    )
