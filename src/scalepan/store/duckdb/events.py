"""Events: what happened, in ids and numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from scalepan import clock
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


def _payload(event: "AddEvent") -> Any:
    named = isinstance(event.payload, dict) and event.project is not None
    return {**event.payload, "project": event.project} if named else event.payload
