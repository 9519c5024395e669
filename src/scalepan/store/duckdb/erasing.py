"""Erasing claims: out of every table, and their ids out of the texts that mention them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from scalepan.store.duckdb.rewrite import ask_for_rewrite
from scalepan.store.duckdb.values import among, as_json, column_of
from scalepan.store.ids import FORGOTTEN

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

UNUSED_ENTITY = (
    "id NOT IN (SELECT entity_id FROM claim_entities) AND id NOT IN "
    "(SELECT source_id FROM relations UNION ALL SELECT target_id FROM relations)"
)
_ABOUT = (
    ("claim_vectors", "claim_id"),
    ("claim_entities", "claim_id"),
    ("active_context_items", "claim_id"),
    ("feedbacks", "claim_id"),
    ("relations", "source_id"),
    ("relations", "target_id"),
    ("labels", "target_id"),
    ("scores", "subject"),
    ("claims", "id"),
)
# Where ids of claims may stand inside a text or JSON, and in which column.
_MENTIONS = {
    "events": "payload",
    "scores": "body",
    "decisions": "body",
    "labels": "body",
    "feedbacks": "body",
    # The answer stays, without the id: a call that is repeated must not bring back what was forgotten since then.
    "requests": "response",
}


def erase(connection: "DuckDBPyConnection", ids: Sequence[str]) -> list[str]:
    """Delete what is about these claims, and replace their ids where they are only mentioned.

    The claims that replaced them, whose ids come back, replace from now on what those had replaced.
    """
    values = [as_json(ids)]
    # A duplicate says the same as what it was merged into, so it goes along.
    merged = column_of(connection, f"SELECT id FROM claims WHERE {among('merged_into')}", values)
    replacing = erase(connection, merged) if merged else []
    replacing += _pass_on(connection, ids)
    connection.execute(
        "UPDATE active_contexts SET items = items - gone.number FROM (SELECT ac_id, count(*) AS number FROM "
        f"active_context_items WHERE {among('claim_id')} GROUP BY ac_id) AS gone WHERE gone.ac_id = active_contexts.id",
        values,
    )
    for table, column in _ABOUT:
        connection.execute(f"DELETE FROM {table} WHERE {among(column)}", values)
    connection.execute(f"DELETE FROM entities WHERE {UNUSED_ENTITY}")
    for id_ in ids:
        said, instead = _mention(id_)
        for table, column in _MENTIONS.items():
            connection.execute(
                f"UPDATE {table} SET {column} = replace({column}::TEXT, ?, ?) WHERE contains({column}::TEXT, ?)",
                [said, instead, said],
            )
        if said == id_:  # another may be a word that any input has, such as "rank"
            connection.execute("DELETE FROM scores WHERE contains(inputs::TEXT, ?)", [said])
    ask_for_rewrite(connection)
    return [id_ for id_ in replacing if id_ not in ids]


def _pass_on(connection: "DuckDBPyConnection", ids: Sequence[str]) -> list[str]:
    """A chain that loses a link is joined: without it, what was replaced long ago would be current again."""
    named = connection.execute(
        f"SELECT id, supersedes FROM claims WHERE {among('id')} OR {among('supersedes')}", [as_json(ids)] * 2
    ).fetchall()
    older, gone = dict(named), set(ids)
    replacing = []
    for id_, target in named:
        if id_ in gone or target not in gone:
            continue
        seen: set[str] = set()
        while target in gone and target not in seen:  # a chain that was bent into a ring by hand ends too
            seen.add(target)
            target = older.get(target)
        target = None if target in gone else target
        connection.execute("UPDATE claims SET supersedes = ? WHERE id = ?", [target, id_])
        replacing.append(id_)
    return replacing


def _mention(id_: str) -> tuple[str, str]:
    """How an id is found inside of texts, and what takes its place.

    One of ours stands out anywhere. One from another store may be as short as `7`, which is part of many a number, and
    is looked for only where it stands alone.
    """
    if id_.startswith("clm_"):
        return id_, FORGOTTEN
    return msgspec.json.encode(id_).decode(), f'"{FORGOTTEN}"'
