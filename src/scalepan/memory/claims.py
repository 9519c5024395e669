"""Claims in the table: how they are written, found by id, and read back."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.errors import NotFoundError
from scalepan.memory.claim import SECONDS_A_DAY, Claim, Entity, Provenance, faded, written
from scalepan.memory.recall.boundary import Reach
from scalepan.memory.recall.claim_rules import rules_sql
from scalepan.policy.boundary import CLASSES
from scalepan.policy.retrieval import Feedback
from scalepan.redact import Redactor

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


def utc(seconds: float) -> datetime:
    """As the store keeps times."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def among(column: str) -> str:
    """The condition that a column is one of many texts, which are bound as one value: see `as_json`."""
    return f"{column} IN (SELECT unnest(from_json_strict(?, '[\"VARCHAR\"]')))"


def as_json(values: Sequence[str]) -> str:
    """Texts as one bound value: DuckDB takes 0.2 ms for each."""
    return msgspec.json.encode(list(values)).decode()


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


def reach_sql(reach: Reach, *, merged: bool = False) -> tuple[str, list[Any]]:
    """The reach as a condition, and the values that it binds. Merged claims only if asked for.

    One that was merged into a claim of a class that is shut is out of reach too: it would tell of the other.
    """
    here = "project IS NOT DISTINCT FROM ?"
    scopes: list[str] = []
    values: list[Any] = [reach.tenant, *reach.classes]
    if "session" in reach.scopes and reach.session is not None:
        scopes.append(f"scope = 'session' AND {here} AND session = ?")
        values += [reach.project, reach.session]
    if "project" in reach.scopes:
        scopes.append(f"scope = 'project' AND {here}")
        values.append(reach.project)
    if "principle" in reach.scopes:
        scopes.append(f"scope = 'principle' AND ({here} OR project IS NULL)")
        values.append(reach.project)
    classes = ", ".join("?" * len(reach.classes))
    conditions = [
        "tenant = ?",
        f"boundary_class IN ({classes})" if classes else "false",
        f"({' OR '.join(scopes)})" if scopes else "false",
    ]
    if not merged:
        conditions.append("merged_into IS NULL")
    elif len(reach.classes) < len(CLASSES):
        into = f"SELECT m.id FROM claims m WHERE m.boundary_class IN ({classes})" if classes else "NULL"
        conditions.append(f"(merged_into IS NULL OR merged_into IN ({into}))")
        values += reach.classes
    rules, bound = rules_sql(reach.rules, reach.moment)
    return " AND ".join([*conditions, *rules]), [*values, *bound]
