"""Operations: a name, a request and a response. Every way into a store leads to these.

A handler is registered for an operation by one of three decorators, which say what it may do:

- `reads`: answers from one state of the store, and changes nothing.
- `changes`: takes its time beside the writer (redact, embed, search) and then commits, by `here.commit`.
- `commits`: runs inside the writer's transaction, with all requests that are waiting, and gives a response for each.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from scalepan.check import resolved
from scalepan.errors import StoreError, did_you_mean

if TYPE_CHECKING:
    from scalepan.store.here import Here

Req = TypeVar("Req", bound=msgspec.Struct)
Resp = TypeVar("Resp", bound=msgspec.Struct)

OWN_HANDLERS = (
    *("scalepan.store.own", "scalepan.store.policies"),
    *("scalepan.store.duckdb.check", "scalepan.store.duckdb.sql"),
)
"""Where the store's own operations are handled."""


class Handler(NamedTuple):
    """What does an operation."""

    kind: Literal["reads", "changes", "commits"]
    run: Callable[..., Any]


class Operation(Generic[Req, Resp]):
    """A named act. Importing one loads no handler, so a caller that only asks stays light."""

    def __init__(
        self, name: str, request: type[Req], response: type[Resp], *, alone: bool = False, internal: bool = False
    ) -> None:
        """`alone`: its transaction is shared with no other. `internal`: only other handlers commit it, no caller."""
        self.name = name
        self.request = request
        self.response = response
        self.alone = alone
        self.internal = internal
        self._handler: Handler | None = None
        resolved(request, response)
        _operations[name] = self

    def __repr__(self) -> str:
        return f"Operation({self.name!r})"

    @property
    def handler(self) -> Handler:
        """What does it, loaded when it is first needed. The first word of the name says in which package it is."""
        if self._handler is None:
            _load(self.name)
        if self._handler is None:
            raise StoreError(f"nothing handles '{self.name}'")
        return self._handler

    @property
    def may_write(self) -> bool:
        """The store's own reads are only that; an operation of another package may write on the way."""
        return not self.name.startswith("store.") or self.handler.kind != "reads"


_operations: dict[str, Operation[Any, Any]] = {}


def reads(operation: Operation[Req, Resp]) -> "Callable[[_Single[Req, Resp]], _Single[Req, Resp]]":
    """Register a handler that changes nothing."""
    return _registered(operation, "reads")


def changes(operation: Operation[Req, Resp]) -> "Callable[[_Single[Req, Resp]], _Single[Req, Resp]]":
    """Register a handler that prepares a change beside the writer and commits it by `here.commit`."""
    return _registered(operation, "changes")


def commits(operation: Operation[Req, Resp]) -> "Callable[[_Batch[Req, Resp]], _Batch[Req, Resp]]":
    """Register a handler that runs inside the writer's transaction."""
    return _registered(operation, "commits")


_Single = Callable[["Here", Req], Resp]
_Batch = Callable[["Here", Sequence[Req]], Sequence[Resp]]


def _registered(operation: Operation[Any, Any], kind: Literal["reads", "changes", "commits"]) -> Callable[[Any], Any]:
    def register(run: Callable[..., Any]) -> Callable[..., Any]:
        operation._handler = Handler(kind, run)
        return run

    return register


def operation(name: str) -> Operation[Any, Any]:
    """The operation of that name; StoreError if there is none."""
    if name not in _operations:
        _load(name)
    if name not in _operations:
        raise StoreError(f"no operation '{name}'{did_you_mean(name, sorted(_operations))}")
    return _operations[name]


def _load(name: str) -> None:
    package = name.partition(".")[0]
    modules = OWN_HANDLERS if package == "store" else (f"scalepan.{package}.operations",)
    for module in modules:
        with suppress(ModuleNotFoundError):
            import_module(module)
