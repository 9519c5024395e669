"""The store's own operations: events, read-only SQL, and what the file is like."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from scalepan.errors import StoreError
from scalepan.store.duckdb.schema import VERSION, duckdb, reason
from scalepan.store.duckdb.select import check_select
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


@reads(SQL)
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


INFO = Operation("store.info", Nothing, Info)


@reads(INFO)
def info(here: "Here", _: Nothing) -> Info:
    """Versions, rows by table, and bytes."""
    cursor = here.connection
    names = cursor.execute("SELECT table_name, estimated_size FROM duckdb_tables() ORDER BY 1").fetchall()
    size = cursor.execute("SELECT sum(total_blocks * block_size) FROM pragma_database_size()").fetchone()
    return Info(VERSION, duckdb().__version__, dict(names), int(size[0] or 0) if size else 0)
