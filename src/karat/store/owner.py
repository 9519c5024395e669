"""The process that has the file open: it answers its own calls and, over a socket, everybody else's."""

import os
import socket
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from karat.errors import KaratError, StoreError
from karat.store.operations import operation
from karat.store.paths import socket_path
from karat.store.schema import VERSION, open_database
from karat.store.wire import (
    PROTOCOL,
    Answer,
    Call,
    FrameTooLargeError,
    GoneError,
    Hello,
    hello,
    peer_uid,
    receive,
    send,
)
from karat.store.writer import Writer

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

GREETING_SECONDS = 5.0


class Owner:
    """An open store. Calls may come from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: DuckDBPyConnection = open_database(path)
        self._writer = Writer(self._connection.cursor())
        self._local = threading.local()
        self._clients: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        self._closing = False
        try:
            self._socket_path = socket_path(path)
            self._listener = _listen(self._socket_path)
        except BaseException:
            self._writer.close()
            self._connection.close()
            raise
        threading.Thread(target=self._accept, name="karat-store", daemon=True).start()

    def call(self, call: Call) -> Answer:
        """Answer one call. Whatever goes wrong with it is in the answer; GoneError if this owner is closing."""
        try:
            found = operation(call.operation)
            request = msgspec.msgpack.decode(call.request, type=found.request)
            if found.writes:
                response = self._writer.submit(found, request, call.id, repeated=call.repeated).result()
            else:
                response = found.run(self._cursor(), request)
            return Answer(msgspec.Raw(msgspec.msgpack.encode(response)))
        except GoneError:
            raise
        except msgspec.ValidationError as error:
            return Answer(code="VALIDATION_ERROR", message=f"{call.operation}: {error}")
        except KaratError as error:
            return Answer(code="VALIDATION_ERROR", message=str(error))
        except Exception as error:
            return Answer(code="INTERNAL", message=f"{call.operation}: {str(error).partition(chr(10))[0]}")

    def close(self) -> None:
        """Answer what has been taken, then let go of the file."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
            clients, threads = list(self._clients), list(self._threads)
        with suppress(OSError):
            self._socket_path.unlink()
        # Closing a socket does not wake a thread that waits in accept; shutting it down does.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RD)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(timeout=GREETING_SECONDS)
        self._writer.close()
        self._connection.close()

    def _cursor(self) -> "DuckDBPyConnection":
        """A cursor for each thread that reads."""
        if not hasattr(self._local, "cursor"):
            self._local.cursor = self._connection.cursor()
        cursor: DuckDBPyConnection = self._local.cursor
        return cursor

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), name="karat-store-client", daemon=True)
            with self._lock:
                if self._closing:
                    client.close()
                    return
                self._clients.add(client)
                self._threads.add(thread)
            thread.start()

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
        """Both sides say who they are; who does not fit is told why."""
        uid = peer_uid(client)
        if uid is not None and uid != os.getuid():
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
        f"and this process {theirs.protocol} and {theirs.schema}; use the same version of Karat for both"
    )


def _answer(client: socket.socket, answer: Answer) -> None:
    try:
        send(client, answer)
    except FrameTooLargeError as error:
        send(client, Answer(code="VALIDATION_ERROR", message=f"the answer is too long: {error}; ask for pages"))


def _listen(path: Path) -> socket.socket:
    """Listen at a path. What stands there is left over: only who has the file may listen, and that is us."""
    if path.exists() and not stat.S_ISSOCK(path.lstat().st_mode):
        raise StoreError(f"{path} is in the way: it is no socket; remove it")
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
