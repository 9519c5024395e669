"""What claims have earned: the columns of a claim that votes change, and what moves when two claims are merged."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from scalepan.store.duckdb.reach import reach_sql
from scalepan.store.duckdb.values import AT, among, as_json
from scalepan.store.reach import Reach
from scalepan.store.table import to_microsecond

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class StandingRow(NamedTuple):
    """The columns of a claim that votes change."""

    utility: float
    utility_at: float
    confidence: float
    merged_into: str | None
    boundary_class: str


class Fading(NamedTuple):
    """Claims that have something to lose: how many, and the mean size of it before and after."""

    claims: int
    before: float | None
    after: float | None


_COLUMNS = "utility, epoch(utility_at), confidence, merged_into, boundary_class"


class Standings:
    """What votes have made of claims. Votes are counted in one transaction: read here, computed, written here."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def get(self, claim: str, within: Reach | None = None) -> StandingRow | None:
        """What a claim has, if it is there and within reach."""
        where, values = reach_sql(within, merged=True) if within is not None else ("true", [])
        row = self._connection.execute(
            f"SELECT {_COLUMNS} FROM claims WHERE {where} AND id = ?", [*values, claim]
        ).fetchone()
        return StandingRow(*row) if row else None

    def set(self, claim: str, utility: float, utility_at: float, confidence: float) -> None:
        """What a claim has from now on."""
        self._connection.execute(
            f"UPDATE claims SET utility = ?, utility_at = {AT}, confidence = ? WHERE id = ?",
            [utility, to_microsecond(utility_at), confidence, claim],
        )

    def merge(self, claim: str, into: str | None) -> None:
        """Recall a claim no more, because another says the same; None: recall it again."""
        self._connection.execute("UPDATE claims SET merged_into = ? WHERE id = ?", [into, claim])

    def merged_into(self, claim: str) -> str | None:
        """The claim that stands for this one in the end, itself if it was not merged; None if one is gone."""
        seen: set[str] = set()
        while claim not in seen:
            seen.add(claim)
            found = self.get(claim)
            if found is None:
                return None
            claim = found.merged_into or claim
        return claim

    def move_entities(self, claim: str, into: str) -> list[str]:
        """Have a claim be about what another is about; the entities that are new to it."""
        moved = self._connection.execute(
            "INSERT INTO claim_entities SELECT ?, entity_id FROM claim_entities WHERE claim_id = ? "
            "AND entity_id NOT IN (SELECT entity_id FROM claim_entities WHERE claim_id = ?) RETURNING entity_id",
            [into, claim, into],
        ).fetchall()
        return [id_ for (id_,) in moved]

    def remove_entities(self, claim: str, entities: Sequence[str]) -> None:
        """Have a claim not be about these any more."""
        self._connection.execute(
            f"DELETE FROM claim_entities WHERE claim_id = ? AND {among('entity_id')}", [claim, as_json(entities)]
        )

    def move_relations(self, end: Literal["source_id", "target_id"], claim: str, into: str) -> list[str]:
        """Have relations that start or end at a claim do so at another; their ids."""
        moved = self._connection.execute(
            f"UPDATE relations SET {end} = ? WHERE {end} = ? RETURNING id", [into, claim]
        ).fetchall()
        return [id_ for (id_,) in moved]

    def move_relations_back(self, end: Literal["source_id", "target_id"], ids: Sequence[str], claim: str) -> None:
        """Have these relations start or end at a claim again."""
        self._connection.execute(f"UPDATE relations SET {end} = ? WHERE {among('id')}", [claim, as_json(ids)])

    def fading(
        self,
        column: Literal["utility", "quality"],
        half_life_days: float,
        since: float | None,
        now: float,
        tenant: str,
        project: str | None,
    ) -> Fading:
        """What time left of a column of a project's claims at two moments. What was set between fades from then on."""
        moment = f"coalesce({AT}, {column}_at)"
        size = f"avg(abs({column}) * recency_decay({column}_at, ?::DOUBLE, moment := {moment}))"
        row = self._connection.execute(
            f"SELECT count(*), {size}, {size} FROM claims WHERE tenant = ? AND project IS NOT DISTINCT FROM ? "
            f"AND merged_into IS NULL AND {column} <> 0",
            [half_life_days, since, half_life_days, now, tenant, project],
        ).fetchone()
        return Fading(*row) if row else Fading(0, None, None)
