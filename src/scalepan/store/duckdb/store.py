"""A store that many processes share: this one owns the file, or reaches the one that does. Callers do not notice."""

import os
import re
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, overload

import msgspec

from scalepan.errors import (
    BoundaryError,
    ConflictError,
    InputError,
    NotFoundError,
    PolicyError,
    StoreError,
    TookTooLongError,
    UnansweredError,
)
from scalepan.exits import before_exit, last_of_all
from scalepan.files import make_folder, user_name
from scalepan.forks import after_fork
from scalepan.repeat import CallId, checked_id, next_call, own_id
from scalepan.store.duckdb.generation import RECOVER
from scalepan.store.duckdb.owner import Owner
from scalepan.store.duckdb.schema import VERSION, duckdb, reason
from scalepan.store.duckdb.wire import Call, GoneError, Hello, WireAnswer, hello, peer_uid, receive, send
from scalepan.store.operation import Operation, Req, Resp
from scalepan.store.operation import operation as named
from scalepan.store.paths import find_store, socket_path

PATIENCE_SECONDS = 15.0
"""How long a call may take, owners that go and come included."""
GREETING_SECONDS = 5.0
FIRST_WAIT, LONGEST_WAIT = 0.005, 0.1


class _OwnerLink:
    """A connection to the owner, for one call at a time."""

    def __init__(self, path: Path, patience: float) -> None:
        self.channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.channel.settimeout(min(patience, GREETING_SECONDS))
            self.channel.connect(str(path))
            _check_peer(path, peer_uid(self.channel))
            send(self.channel, hello(VERSION))
            self.owner = msgspec.msgpack.decode(receive(self.channel), type=Hello)
        except msgspec.MsgspecError:
            self.channel.close()
            raise StoreError(f"{path}: who listens there does not speak as Scalepan does; stop it") from None
        except BaseException:
            self.channel.close()
            raise
        if self.owner.problem:
            self.channel.close()
            raise StoreError(self.owner.problem)

    def __str__(self) -> str:
        return f"process {self.owner.pid} ({self.owner.program})"

    def call(self, call: Call, patience: float) -> WireAnswer:
        self.channel.settimeout(patience)
        send(self.channel, call)
        return msgspec.msgpack.decode(receive(self.channel), type=WireAnswer)

    def close(self) -> None:
        self.channel.close()


def _check_peer(path: Path, uid: int | None) -> None:
    """In a folder that others can write to, anybody may listen there. They get nothing."""
    if uid != os.geteuid():
        who = "a user that the system does not name" if uid is None else f"another user, {user_name(uid)}"
        raise StoreError(
            f"{path} is owned by a process of {who}: nothing was sent; "
            "move the store to a folder that only you can write to"
        )


# What the owner refused is the same error here.
_ERRORS = {
    error.code: error
    for error in (InputError, PolicyError, NotFoundError, ConflictError, BoundaryError, TookTooLongError)
}

# One owner per file and process, however many Stores there are.
_owners: dict[Path, Owner] = {}
_users: dict[Path, int] = {}
_closing: dict[Path, Owner] = {}
"""Owners that were told to close, until nothing of theirs has the file open any more."""
_owners_lock = threading.Lock()
_of_parents: list[Any] = []


def _after_fork() -> None:
    global _owners_lock
    # The parent's file, threads and locks are not the child's. They are never freed: freeing would close the file.
    _of_parents.append((dict(_owners), dict(_closing)))
    _owners.clear()
    _users.clear()
    _closing.clear()
    _owners_lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


