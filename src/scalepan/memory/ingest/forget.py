"""Forgetting: a claim leaves no trace in any table, nor in the index. Ids in events and requests go too."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.errors import NotFoundError
from scalepan.memory.recall.boundary import reach_to_change
from scalepan.memory.recall.candidates.side import Sides
from scalepan.memory.recall.saved import drop
from scalepan.memory.requests import FORGET, Forget, Forgotten
from scalepan.memory.state import memory_state
from scalepan.store.duckdb.reach import reach_sql
from scalepan.store.duckdb.rewrite import ask_for_rewrite
from scalepan.store.duckdb.values import among, as_json
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.own import AddEvent
from scalepan.store.reach import Reach
from scalepan.store.request import Who

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.store import Here

FORGOTTEN = "forgotten"
"""Stands in an event where the claim's id stood."""
# Where ids of claims may stand inside a text or JSON, and in which column.
_RECALLED = ("claims", "below_threshold")
"""Lists of ids in the event about a recall."""
_MENTIONS = {
    "events": "payload",
    "scores": "body",
    "decisions": "body",
    "labels": "body",
    "feedbacks": "body",
    # The answer stays, without the id: a call that is repeated must not bring back what was forgotten since then.
    "requests": "response",
}


class _Forget(msgspec.Struct, frozen=True):
    claims: list[str]
    within: Reach
    who: Who
    request_id: str


@changes(FORGET)
def forget(here: "Here", request: Forget) -> Forgotten:
    """Forget claims. Ids that are not there are passed over; if none is, that is an error."""
    rules = memory_state(here).rules(here, request)
    within = reach_to_change(request.who, "forget", rules.policy.boundary)
    # What is there is looked up by the writer: a call that is repeated after its owner died finds the claims gone.
    done: Forgotten = here.commit(ERASE, _Forget(request.claims, within, request.who, here.id))
    return done


ERASE = Operation("memory.erase", _Forget, Forgotten, alone=True, internal=True)


@commits(ERASE)
def erase(here: "Here", requests: Sequence[_Forget]) -> list[Forgotten]:
    """Take claims out of every table, and out of the index when that is committed.

    Alone in its transaction: what other writes of it answered is kept at its end, and would name the claims again.
    """
    connection = here.connection
    ids: list[str] = []
    answers = []
    for request in requests:
        found = _found(connection, request)
        erase_rows(connection, found)
        payload = {"forgotten": len(found)}
        here.events.add(
            [
                AddEvent(
                    "ingest", payload, request.who.tenant, request.request_id, request.who.trace_id, request.who.project
                )
            ]
        )
        answers.append(Forgotten(len(found)))
        ids += found

    def out_of_index() -> None:
        keep = memory_state(here)
        index = keep.built()
        if index is not None:
            index.remove(ids)
        keep.sides = Sides()  # after that: nobody copies them aside any more

    here.after_commit(out_of_index)
    ask_for_rewrite(connection)
    drop(here.path)  # before the commit: whoever dies between the two leaves no text behind
    return answers


def _found(connection: "DuckDBPyConnection", request: _Forget) -> list[str]:
    where, values = reach_sql(request.within, merged=True)
    found = connection.execute(
        f"SELECT id FROM claims WHERE {where} AND {among('id')}", [*values, as_json(request.claims)]
    ).fetchall()
    if not found:
        raise NotFoundError(
            f"no claim '{request.claims[0]}' here" if len(request.claims) == 1 else "none of them is here"
        )
    return [id_ for (id_,) in found]


def erase_rows(connection: "DuckDBPyConnection", ids: Sequence[str]) -> None:
    """Delete what is about these claims, and blot out their ids where they are only mentioned."""
    values = as_json(ids)
    # A duplicate says the same as what it was merged into, so it goes along.
    merged = [
        id_ for (id_,) in connection.execute(f"SELECT id FROM claims WHERE {among('merged_into')}", [values]).fetchall()
    ]
    if merged:
        erase_rows(connection, merged)
    connection.execute(
        "UPDATE active_contexts SET items = items - gone.number FROM (SELECT ac_id, count(*) AS number FROM "
        f"active_context_items WHERE {among('claim_id')} GROUP BY ac_id) AS gone WHERE gone.ac_id = active_contexts.id",
        [values],
    )
    for table, column in (
        ("claim_vectors", "claim_id"),
        ("claim_entities", "claim_id"),
        ("active_context_items", "claim_id"),
        ("feedbacks", "claim_id"),
        ("relations", "source_id"),
        ("relations", "target_id"),
        ("labels", "target_id"),
        ("scores", "subject"),
        ("claims", "id"),
    ):
        connection.execute(f"DELETE FROM {table} WHERE {among(column)}", [values])
    connection.execute(
        "DELETE FROM entities WHERE id NOT IN (SELECT entity_id FROM claim_entities) AND id NOT IN "
        "(SELECT source_id FROM relations UNION ALL SELECT target_id FROM relations)"
    )
    for id_ in ids:
        said, instead = _mention(id_)
        for table, column in _MENTIONS.items():
            connection.execute(
                f"UPDATE {table} SET {column} = replace({column}::TEXT, ?, ?) WHERE contains({column}::TEXT, ?)",
                [said, instead, said],
            )
        if said == id_:  # another may be a word that any input has, such as "rank"
            connection.execute("DELETE FROM scores WHERE contains(inputs::TEXT, ?)", [said])


def without_gone(connection: "DuckDBPyConnection", payloads: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is about to be kept about recalled claims, without the ids of those that were forgotten meanwhile."""
    named = sorted({id_ for payload in payloads for key in _RECALLED for id_ in payload.get(key, ())})
    there = there_of(connection, named)
    return [
        {
            key: [id_ if id_ in there else FORGOTTEN for id_ in value] if key in _RECALLED else value
            for key, value in payload.items()
        }
        for payload in payloads
    ]


def there_of(connection: "DuckDBPyConnection", ids: Sequence[str]) -> set[str]:
    """Which of these claims are there."""
    if not ids:
        return set()
    found = connection.execute(f"SELECT id FROM claims WHERE {among('id')}", [as_json(ids)]).fetchall()
    return {id_ for (id_,) in found}


def _mention(id_: str) -> tuple[str, str]:
    """How an id is found inside of texts, and what takes its place.

    One of ours stands out anywhere. One from another store may be as short as `7`, which is part of many a number, and
    is looked for only where it stands alone.
    """
    if id_.startswith("clm_"):
        return id_, FORGOTTEN
    return msgspec.json.encode(id_).decode(), f'"{FORGOTTEN}"'
