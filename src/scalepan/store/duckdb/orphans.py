"""Rows about claims that are gone. Nothing that this version writes leaves any."""

from typing import TYPE_CHECKING

from scalepan.store.duckdb.erasing import UNUSED_ENTITY
from scalepan.store.duckdb.rewrite import ask_for_rewrite
from scalepan.store.ids import FORGOTTEN

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_NO_CLAIM = "{} NOT IN (SELECT id FROM claims)"
_NO_END = "{0} NOT IN (SELECT id FROM claims) AND {0} NOT IN (SELECT id FROM entities)"
# In this order, so that an entity that only an orphan mentions goes along.
_ROWS = {
    "claim_vectors": _NO_CLAIM.format("claim_id"),
    "claim_entities": f"{_NO_CLAIM.format('claim_id')} OR entity_id NOT IN (SELECT id FROM entities)",
    "active_context_items": _NO_CLAIM.format("claim_id"),
    "feedbacks": _NO_CLAIM.format("claim_id"),
    "relations": f"{_NO_END.format('source_id')} OR {_NO_END.format('target_id')}",
    "scores": f"name = 'score_final' AND {_NO_CLAIM.format('subject')}",
    "labels": f"starts_with(target_id, 'clm_') AND {_NO_CLAIM.format('target_id')}",
    "entities": UNUSED_ENTITY,
}
# Where ids of our own making may be mentioned inside a text.
_MENTIONS = {"events": "payload", "requests": "response"}
_REPLACES_NONE = f"supersedes IS NOT NULL AND {_NO_CLAIM.format('supersedes')}"
_ID = "clm_[0-9a-f]{20}"


class Orphans:
    """What is left of claims that are gone, in all tables and of all tenants."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def count(self) -> dict[str, int]:
        """How many rows there are, by table."""
        rows = {table: self._count(table, condition) for table, condition in _ROWS.items()}
        rows["claims"] = self._count("claims", _REPLACES_NONE)
        return rows | {table: len(self._mentions(table)) for table in _MENTIONS}

    def remove(self) -> dict[str, int]:
        """Delete the rows, and replace ids that are only mentioned; how many, by table."""
        removed = {}
        for table, condition in _ROWS.items():
            removed[table] = self._count(table, condition)
            if removed[table]:
                self._connection.execute(f"DELETE FROM {table} WHERE {condition}")
        removed["claims"] = self._count("claims", _REPLACES_NONE)
        if removed["claims"]:  # they stay, and replace nothing
            self._connection.execute(f"UPDATE claims SET supersedes = NULL WHERE {_REPLACES_NONE}")
        removed |= {table: self._replace_mentions(table) for table in _MENTIONS}
        if any(removed.values()):
            ask_for_rewrite(self._connection)
        return removed

    def _count(self, table: str, condition: str) -> int:
        row = self._connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone()
        return int(row[0]) if row else 0

    def _mentions(self, table: str) -> dict[int, set[str]]:
        """By row number, the ids of claims that are gone."""
        found: dict[int, set[str]] = {}
        rows = self._connection.execute(
            f"SELECT place, id FROM (SELECT rowid AS place, unnest(regexp_extract_all({_MENTIONS[table]}::TEXT, "
            f"'{_ID}')) AS id FROM {table}) WHERE {_NO_CLAIM.format('id')}"
        ).fetchall()
        for place, id_ in rows:
            found.setdefault(place, set()).add(id_)
        return found

    def _replace_mentions(self, table: str) -> int:
        """How many texts mentioned one."""
        found = self._mentions(table)
        column = _MENTIONS[table]
        for place, gone in found.items():
            for id_ in sorted(gone):
                self._connection.execute(
                    f"UPDATE {table} SET {column} = replace({column}::TEXT, ?, ?) WHERE rowid = ?",
                    [id_, FORGOTTEN, place],
                )
        return len(found)
