"""Rows about claims that are gone: found by `scalepan doctor`, removed by `scalepan memory rescan`.

Nothing that this version writes leaves any. A store that was damaged, edited by hand or written by an older version may
have some, and what is left of a forgotten claim is still a trace of it.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from scalepan.memory.ingest.forget import FORGOTTEN
from scalepan.memory.recall.boundary import check_whole
from scalepan.memory.recall.index import refresh
from scalepan.memory.recall.saved import drop
from scalepan.memory.requests import ORPHANS, SWEEP, Orphans, Sweep
from scalepan.memory.state import memory_state
from scalepan.store.duckdb.rewrite import ask_for_rewrite
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.own import AddEvent, Nothing
from scalepan.store.request import Who

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.store import Here

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
    "entities": "id NOT IN (SELECT entity_id FROM claim_entities) AND id NOT IN "
    "(SELECT source_id FROM relations UNION ALL SELECT target_id FROM relations)",
}
# Where ids of our own making may be mentioned inside a text.
_MENTIONS = {"events": "payload", "requests": "response"}
_ID = "clm_[0-9a-f]{20}"


@changes(ORPHANS)
def orphans(here: "Here", _: Nothing) -> Orphans:
    """Count them, in all tenants."""
    connection = here.connection
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        found = {table: _count(connection, table) for table in _ROWS} | {
            table: len({rowid for rowid, _ in _mentions(connection, table)}) for table in _MENTIONS
        }
    finally:
        connection.execute("ROLLBACK")
    found["index"] = here.commit(COUNT_INDEX, Nothing()).rows.get("index", 0)
    return Orphans({table: count for table, count in found.items() if count})


def _count(connection: "DuckDBPyConnection", table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table} WHERE {_ROWS[table]}").fetchone()
    return int(row[0]) if row else 0


def _mentions(connection: "DuckDBPyConnection", table: str) -> Iterator[tuple[int, str]]:
    """Rows that mention a claim that is gone, by number, each with the id."""
    yield from connection.execute(
        f"SELECT place, id FROM (SELECT rowid AS place, unnest(regexp_extract_all({_MENTIONS[table]}::TEXT, '{_ID}')) "
        f"AS id FROM {table}) WHERE {_NO_CLAIM.format('id')}"
    ).fetchall()


COUNT_INDEX = Operation("memory.count_index", Nothing, Orphans, internal=True)


@commits(COUNT_INDEX)
def count_index(here: "Here", requests: Sequence[Nothing]) -> list[Orphans]:
    """The same in the index, between two writes: it follows each of them."""
    return [Orphans({"index": len(_astray(here))})] * len(requests)


def _astray(here: "Here") -> set[str]:
    """Claims that are in the index and not in the table, or the other way around."""
    index = memory_state(here).built()
    if index is None:
        return set()
    rows = here.connection.execute("SELECT id FROM claims WHERE merged_into IS NULL").fetchall()
    with index.lock:
        return index.shelf.row_of.keys() ^ {id_ for (id_,) in rows}


class _Sweep(msgspec.Struct, frozen=True):
    who: Who
    request_id: str


@changes(SWEEP)
def sweep(here: "Here", request: Sweep) -> Orphans:
    """Remove them, in all tenants: they are nobody's."""
    rules = memory_state(here).rules(here, request)
    check_whole(request.who, "rescan", rules.policy.boundary)
    done: Orphans = here.commit(REMOVE_ORPHANS, _Sweep(request.who, here.id))
    return done


REMOVE_ORPHANS = Operation("memory.remove_orphans", _Sweep, Orphans, alone=True, internal=True)


@commits(REMOVE_ORPHANS)
def remove_orphans(here: "Here", requests: Sequence[_Sweep]) -> list[Orphans]:
    """The removal itself. It shares its transaction with nobody, so that it sees every response that is kept."""
    (request,) = requests
    connection = here.connection
    removed: dict[str, int] = {}
    for table, condition in _ROWS.items():
        removed[table] = _count(connection, table)
        if removed[table]:
            connection.execute(f"DELETE FROM {table} WHERE {condition}")
    for table in _MENTIONS:
        removed[table] = _blot(connection, table)
    astray = sorted(_astray(here))
    found = {table: count for table, count in {**removed, "index": len(astray)}.items() if count}
    if found:
        here.events.add(
            [
                AddEvent(
                    "ingest",
                    {"orphans": found},
                    request.who.tenant,
                    request.request_id,
                    request.who.trace_id,
                    request.who.project,
                )
            ]
        )
        ask_for_rewrite(connection)
        drop(here.path)  # before the commit, as in forgetting
        here.after_commit(lambda: _follow(here, astray))
    return [Orphans(found)]


def _blot(connection: "DuckDBPyConnection", table: str) -> int:
    """Take ids out of the texts that mention them; how many texts."""
    by_row: dict[int, set[str]] = {}
    for place, id_ in _mentions(connection, table):
        by_row.setdefault(place, set()).add(id_)
    for place, gone in by_row.items():
        for id_ in sorted(gone):
            connection.execute(
                f"UPDATE {table} SET {_MENTIONS[table]} = replace({_MENTIONS[table]}::TEXT, ?, ?) WHERE rowid = ?",
                [id_, FORGOTTEN, place],
            )
    return len(by_row)


def _follow(here: "Here", astray: Sequence[str]) -> None:
    index = memory_state(here).built()
    if index is not None and astray:
        refresh(here.connection, index, astray)
