"""Where an operation runs: in the process that owns the file, with a connection, and with what it keeps there."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from scalepan.store.duckdb.claims import Claims
from scalepan.store.duckdb.contexts import Contexts
from scalepan.store.duckdb.decisions import Decisions
from scalepan.store.duckdb.entities import Entities
from scalepan.store.duckdb.events import Events
from scalepan.store.duckdb.figures import Figures
from scalepan.store.duckdb.labels import Labels
from scalepan.store.duckdb.meta import Meta
from scalepan.store.duckdb.orphans import Orphans
from scalepan.store.duckdb.policies import Policies
from scalepan.store.duckdb.relations import Relations
from scalepan.store.duckdb.requests import Requests
from scalepan.store.duckdb.rewrite import ask_for_rewrite
from scalepan.store.duckdb.schema import duckdb
from scalepan.store.duckdb.scores import Scores
from scalepan.store.duckdb.search import Search
from scalepan.store.duckdb.tokens import Tokens
from scalepan.store.duckdb.vectors import Vectors
from scalepan.store.duckdb.votes import Votes
from scalepan.store.operation import Operation, Req, Resp

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.policy.claim_rules import Tree


class Host(Protocol):
    """What the owner does for the operations that run in it."""

    path: Path
    policy_generation: int
    """Moves with every commit that sets a policy."""

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
        generation: int,
        repeated: bool = False,
    ) -> None:
        self._connection = connection
        self.generation = generation
        """Of the commit under way; where nothing is written, of the last one that was when the call came."""
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
        return Events(self._connection)

    @cached_property
    def claims(self) -> Claims:
        """What is remembered."""
        return Claims(self._connection, self.generation)

    @cached_property
    def vectors(self) -> Vectors:
        """What an encoder made of the claims."""
        return Vectors(self._connection, self.claims)

    @cached_property
    def entities(self) -> Entities:
        """What the claims are about."""
        return Entities(self._connection, self.claims)

    @cached_property
    def relations(self) -> Relations:
        """Links between claims."""
        return Relations(self._connection)

    @cached_property
    def orphans(self) -> Orphans:
        """What is left of claims that are gone."""
        return Orphans(self._connection)

    @cached_property
    def search(self) -> Search:
        """What the tables find by themselves."""
        return Search(self._connection)

    def figures(self, tenant: str, project: str | None, rules: Sequence["Tree"], moment: float) -> Figures:
        """Counts over one project, of the claims that the rules are true of."""
        return Figures(self._connection, tenant, project, rules, moment)

    @cached_property
    def contexts(self) -> Contexts:
        """What was recalled for a task."""
        return Contexts(self._connection)

    @cached_property
    def decisions(self) -> Decisions:
        """What the gate decided, or asks."""
        return Decisions(self._connection)

    @cached_property
    def labels(self) -> Labels:
        """What turned out to be right."""
        return Labels(self._connection)

    @cached_property
    def meta(self) -> Meta:
        """What the store knows of itself."""
        return Meta(self._connection)

    @cached_property
    def policies(self) -> Policies:
        """What tenants and projects say."""
        return Policies(self._connection, self._host, self.after_commit)

    @cached_property
    def requests(self) -> Requests:
        """What was answered."""
        return Requests(self._connection)

    @cached_property
    def scores(self) -> Scores:
        """Numbers with what they were made of."""
        return Scores(self._connection)

    @cached_property
    def tokens(self) -> Tokens:
        """What opens the HTTP API."""
        return Tokens(self._connection)

    @cached_property
    def votes(self) -> Votes:
        """What was voted."""
        return Votes(self._connection)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several reads that see one state of the store."""
        self._connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def rewrite_at_close(self) -> None:
        """In a write: what was overwritten must leave the file too, when its owner closes it."""
        ask_for_rewrite(self._connection)

    @property
    def engine_error(self) -> type[Exception]:
        """What the engine raises where a row cannot be read, such as JSON that is none."""
        error: type[Exception] = duckdb().Error
        return error

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
