"""Votes, in the order in which they were counted: a clock may go back, the order of the rows does not."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalepan.store.duckdb.values import AT, among, as_json
from scalepan.store.rows import FEEDBACKS, FeedbackRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOVING = ("helpful", "harmful", "outdated")
"""Votes that go along when their claim is merged into another."""


class Votes:
    """The table of votes, and of notes of what a claim's numbers were.

    A vote is made from the votes before it. So it is counted by one transaction that reads, computes and writes, and
    sees every vote that was counted before.
    """

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def add(self, row: FeedbackRow) -> None:
        """Write a vote or a note, as the last one."""
        FEEDBACKS.insert(self._connection, [row])

    def get(self, id_: str, tenant: str) -> FeedbackRow | None:
        """A vote of a tenant."""
        found = FEEDBACKS.select(self._connection, "WHERE id = ? AND tenant = ?", [id_, tenant])
        return found[0] if found else None

    def of(self, ids: Sequence[str]) -> list[FeedbackRow]:
        """Votes by their ids."""
        return FEEDBACKS.select(self._connection, f"WHERE {among('id')}", [as_json(ids)])

    def first_about(self, claim: str) -> FeedbackRow | None:
        """The first vote or note that was about a claim, whichever one it counts for now."""
        found = FEEDBACKS.select(self._connection, "WHERE (body->>'claim') = ? ORDER BY rowid LIMIT 1", [claim])
        return found[0] if found else None

    def last_about(self, claim: str) -> str | None:
        """The id of the last vote or note that is about a claim and counts for it."""
        row = self._connection.execute(
            "SELECT id FROM feedbacks WHERE claim_id = ? AND (body->>'claim') = ? ORDER BY rowid DESC LIMIT 1",
            [claim, claim],
        ).fetchone()
        return row[0] if row else None

    def counting_for(self, claim: str) -> list[FeedbackRow]:
        """Every vote and note that counts for a claim, its own or moved to it, in their order."""
        return FEEDBACKS.select(self._connection, "WHERE claim_id = ? AND undone_at IS NULL ORDER BY rowid", [claim])

    def gaps(self, claim: str) -> list[tuple[str, str]]:
        """Votes and notes about a claim before which one is gone, each with the id of that."""
        return self._connection.execute(
            "WITH mine AS (SELECT id, body->>'previous' AS previous FROM feedbacks WHERE (body->>'claim') = ?) "
            "SELECT id, previous FROM mine WHERE previous NOT IN (SELECT id FROM mine) ORDER BY id",
            [claim],
        ).fetchall()

    def undo(self, id_: str, now: float) -> bool:
        """Take a vote back that was not taken back yet; whether there was one."""
        undone = self._connection.execute(
            f"UPDATE feedbacks SET undone_at = {AT} WHERE id = ? AND undone_at IS NULL RETURNING id", [now, id_]
        )
        return undone.fetchone() is not None

    def move(self, claim: str, into: str) -> list[str]:
        """Have the votes for a claim count for another; their ids."""
        moved = self._connection.execute(
            f"UPDATE feedbacks SET claim_id = ? WHERE claim_id = ? AND signal IN {MOVING} RETURNING id", [into, claim]
        ).fetchall()
        return [id_ for (id_,) in moved]

    def move_back(self, ids: Sequence[str], claim: str) -> None:
        """Have these votes count for a claim again."""
        self._connection.execute(f"UPDATE feedbacks SET claim_id = ? WHERE {among('id')}", [claim, as_json(ids)])

    def in_contexts(self, tenant: str, project: str | None) -> list[FeedbackRow]:
        """Votes for and against claims that an active context had recalled."""
        return FEEDBACKS.select(
            self._connection,
            "WHERE context_id IS NOT NULL AND json_type(body->'recalled') = 'OBJECT' AND undone_at IS NULL "
            "AND signal IN ('helpful', 'harmful') AND claim_id IN "
            "(SELECT id FROM claims WHERE tenant = ? AND project IS NOT DISTINCT FROM ?) ORDER BY rowid",
            [tenant, project],
        )
