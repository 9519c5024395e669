"""The process that has the file open: it answers its own calls and, over a socket, everybody else's."""

import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from scalepan.errors import ScalepanError, StoreError
from scalepan.exits import EndingError
from scalepan.store.duckdb.generation import Note, checkpoint
from scalepan.store.duckdb.opening import drop_work_folder, file_id, open_database
from scalepan.store.duckdb.rewrite import rewrite_if_asked
from scalepan.store.duckdb.schema import VERSION, duckdb, reason
from scalepan.store.duckdb.wire import (
    PROTOCOL,
    Call,
    FrameTooLargeError,
    GoneError,
    Hello,
    WireAnswer,
    hello,
    peer_uid,
    receive,
    send,
)
from scalepan.store.duckdb.writer import Writer
from scalepan.store.here import Here
from scalepan.store.operation import Operation, operation
from scalepan.store.paths import socket_path

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

GREETING_SECONDS = 5.0
RECOVERY_SECONDS = 0.1
"""How long to wait before listening again when the system could not hand over a connection."""


class Owner:
    """An open store. Calls may come from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection, self._opened_at = open_database(path)
        self._file = file_id(path)
        self._note = Note(path, self._opened_at)
        self.policy_generation = 0
        self._state: dict[str, Any] = {}
        self._asides: dict[str, threading.Thread] = {}
        self._at_close: dict[str, Callable[[Here], None]] = {}
        self._writer = Writer(
            self._connection.cursor(),
            path,
            self._note,
            lambda connection: Here(connection, self._state, self, generation=self._note.at.number + 1),
            self._broken,
        )
        self._idle: list[DuckDBPyConnection] = []
        self._clients: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        self._in_use = 0
        self._unused = threading.Condition(self._lock)
        self._closing = False
        self._closed = threading.Event()
        try:
            self._socket_path = socket_path(path)
            self._listener = _listen(self._socket_path)
        except BaseException:
            self._writer.close()
            self._let_go()
            raise
        threading.Thread(target=self._accept, name="scalepan-store", daemon=True).start()

    def call(self, call: Call) -> WireAnswer:
        """Answer one call. Whatever goes wrong with it is in the answer; GoneError if this owner is closing."""
        try:
            found = operation(call.operation)
            request = msgspec.msgpack.decode(call.request, type=found.request)
            handler = found.handler
            if handler.kind == "commits":
                response = self.submit(found, request, call.id, repeated=call.repeated).result()
            else:
                with self._cursor() as cursor:
                    response = handler.run(self._here(cursor, call.id, repeated=call.repeated), request)
            return WireAnswer(msgspec.Raw(msgspec.msgpack.encode(response)))
        except GoneError:
            raise
        except EndingError as error:  # this process is, not the caller's
            raise GoneError(str(error)) from None
        except msgspec.ValidationError as error:
            return WireAnswer(code="VALIDATION_ERROR", message=f"{call.operation}: {error}")
        except ScalepanError as error:
            return WireAnswer(code=error.code, message=str(error))
        except (duckdb().FatalException, duckdb().ConnectionException) as error:
            self._broken()
            raise GoneError(reason(error)) from None
        except duckdb().Error as error:
            return WireAnswer(code="INTERNAL", message=f"{self.path}: {call.operation}: {reason(error)}")
        except Exception as error:
            return WireAnswer(code="INTERNAL", message=f"{call.operation}: {str(error).partition(chr(10))[0]}")

    def submit(
        self, operation: Operation[Any, Any], request: Any, id_: str, *, repeated: bool = False, waited: bool = True
    ) -> "Future[Any]":
        """Queue a write."""
        return self._writer.submit(operation, request, id_, repeated=repeated, waited=waited)

    def aside(self, name: str, work: Callable[[Here], None]) -> None:
        """Run work beside the calls; not if work of that name is running, or the owner is closing."""

        def run() -> None:
            with suppress(Exception), self._cursor() as cursor:
                work(self._here(cursor, uuid4().hex))
            with self._lock:
                del self._asides[name]

        with self._lock:
            if name not in self._asides and not self._closing:
                self._asides[name] = threading.Thread(target=run, name=f"scalepan-{name}", daemon=True)
                self._asides[name].start()

    def at_close(self, name: str, work: Callable[[Here], None]) -> None:
        """Run work when everybody is done, just before the file is let go."""
        self._at_close[name] = work

    @property
    def closing(self) -> bool:
        """Whether this owner takes no more calls."""
        return self._closing

    @property
    def released(self) -> bool:
        """Whether it is closed, and no call that took longer than closing waits has the file open still."""
        return self._closed.is_set() and not self._in_use

    def close(self) -> None:
        """Answer what has been taken, then let go of the file."""
        with self._lock:
            first, self._closing = not self._closing, True
            clients, threads = list(self._clients), [*self._threads, *self._asides.values()]
        if not first:
            self._closed.wait()
            return
        with suppress(OSError):
            self._socket_path.unlink()
        # Closing a socket does not wake a thread that waits in accept; shutting it down does.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RD)
        with self._unused:
            self._unused.wait_for(lambda: not self._in_use, timeout=GREETING_SECONDS)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(timeout=GREETING_SECONDS)
        self._writer.close()
        self._drop_cursors()
        for work in self._at_close.values():
            with suppress(Exception):
                work(self._here(self._connection))
        self._finish()
        self._let_go()
        self._closed.set()

    def _here(self, connection: "DuckDBPyConnection", id_: str = "", *, repeated: bool = False) -> Here:
        """What a handler that is no commit runs with."""
        return Here(connection, self._state, self, id_, generation=self._note.at.number, repeated=repeated)

    def _finish(self) -> None:
        """Leave one file and no log. What fails here is the next owner's to do."""
        if file_id(self.path) != self._file:
            return  # what is there now is not this store's to write over
        with suppress(duckdb().Error, OSError):
            replaced = rewrite_if_asked(self._connection, self.path, self._note)
            # A file that was written anew is not this connection's any more.
            if not replaced and self._note.at != self._opened_at:
                checkpoint(self._connection, self._note)

    def _let_go(self) -> None:
        self._note.close()
        drop_work_folder(self.path)
        self._connection.close()

    def _broken(self) -> None:
        """The database must be opened anew. The writer's thread may call this, and closing waits for that one."""
        threading.Thread(target=self.close, name="scalepan-store-close", daemon=True).start()

    @contextmanager
    def _cursor(self) -> Iterator["DuckDBPyConnection"]:
        """A cursor that no other thread uses. DuckDB keeps the file open as long as there is one."""
        with self._lock:
            if self._closing:
                raise GoneError("the store is closed")
            self._in_use += 1
        try:
            try:
                cursor = self._idle.pop()
            except IndexError:
                cursor = self._connection.cursor()
            try:
                yield cursor
            finally:
                self._idle.append(cursor)
                if self._closing:
                    self._drop_cursors()
        finally:
            with self._unused:
                self._in_use -= 1
                self._unused.notify_all()

    def _drop_cursors(self) -> None:
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                if self._closing:
                    return
                time.sleep(RECOVERY_SECONDS)  # no file descriptor is left, or no memory: that passes
                continue
            thread = threading.Thread(target=self._serve, args=(client,), name="scalepan-store-client", daemon=True)
            with self._lock:
                if self._closing:
                    client.close()
                    return
                try:
                    thread.start()  # in here: closing joins what it finds, which must have started
                except RuntimeError:  # as many threads as the system allows: the caller tries again
                    client.close()
                    continue
                self._clients.add(client)
                self._threads.add(thread)

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                if self._greet(client):
                    while True:
                        _answer(client, self.call(msgspec.msgpack.decode(receive(client), type=Call)))
        except (GoneError, msgspec.MsgspecError, OSError):
            pass
        finally:
            with self._lock:
                self._clients.discard(client)
                self._threads.discard(threading.current_thread())

    def _greet(self, client: socket.socket) -> bool:
        """Both sides identify themselves; a mismatch is answered with the reason."""
        uid = peer_uid(client)
        if uid != os.geteuid():
            send(client, hello(VERSION, "the store belongs to another user"))
            return False
        client.settimeout(GREETING_SECONDS)
        theirs = msgspec.msgpack.decode(receive(client), type=Hello)
        problem = _misfit(theirs)
        send(client, hello(VERSION, problem))
        client.settimeout(None)
        return not problem


def _misfit(theirs: Hello) -> str:
    if (theirs.protocol, theirs.schema) == (PROTOCOL, VERSION):
        return ""
    return (
        f"the store's owner, process {os.getpid()}, has protocol {PROTOCOL} and schema {VERSION}, "
        f"and this process {theirs.protocol} and {theirs.schema}; use the same version of Scalepan for both"
    )


def _answer(client: socket.socket, answer: WireAnswer) -> None:
    try:
        send(client, answer)
    except FrameTooLargeError as error:
        send(client, WireAnswer(code="VALIDATION_ERROR", message=f"the answer is too long: {error}; ask for pages"))


def _listen(path: Path) -> socket.socket:
    """Listen at a path. What stands there is left over: only who has the file may listen, and that is us."""
    if path.exists() and not stat.S_ISSOCK(path.lstat().st_mode):
        raise StoreError(f"{path} is in the way: it is not a socket; remove it")
    with suppress(FileNotFoundError):
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Nobody else may connect, not even between bind and chmod.
    old = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise StoreError(f"{path}: cannot listen there: {error.strerror}") from None
    finally:
        os.umask(old)
    listener.listen(64)
    return listener