class Store:
    """One DuckDB file. Use it from any thread and any process; `with Store() as store:` closes it.

    >>> import tempfile
    >>> from scalepan.store.own import AddEvent
    >>> with Store(Path(tempfile.mkdtemp()) / "notes.duckdb") as store:
    ...     _ = store.call("store.add_event", AddEvent(topic="ingest", payload={"n": 1}))
    ...     store.sql("SELECT topic, payload FROM events")
    [['ingest', '{"n":1}']]
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, patience: float = PATIENCE_SECONDS) -> None:
        self.path = find_store(path)
        self.patience = patience
        self._real = Path(os.path.realpath(self.path))
        self._idle: list[_OwnerLink] = []
        self._closed = False
        self._holder = ""
        self._uses_owner = False
        self._lock = threading.Lock()
        after_fork(self._after_fork)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @overload
    def call(self, operation: Operation[Req, Resp], request: Req, *, id: str | None = None) -> Resp: ...

    @overload
    def call(self, operation: str, request: msgspec.Struct, *, id: str | None = None) -> Any: ...

    def call(self, operation: Operation[Any, Any] | str, request: msgspec.Struct, *, id: str | None = None) -> Any:  # noqa: A002 - what it is
        """Do one operation, here or where the file is. When this returns, a write was applied once and is durable.

        `id` is that of the same call made before, as an UnansweredError names it: what was applied then is answered as
        it was, and not applied again.
        """
        found = named(operation) if isinstance(operation, str) else operation
        if found.internal:
            raise StoreError(f"'{found.name}' is a step of other operations, and cannot be called")
        try:
            packed = msgspec.Raw(msgspec.msgpack.encode(request))
        except UnicodeEncodeError as error:
            half = f"U+{ord(error.object[error.start]):04X}"
            raise InputError(f"a text has half a character ({half}, a lone surrogate), and cannot be stored") from None
        except OverflowError:
            raise InputError("a whole number is beyond 64 bits, and cannot be stored") from None
        # What only reads is no step of a request: the second time it may be left out, as where a policy is at hand.
        call = CallId(checked_id(id), repeated=True) if id is not None else next_call() if found.may_write else own_id()
        return self._called(found, Call(found.name, packed, call.id, repeated=call.repeated))

    def _called(self, found: Operation[Any, Any], call: Call) -> Any:
        answer = self._answered(call)
        if answer.code:
            raise _ERRORS.get(answer.code, StoreError)(answer.message)
        return msgspec.msgpack.decode(answer.response, type=found.response)

    def sql(self, query: str, limit: int = 1000) -> list[list[Any]]:
        """Rows of a read-only query, at most `limit`."""
        from scalepan.store.own import Query

        rows: list[list[Any]] = self.call("store.sql", Query(query, limit)).rows
        return rows

    @property
    def is_owner(self) -> bool:
        """Whether this process has the file open."""
        return self._real in _owners

    @property
    def owner(self) -> str:
        """Who has the file open, as this store last heard it: `process 4121 (scalepan mcp)`."""
        return f"process {os.getpid()}" if self.is_owner else self._holder

    def close(self) -> None:
        """Let go. If this process owns the file and nobody here uses it any more, the next caller takes over."""
        self._closed = True
        self._drop_links()
        with self._lock, _owners_lock:
            if not self._uses_owner:
                return
            self._uses_owner = False
            _users[self._real] -= 1
            last = not _users[self._real]
            owner = _owners.pop(self._real, None) if last else None
            if owner is not None:
                _closing[self._real] = owner
        if owner is not None:
            owner.close()
            with _owners_lock:
                _drop_released(self._real)

    def _answered(self, call: Call) -> WireAnswer:
        deadline = time.monotonic() + self.patience
        wait = FIRST_WAIT
        self._closed = False
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise self._unanswered(call)
            try:
                owner = _owners.get(self._real) if self._uses_owner else None
                if owner is not None:
                    with before_exit():
                        return owner.call(call)
                link = None if self.is_owner else self._link(remaining)
                if link is not None:
                    return self._over(link, call, remaining)
            except (GoneError, ConnectionError, FileNotFoundError, TimeoutError):
                self._drop_links()
                # It may have been applied before the owner went: from now on this is a repeated call.
                call = msgspec.structs.replace(call, repeated=True)
            with before_exit():
                self._holder = self._own() or self._holder
            if not self._uses_owner:
                time.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT)

    def _unanswered(self, call: Call) -> StoreError:
        found = named(call.operation)
        problem = (
            f"{self.path} is owned by {self._holder or 'another process'}, which does not answer; stop it, or wait"
        )
        again = msgspec.structs.replace(call, repeated=True)
        if call.repeated and found.may_write:
            problem += f"; it may still be applied: repeat it with request id {call.id}, and it is applied once"
        return UnansweredError(problem, call.id, lambda: self._called(found, again))

    def _link(self, patience: float) -> _OwnerLink | None:
        """A connection to the owner that no other thread uses; None if nobody listens."""
        with suppress(IndexError):
            return self._idle.pop()
        place = socket_path(self.path)
        if not place.exists():
            return None
        try:
            link = _OwnerLink(place, patience)
        except PermissionError:
            raise StoreError(f"{self.path} is owned by a process of another user") from None
        except BlockingIOError:  # as many wait there as the system lets wait
            raise GoneError("its owner is busy") from None
        except (ConnectionError, FileNotFoundError, TimeoutError):
            raise
        except OSError as error:
            raise StoreError(f"{place}: cannot connect there: {error.strerror}") from None
        self._holder = str(link)
        return link

    def _over(self, link: _OwnerLink, call: Call, patience: float) -> WireAnswer:
        """Ask the owner. The connection is kept for the next call, unless this one broke it."""
        try:
            answer = link.call(call, patience)
        except BaseException:
            link.close()
            raise
        self._idle.append(link)
        if self._closed:
            self._drop_links()
        return answer

    def _drop_links(self) -> None:
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return

    def _own(self) -> str:
        """Open the file in this process, if nobody else has it; else who does, as far as the system tells."""
        with self._lock, _owners_lock:
            if self._real in _owners and _owners[self._real].closing:  # its database broke, and is opened anew
                _closing[self._real] = _owners.pop(self._real)
                _closing[self._real].close()
            _drop_released(self._real)
            if self._real in _closing:  # a second handle of the file, once closed, would take the first one's lock
                return "this process, which is closing it"
            if self._real not in _owners:
                if (other := open_here(self._real)) is not None:
                    raise StoreError(f"{self.path} is the same file as {other}, which is open here; use that name")
                try:
                    make_folder(self._real.parent)
                    _owners[self._real] = Owner(self._real)
                except duckdb().IOException as error:
                    holder = _holder(error)
                    if holder:
                        return holder
                    raise _unreadable(self.path, "cannot be opened", error) from None
                except OSError as error:
                    raise StoreError(f"{self.path} cannot be opened: {error.strerror}") from None
                except duckdb().Error as error:
                    raise _unreadable(self.path, "cannot be read; is it damaged?", error) from None
            if not self._uses_owner:
                _users[self._real] = _users.get(self._real, 0) + 1
            self._uses_owner = True
        return ""

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        self._uses_owner = False
        self._drop_links()  # closes this process's copies; the parent's stay open


def _drop_released(path: Path) -> None:
    if path in _closing and _closing[path].released:
        del _closing[path]


def open_here(path: Path) -> Path | None:
    """The name under which this process has a file open. DuckDB's lock does not keep a process from itself."""
    closing = [other for other, owner in list(_closing.items()) if not owner.released]
    for other in (*_owners, *closing):
        with suppress(OSError):
            if os.path.samefile(path, other):
                return other
    return None


def _unreadable(path: Path, what: str, error: Exception) -> StoreError:
    advice = f"; restore the log, or run {RECOVER} to move it away" if "WAL file" in str(error) else ""
    return StoreError(f"{path} {what}{'' if what.endswith('?') else ':'} {reason(error)}{advice}")


def _holder(error: Exception) -> str:
    """`process 4121 (python3.11)` from DuckDB's message about a lock that another process holds."""
    found = re.search(r"lock is held in (.+) \(PID (\d+)\)", str(error))
    if found:
        return f"process {found[2]} ({Path(found[1]).name})"
    return "another process" if "Could not set lock" in str(error) else ""


def close_all() -> None:
    """At exit: an owner answers what it has taken before it goes."""
    with _owners_lock:
        owners = list(_owners.values())
        _closing.update(_owners)
        _owners.clear()
    for owner in owners:
        with suppress(Exception):
            owner.close()


# After the calls of other threads: one that is inside DuckDB when the interpreter ends would abort the process.
last_of_all(close_all)
