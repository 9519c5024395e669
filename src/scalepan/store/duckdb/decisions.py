"""Decisions of the gate. What one says changes once: when a question that waits is answered or expires."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scalepan.store.rows import DECISIONS, DecisionRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PENDING = "pending"
_PENDING = f"(body->>'state') = '{PENDING}'"


class Decisions:
    """The table of decisions."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def add(self, rows: Sequence[DecisionRow]) -> None:
        """Write decisions."""
        DECISIONS.insert(self._connection, rows)

    def get(self, id_: str, tenant: str) -> DecisionRow | None:
        """A decision of a tenant."""
        found = DECISIONS.select(self._connection, "WHERE id = ? AND tenant = ?", [id_, tenant])
        return found[0] if found else None

    def settle(self, id_: str, tenant: str, body: str) -> bool:
        """Replace what a pending decision says; False if it is not pending (any more)."""
        settled = self._connection.execute(
            f"UPDATE decisions SET body = ? WHERE id = ? AND tenant = ? AND {_PENDING} RETURNING id",
            [body, id_, tenant],
        )
        return settled.fetchone() is not None

    def newest(
        self, tenant: str, project: str | None, limit: int, *, pending_at: float | None = None
    ) -> list[DecisionRow]:
        """Decisions of a tenant, or of one of its projects, newest first; with `pending_at` those that wait then."""
        conditions, values = ["tenant = ?"], list[Any]([tenant])
        if pending_at is not None:
            conditions.append(f"{_PENDING} AND (body->>'expires_at')::DOUBLE > ?")
            values.append(pending_at)
        if project is not None:
            conditions.append("(body->>'project') = ?")
            values.append(project)
        return DECISIONS.select(
            self._connection,
            f"WHERE {' AND '.join(conditions)} ORDER BY ts DESC, rowid DESC LIMIT {limit:d}",
            values,
        )
