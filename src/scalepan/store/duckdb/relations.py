"""Relations: links between claims, or from a claim to an entity."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from scalepan.store.duckdb.reach import reach_sql
from scalepan.store.duckdb.values import among, as_json, column_of
from scalepan.store.reach import Reach
from scalepan.store.rows import RELATIONS, RelationRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Moved(NamedTuple):
    """Relations whose source, and whose target, was moved to another claim, by their ids."""

    sources: list[str]
    targets: list[str]


class Relations:
    """The table of relations."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def add(self, rows: Sequence[RelationRow]) -> None:
        """Write relations, between ends that are there: see `may_end_at`."""
        RELATIONS.insert(self._connection, rows)

    def may_end_at(self, id_: str, reach: Reach) -> bool:
        """Whether a claim within reach, or an entity of the tenant, has this id."""
        where, values = reach_sql(reach, merged=True)
        query = (
            f"SELECT 1 FROM claims WHERE {where} AND id = ? "
            "UNION ALL SELECT 1 FROM entities WHERE tenant = ? AND id = ?"
        )
        return bool(column_of(self._connection, query, [*values, id_, reach.tenant, id_]))

    def move(self, claim: str, into: str) -> Moved:
        """Relations of a claim become those of another."""
        moved = Moved(
            column_of(self._connection, "SELECT id FROM relations WHERE source_id = ?", [claim]),
            column_of(self._connection, "SELECT id FROM relations WHERE target_id = ?", [claim]),
        )
        self.move_back(moved, into)
        return moved

    def move_back(self, moved: Moved, claim: str) -> None:
        """Give a claim the relations that were once moved."""
        for ids, column in ((moved.sources, "source_id"), (moved.targets, "target_id")):
            if ids:
                self._connection.execute(
                    f"UPDATE relations SET {column} = ? WHERE {among('id')}", [claim, as_json(ids)]
                )
