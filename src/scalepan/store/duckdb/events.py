"""Events: what happened, in ids and numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from scalepan import clock
from scalepan.store.duckdb.values import among, as_json
from scalepan.store.ids import new_id
from scalepan.store.rows import EVENTS, EventRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.store.own import AddEvent


class Events:
    """The table of events."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def add(self, events: "Sequence[AddEvent]") -> list[str]:
        """Write events; their ids."""
        now = clock.time()
        rows = [
            EventRow(
                id=new_id("evt"),
                ts=now,
                tenant=event.tenant,
                topic=event.topic,
                payload=msgspec.json.encode(_payload(event)).decode(),
                request_id=event.request_id,
                # Every event is part of something; one that came without a trace id is a call of its own.
                trace_id=event.trace_id or uuid4().hex,
            )
            for event in events
        ]
        EVENTS.insert(self._connection, rows)
        return [row.id for row in rows]

    def newest(self, tenant: str, project: str | None, limit: int, without: Sequence[str] = ()) -> list[EventRow]:
        """The last events of a tenant, or of one of its projects, but those of some topics; newest first."""
        within, values = ("", []) if project is None else ("AND (payload->>'project') = ? ", [project])
        return EVENTS.select(
            self._connection,
            f"WHERE tenant = ? {within}AND NOT {among('topic')} ORDER BY ts DESC, rowid DESC LIMIT {limit:d}",
            [tenant, *values, as_json(without)],
        )

    def last_decay(self, tenant: str, project: str | None) -> str | None:
        """When the last report on decay in a project was made."""
        row = self._connection.execute(
            "SELECT max(payload->>'at') FROM events WHERE topic = 'critic' AND tenant = ? "
            "AND (payload->>'decay') IS NOT NULL AND (payload->>'project') IS NOT DISTINCT FROM ?",
            [tenant, project],
        ).fetchone()
        return row[0] if row else None


def _payload(event: "AddEvent") -> Any:
    named = isinstance(event.payload, dict) and event.project is not None
    return {**event.payload, "project": event.project} if named else event.payload
