"""Claims in the table: how they are written, found by id, and read back."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.errors import NotFoundError
from scalepan.memory.claim import SECONDS_A_DAY, Claim, Entity, Provenance, written
from scalepan.memory.halflife import faded
from scalepan.policy.retrieval import Feedback
from scalepan.redact import Redactor
from scalepan.store.duckdb.reach import reach_sql
from scalepan.store.duckdb.values import among, as_json
from scalepan.store.reach import Reach

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CLAIM_COLUMNS = {
    "id": "VARCHAR",
    "tenant": "VARCHAR",
    "project": "VARCHAR",
    "session": "VARCHAR",
    "text": "VARCHAR",
    "normalized_text": "VARCHAR",
    "kind": "VARCHAR",
    "scope": "VARCHAR",
    "boundary_class": "VARCHAR",
    "content_hash": "VARCHAR",
    "utility": "DOUBLE",
    "utility_at": "TIMESTAMP",
    "confidence": "DOUBLE",
    "quality": "DOUBLE",
    "quality_at": "TIMESTAMP",
    "created_at": "TIMESTAMP",
    "updated_at": "TIMESTAMP",
    "provenance": "JSON",
}
SECRET_TEXT = "[secret:claim]"  # noqa: S105 - a mark, not a secret
"""What is kept of a claim of class secret."""

_SELECT = """
    SELECT id, tenant, project, session, text, kind, scope, boundary_class, content_hash, utility, epoch(utility_at),
        confidence, quality, epoch(quality_at), epoch(created_at), epoch(updated_at), merged_into, provenance::TEXT
    FROM claims
"""


def indexed_text(text: str, boundary_class: str, redactor: Redactor) -> str:
    """What search sees of a claim. Personal data may be kept in the text, but is found by nobody."""
    return redactor.redact(text).text if boundary_class == "pii" else text


def read_claims(cursor: "DuckDBPyConnection", ids: Sequence[str], now: float, policy: Feedback) -> dict[str, Claim]:
    """Claims by id; those that are not there are left out."""
    found = select_claims(cursor, among("id"), [as_json(ids)], now, policy) if ids else []
    return {claim.id: claim for claim in found}


def select_claims(
    cursor: "DuckDBPyConnection", where: str, values: Sequence[Any], now: float, policy: Feedback
) -> list[Claim]:
    """Claims that a condition is true of, in the order that it ends with."""
    rows = cursor.execute(f"{_SELECT} WHERE {where}", list(values)).fetchall()
    entities = _entities(cursor, [row[0] for row in rows])
    return [_claim_of(row, entities.get(row[0], []), now, policy) for row in rows]


def _entities(cursor: "DuckDBPyConnection", ids: Sequence[str]) -> dict[str, list[Entity]]:
    """What claims are about. A query of its own: as part of the other it takes several times as long."""
    rows = cursor.execute(
        f"SELECT l.claim_id, e.name, e.type FROM claim_entities l JOIN entities e ON e.id = l.entity_id "
        f"WHERE {among('l.claim_id')} ORDER BY e.name",
        [as_json(ids)],
    ).fetchall()
    found: dict[str, list[Entity]] = {}
    for id_, name, type_ in rows:
        found.setdefault(id_, []).append(Entity(name, type_))
    return found


def _claim_of(row: Sequence[Any], entities: list[Entity], now: float, policy: Feedback) -> Claim:
    """A row of the table, its numbers faded to now."""
    utility = faded(row[9], (now - row[10]) / SECONDS_A_DAY, policy.utility_half_life_days)
    quality = row[12] and faded(row[12], (now - (row[13] or now)) / SECONDS_A_DAY, policy.quality_half_life_days)
    return Claim(
        **dict(zip(Claim.__struct_fields__[:9], row, strict=False)),
        utility=utility,
        confidence=row[11],
        quality=quality,
        created_at=written(row[14]),
        updated_at=None if row[15] is None else written(row[15]),
        merged_into=row[16],
        provenance=msgspec.json.decode(row[17] or "{}", type=Provenance),
        entities=entities,
    )


def claim_at(cursor: "DuckDBPyConnection", id_: str, reach: Reach, now: float, policy: Feedback) -> Claim:
    """One claim within reach; NotFoundError if it is not there, or not for this caller: the two look the same."""
    where, values = reach_sql(reach, merged=True)
    found = select_claims(cursor, f"{where} AND id = ?", [*values, id_], now, policy)
    if not found:
        raise NotFoundError(f"no claim '{id_}' here")
    return found[0]
