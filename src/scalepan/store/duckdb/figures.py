"""Figures over a tenant and project: counts of claims, votes, contexts and recalls."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scalepan.policy.claim_rules import Tree
from scalepan.store.duckdb.reach import rules_sql
from scalepan.store.duckdb.values import utc

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_OF_PROJECT = "tenant = ? AND project IS NOT DISTINCT FROM ?"
_COUNTS = """
    SELECT count(*) FILTER (merged_into IS NULL), count(*) FILTER (merged_into IS NOT NULL),
        count(*) FILTER (merged_into IS NULL AND id NOT IN (SELECT claim_id FROM claim_vectors))
    FROM claims WHERE
"""
_VOTES = """
    SELECT signal, count(*) FROM feedbacks WHERE undone_at IS NULL AND signal IN
        ('helpful', 'harmful', 'outdated', 'duplicate') AND claim_id IN (SELECT id FROM claims WHERE {})
    GROUP BY 1 ORDER BY 1
"""


class ClaimCounts(NamedTuple):
    """How many claims there are."""

    live: int
    merged: int
    without_vector: int


class Figures:
    """Counts over one project, of the claims that some rules are true of."""

    def __init__(
        self,
        connection: "DuckDBPyConnection",
        tenant: str,
        project: str | None,
        rules: Sequence[Tree],
        moment: float,
    ) -> None:
        conditions, bound = rules_sql(rules, moment)
        self._connection = connection
        self._moment = moment
        self._whose = [tenant, project]
        self._where = " AND ".join([_OF_PROJECT, *conditions])
        self._values = [*self._whose, *bound]

    def claims(self) -> ClaimCounts:
        """All claims."""
        row = self._connection.execute(f"{_COUNTS} {self._where}", self._values).fetchone()
        return ClaimCounts(*row) if row else ClaimCounts(0, 0, 0)

    def claims_by(self, column: str) -> dict[str, int]:
        """Claims that are not merged, by the values of a column, the most frequent first."""
        return self._counts(
            f"SELECT {column}, count(*) FROM claims WHERE {self._where} AND merged_into IS NULL "
            "GROUP BY 1 ORDER BY 2 DESC, 1",
            self._values,
        )

    def votes(self) -> dict[str, int]:
        """Votes that count, by signal."""
        return self._counts(_VOTES.format(self._where), self._values)

    def contexts(self) -> int:
        """Active contexts that have not expired."""
        row = self._connection.execute(
            f"SELECT count(*) FROM active_contexts WHERE {_OF_PROJECT} AND expires_at > ?",
            [*self._whose, utc(self._moment)],
        ).fetchone()
        return int(row[0]) if row else 0

    def events(self) -> dict[str, int]:
        """Events of the tenant, by topic."""
        return self._counts("SELECT topic, count(*) FROM events WHERE tenant = ? GROUP BY 1", self._whose[:1])

    def _counts(self, query: str, values: Sequence[Any]) -> dict[str, int]:
        return {str(key): int(count) for key, count in self._connection.execute(query, list(values)).fetchall()}
