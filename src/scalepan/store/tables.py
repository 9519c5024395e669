"""The store's own operations: events, read-only SQL, and what the file is like."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import msgspec

from scalepan.errors import StoreError
from scalepan.store.duckdb.schema import VERSION, duckdb, reason
from scalepan.store.duckdb.select import check_select
from scalepan.store.operations import insert_rows, reads, utc_now, writes

if TYPE_CHECKING:
    from scalepan.store.here import Here

TOPICS = ("ingest", "search", "activate", "search_fallback", "critic", "policy", "benchmark", "schema")
EVENT_COLUMNS = {
    "id": "VARCHAR",
    "ts": "TIMESTAMP",
    "tenant": "VARCHAR",
    "topic": "VARCHAR",
    "payload": "JSON",
    "request_id": "VARCHAR",
    "trace_id": "VARCHAR",
}


class AddEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that happened."""

    topic: str
    payload: Any = None
    tenant: str | None = None
    request_id: str | None = None
    trace_id: str | None = None


class EventAdded(msgspec.Struct, frozen=True):
    """Its id."""

    id: str


def new_id(prefix: str) -> str:
    """A short random id: `evt_9f2c…`."""
    return f"{prefix}_{uuid4().hex[:20]}"


@writes("store.add_event", AddEvent, EventAdded)
def add_event(here: "Here", requests: Sequence[AddEvent]) -> list[EventAdded]:
    """Keep events."""
    now = utc_now()
    ids = [new_id("evt") for _ in requests]
    rows = [
        {
            "id": id_,
            "ts": now,
            "tenant": event.tenant,
            "topic": event.topic,
            "payload": msgspec.json.encode(event.payload).decode(),
            "request_id": event.request_id,
            # Every event is part of something; what came without a name for that was a call of its own.
            "trace_id": event.trace_id or uuid4().hex,
        }
        for id_, event in zip(ids, requests, strict=True)
    ]
    insert_rows(here.connection, "events", EVENT_COLUMNS, rows)
    return [EventAdded(id_) for id_ in ids]


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


@reads("store.sql", Query, Rows)
def run_sql(here: "Here", request: Query) -> Rows:
    """A SELECT over the store's tables, and nothing else. It sees one state of them, and can change nothing."""
    module, cursor = duckdb(), here.connection
    check_select(cursor, request.sql)
    cursor.execute("BEGIN TRANSACTION READ ONLY")
    try:
        cursor.execute(request.sql)
        columns = [name for name, *_ in cursor.description or ()]
        skipped = cursor.fetchmany(request.offset) if request.offset else []
        rows = cursor.fetchmany(request.limit + 1) if len(skipped) == request.offset else []
    except (module.IOException, module.FatalException):
        raise  # the file's fault, not the query's
    except module.Error as error:
        raise StoreError(reason(error)) from None
    finally:
        with suppress(module.Error):
            cursor.execute("ROLLBACK")
    shown = [[_plain(value) for value in row] for row in rows[: request.limit]]
    return Rows(columns, shown, more=len(rows) > request.limit)


def _plain(value: Any) -> Any:
    """What MessagePack can carry; times and other types as text."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


class Nothing(msgspec.Struct, frozen=True):
    """A request without content."""


class Info(msgspec.Struct, frozen=True):
    """What a store is like."""

    schema: int
    duckdb: str
    tables: dict[str, int]
    size: int


@reads("store.info", Nothing, Info)
def info(here: "Here", _: Nothing) -> Info:
    """Versions, rows by table, and bytes."""
    cursor = here.connection
    names = cursor.execute("SELECT table_name, estimated_size FROM duckdb_tables() ORDER BY 1").fetchall()
    size = cursor.execute("SELECT sum(total_blocks * block_size) FROM pragma_database_size()").fetchone()
    return Info(VERSION, duckdb().__version__, dict(names), int(size[0] or 0) if size else 0)
