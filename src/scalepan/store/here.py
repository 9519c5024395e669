"""Where an operation runs: in the process that owns the file, with a connection, and with what it keeps there."""

from collections.abc import Callable
from concurrent.futures import Future
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from scalepan.store.duckdb.events import Events
from scalepan.store.operation import Operation, Req, Resp

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Host(Protocol):
    """What the owner does for the operations that run in it."""

    path: Path

    @property
    def closing(self) -> bool:
        """Whether it is about to go."""

    def submit(
        self, operation: Operation[Any, Any], request: Any, id_: str, *, repeated: bool = False, waited: bool = True
    ) -> "Future[Any]":
        """Queue a write."""

    def aside(self, name: str, work: "Callable[[Here], None]") -> None:
        """Run work beside the calls."""

    def at_close(self, name: str, work: "Callable[[Here], None]") -> None:
        """Run work last of all."""


class Here:
    """What an operation gets beside its request."""

    def __init__(
        self,
        connection: "DuckDBPyConnection",
        state: dict[str, Any],
        host: Host,
        id_: str = "",
        *,
        repeated: bool = False,
    ) -> None:
        self.connection = connection
        self.state = state
        """Shared by all calls of this owner: indexes, models. Made from the file, so it may be dropped at any time."""
        self.id = id_
        """The call's id; its writes have ids made from it, so a repeated call does not write twice."""
        self._host = host
        self._repeated = repeated
        self._writes = 0
        self.committed: list[Callable[[], None]] = []

    @property
    def path(self) -> Path:
        """The store's file."""
        return self._host.path

    @property
    def closing(self) -> bool:
        """Whether the owner is about to go."""
        return self._host.closing

    @cached_property
    def events(self) -> Events:
        """What happened."""
        return Events(self.connection)

    def commit(self, operation: Operation[Req, Resp], request: Req) -> Resp:
        """Have the writer do an operation; its response comes when it is durable."""
        self._writes += 1
        id_ = f"{self.id}/{self._writes}"
        response: Resp = self._host.submit(operation, request, id_, repeated=self._repeated).result()
        return response

    def commit_later(self, operation: Operation[Req, Any], request: Req) -> None:
        """The same without waiting: for what may be lost with the process, such as an event about a search."""
        self._host.submit(operation, request, uuid4().hex, waited=False)

    def after_commit(self, work: Callable[[], None]) -> None:
        """In a write: run this when it is durable, before anybody is told. It is dropped if the write fails."""
        self.committed.append(work)

    def aside(self, name: str, work: "Callable[[Here], None]") -> None:
        """Run work beside the calls, in a thread of its own; not if work of that name is running."""
        self._host.aside(name, work)

    def at_close(self, name: str, work: "Callable[[Here], None]") -> None:
        """Run work once when the owner closes, when nobody reads or writes any more; its failure is nobody's."""
        self._host.at_close(name, work)
