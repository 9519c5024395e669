"""The store's own operations: events, read-only SQL, and what the store is like. The last two are the engine's."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from scalepan.store.operation import Operation, commits, reads

if TYPE_CHECKING:
    from scalepan.store.here import Here

TOPICS = ("ingest", "search", "activate", "search_fallback", "critic", "policy", "benchmark", "schema")


class AddEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that happened."""

    topic: str
    payload: Any = None
    tenant: str | None = None
    request_id: str | None = None
    trace_id: str | None = None
    project: str | None = None
    """Whose project it happened in; goes into the payload, so that who may see one project sees its events only."""


class EventAdded(msgspec.Struct, frozen=True):
    """Its id."""

    id: str


ADD_EVENT = Operation("store.add_event", AddEvent, EventAdded)


@commits(ADD_EVENT)
def add_event(here: "Here", requests: Sequence[AddEvent]) -> list[EventAdded]:
    """Write events."""
    return [EventAdded(id_) for id_ in here.events.add(requests)]


class AskEvents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last events of a tenant, or of one of its projects."""

    tenant: str
    project: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    without: list[str] = []
    """Topics that are left out."""


class Event(msgspec.Struct, frozen=True):
    """An event as it is kept."""

    id: str
    at: str
    topic: str
    payload: Any
    request_id: str | None
    trace_id: str | None


class Happened(msgspec.Struct, frozen=True):
    """Events, newest first."""

    events: list[Event]


LAST_EVENTS = Operation("store.last_events", AskEvents, Happened)


@reads(LAST_EVENTS)
def last_events(here: "Here", request: AskEvents) -> Happened:
    """What happened last."""
    return Happened(
        [
            Event(
                id=row.id,
                at=datetime.fromtimestamp(row.ts, UTC).replace(tzinfo=None).isoformat(),
                topic=row.topic,
                payload=msgspec.json.decode(row.payload),
                request_id=row.request_id,
                trace_id=row.trace_id,
            )
            for row in here.events.newest(request.tenant, request.project, request.limit, request.without)
        ]
    )


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A read-only query, and which rows of its answer are wanted."""

    sql: str
    limit: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1000
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0


class Rows(msgspec.Struct, frozen=True):
    """A page of rows; `more` says whether there are further ones."""

    columns: list[str]
    rows: list[list[Any]]
    more: bool


SQL = Operation("store.sql", Query, Rows)


class Nothing(msgspec.Struct, frozen=True):
    """A request without content."""


class Info(msgspec.Struct, frozen=True):
    """What a store is like."""

    schema: int
    duckdb: str
    tables: dict[str, int]
    size: int


INFO = Operation("store.info", Nothing, Info)
