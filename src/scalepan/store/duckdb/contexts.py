"""Active contexts and their items. One that has expired is gone for every reader, whether or not its rows are there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalepan.store.duckdb.values import AT
from scalepan.store.rows import CONTEXT_ITEMS, CONTEXTS, ContextItemRow, ContextRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Contexts:
    """The tables of contexts and of their items."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def add(self, contexts: Sequence[ContextRow], items: Sequence[ContextItemRow]) -> None:
        """Write contexts with their items."""
        CONTEXTS.insert(self._connection, contexts)
        CONTEXT_ITEMS.insert(self._connection, items)

    def get(self, id_: str, tenant: str, project: str | None) -> ContextRow | None:
        """A context of a project, also one that has expired and is not deleted yet."""
        found = CONTEXTS.select(
            self._connection, "WHERE id = ? AND tenant = ? AND project IS NOT DISTINCT FROM ?", [id_, tenant, project]
        )
        return found[0] if found else None

    def items(self, id_: str) -> list[ContextItemRow]:
        """The items of a context, by rank."""
        return CONTEXT_ITEMS.select(self._connection, "WHERE ac_id = ? ORDER BY rank", [id_])

    def item(self, id_: str, claim: str) -> ContextItemRow | None:
        """One item of a context."""
        found = CONTEXT_ITEMS.select(self._connection, "WHERE ac_id = ? AND claim_id = ?", [id_, claim])
        return found[0] if found else None

    def claims_left(self, id_: str) -> int:
        """How many claims of a context are not forgotten, whoever may read them."""
        return self._count("", id_)

    def claims_scored(self, id_: str) -> int:
        """How many of these have a score of their own."""
        return self._count("JOIN scores s ON s.id = i.score_id AND s.subject = i.claim_id", id_)

    def _count(self, joined: str, id_: str) -> int:
        row = self._connection.execute(
            f"SELECT count(*) FROM active_context_items i JOIN claims c ON c.id = i.claim_id {joined} "
            "WHERE i.ac_id = ?",
            [id_],
        ).fetchone()
        return int(row[0]) if row else 0

    def expire(self, now: float) -> float | None:
        """Delete contexts that are over, with their items; when the next one expires."""
        over = f"(SELECT id FROM active_contexts WHERE expires_at <= {AT})"
        self._connection.execute(f"DELETE FROM active_context_items WHERE ac_id IN {over}", [now])
        self._connection.execute(f"DELETE FROM active_contexts WHERE id IN {over}", [now])
        row = self._connection.execute("SELECT epoch(min(expires_at)) FROM active_contexts").fetchone()
        return row[0] if row else None

    def count(self, tenant: str, project: str | None, now: float) -> int:
        """How many contexts of a project are not over."""
        row = self._connection.execute(
            "SELECT count(*) FROM active_contexts "
            f"WHERE tenant = ? AND project IS NOT DISTINCT FROM ? AND expires_at > {AT}",
            [tenant, project, now],
        ).fetchone()
        return int(row[0]) if row else 0
