"""Scores: numbers with what they were made of."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan import clock
from scalepan.store.duckdb.reach import reach_sql
from scalepan.store.duckdb.values import among, as_json
from scalepan.store.reach import Reach
from scalepan.store.receipts import Receipt, seal, sealed_of
from scalepan.store.rows import SCORES, ScoreRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

RECALLED = "score_final"
"""The name of scores that are about claims."""


class Scores:
    """The table of scores."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def add(self, receipts: Sequence[Receipt]) -> None:
        """Write scores, each with what it was made of and the seal of that."""
        now = clock.time()
        SCORES.insert(self._connection, [_row(receipt, now) for receipt in receipts])

    def get(self, id_: str, tenant: str, project: str | None, within: Reach) -> ScoreRow | None:
        """A score by its id, if the caller may see it."""
        return self._newest("id = ?", [id_], tenant, project, within)

    def about(self, subjects: Sequence[str], tenant: str, project: str | None, within: Reach) -> ScoreRow | None:
        """The newest score about one of these subjects, which are not claims."""
        condition = f"{among('subject')} AND name <> '{RECALLED}'"
        return self._newest(condition, [as_json(subjects)], tenant, project, within)

    def last(self, tenant: str, project: str | None, within: Reach) -> ScoreRow | None:
        """The newest score of all."""
        return self._newest("true", [], tenant, project, within)

    def _newest(
        self, condition: str, values: Sequence[Any], tenant: str, project: str | None, within: Reach
    ) -> ScoreRow | None:
        """The newest of those within reach: one that is not must not hide an older one, and is as if it were not there.

        A score without a project is the whole tenant's. One of a claim is seen by those who reach the claim.
        """
        where, bound = reach_sql(within, merged=True)
        found = SCORES.select(
            self._connection,
            f"WHERE {condition} AND id IS NOT NULL AND tenant = ? AND (project IS NULL OR project = ?) "
            f"AND (name IS DISTINCT FROM '{RECALLED}' OR subject IN (SELECT id FROM claims WHERE {where})) "
            "ORDER BY rowid DESC LIMIT 1",
            [*values, tenant, project, *bound],
        )
        return found[0] if found else None


def _row(receipt: Receipt, now: float) -> ScoreRow:
    return ScoreRow(
        id=receipt.id,
        ts=now,
        name=receipt.name,
        value=receipt.value,
        inputs=msgspec.json.encode(receipt.inputs).decode(),
        policy_version=receipt.policy_version,
        model=receipt.model,
        body=msgspec.json.encode(receipt.body).decode(),
        tenant=receipt.tenant,
        project=receipt.project,
        subject=receipt.subject,
        seal=seal(sealed_of(receipt.name, receipt.subject, receipt.inputs)),
    )
