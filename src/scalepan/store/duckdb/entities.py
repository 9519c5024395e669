"""Entities: what claims are about. A tenant has one of each type and name."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from scalepan.store.duckdb.values import among, as_json, column_of
from scalepan.store.ids import new_id
from scalepan.store.rows import CLAIM_ENTITIES, ENTITIES, ClaimEntityRow, EntityName, EntityRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.store.duckdb.claims import Claims


class Entities:
    """Entities, and which claims are about them."""

    def __init__(self, connection: "DuckDBPyConnection", claims: "Claims") -> None:
        self._connection = connection
        self._claims = claims

    def of(self, ids: Iterable[str]) -> dict[str, list[EntityName]]:
        """What these claims are about, by name."""
        # A query of its own: as part of the one that reads the claims it takes several times as long.
        return self._linked(among("l.claim_id"), [as_json(ids)])

    def of_all(self) -> dict[str, list[EntityName]]:
        """What all claims are about."""
        return self._linked("true", [])

    def link(self, wanted: Sequence[tuple[str, EntityName]]) -> set[str]:
        """Say what claims are about; those of which something new was said."""
        if not wanted:
            return set()
        ids = self._ids({named for _, named in wanted})
        claims = as_json({claim for claim, _ in wanted})
        there = {
            (row.claim_id, row.entity_id)
            for row in CLAIM_ENTITIES.select(self._connection, f"WHERE {among('claim_id')}", [claims])
        }
        new = sorted({(claim, ids[named]) for claim, named in wanted} - there)
        return self._insert(new)

    def replace(self, claim: str, wanted: Iterable[EntityName]) -> None:
        """Say anew what one claim is about."""
        self._connection.execute("DELETE FROM claim_entities WHERE claim_id = ?", [claim])
        self._insert(sorted((claim, id_) for id_ in self._ids(set(wanted)).values()))
        self._claims.touch([claim])

    def copy(self, claim: str, into: str) -> list[str]:
        """Another claim is about the same from now on; the ids of those that it was not about before."""
        missing: list[str] = column_of(
            self._connection,
            "SELECT entity_id FROM claim_entities WHERE claim_id = ? AND entity_id NOT IN "
            "(SELECT entity_id FROM claim_entities WHERE claim_id = ?)",
            [claim, into],
        )
        self._insert([(into, id_) for id_ in missing])
        return missing

    def unlink(self, claim: str, entities: Sequence[str]) -> None:
        """A claim is not about these any more."""
        if entities:
            self._connection.execute(
                f"DELETE FROM claim_entities WHERE claim_id = ? AND {among('entity_id')}", [claim, as_json(entities)]
            )
            self._claims.touch([claim])

    def _insert(self, pairs: Sequence[tuple[str, str]]) -> set[str]:
        CLAIM_ENTITIES.insert(self._connection, [ClaimEntityRow(*pair) for pair in pairs])
        claims = {claim for claim, _ in pairs}
        self._claims.touch(claims)
        return claims

    def _ids(self, wanted: set[EntityName]) -> dict[EntityName, str]:
        """The ids of entities; those that are not there yet are added."""
        if not wanted:
            return {}
        names = as_json({named.name for named in wanted})
        rows = ENTITIES.select(self._connection, f"WHERE {among('name')}", [names])
        found = {named: row.id for row in rows if (named := EntityName.of(row)) in wanted}
        new = [EntityRow(new_id("ent"), *named) for named in sorted(wanted - found.keys())]
        ENTITIES.insert(self._connection, new)
        return found | {EntityName.of(row): row.id for row in new}

    def _linked(self, where: str, values: list[str]) -> dict[str, list[EntityName]]:
        rows = self._connection.execute(
            "SELECT l.claim_id, e.tenant, e.type, e.name FROM claim_entities l JOIN entities e ON e.id = l.entity_id "
            f"WHERE {where}",
            values,
        ).fetchall()
        found: dict[str, list[EntityName]] = {}
        for claim, *named in rows:
            found.setdefault(claim, []).append(EntityName(*named))
        for about in found.values():
            about.sort(key=lambda named: (named.name, named.type))
        return found
