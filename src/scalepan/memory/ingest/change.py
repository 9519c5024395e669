"""Changing a claim: another text gives it another hash, other terms, another vector and a new time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from scalepan import clock
from scalepan.errors import BoundaryError, ConflictError, NotFoundError
from scalepan.memory.claim import Entity
from scalepan.memory.claims import claim_at, indexed_text
from scalepan.memory.ingest.add import (
    clean,
    redacted_claim,
    redacted_entity,
    redacted_provenance,
    replace_entities,
    write_vectors,
)
from scalepan.memory.recall.boundary import check_class, opened, reach_to_change
from scalepan.memory.recall.index import refresh
from scalepan.memory.requests import UPDATE, Update, Updated
from scalepan.memory.standing.votes import note_standing
from scalepan.memory.state import Rules, memory_state
from scalepan.store.duckdb.reach import reach_sql
from scalepan.store.duckdb.values import utc
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.own import AddEvent
from scalepan.store.reach import Reach
from scalepan.store.request import Who
from scalepan.text import content_hash, normal_form

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.embed import Embedder
    from scalepan.store import Here


class _Rewording(NamedTuple):
    """What follows from a claim's text and class: columns of the table, and a vector."""

    columns: dict[str, Any]
    vector: Any = None
    model: str | None = None


class _Changes(msgspec.Struct, frozen=True):
    """Checked changes for the writer. It stays in the owner, so what is to be called goes along."""

    claim: str
    within: Reach
    columns: dict[str, Any]
    entities: list[Entity] | None
    text: str | None
    """A new text."""
    boundary_class: str | None
    """A new class."""
    read: tuple[str, str] | None
    """Text and class that `reworded` was made from; None if neither changes."""
    reworded: Any
    reword: Any
    """Makes a _Rewording of text and class: the writer's way out if they are not what was read."""
    who: Who
    request_id: str


@changes(UPDATE)
def update(here: "Here", request: Update) -> Updated:
    """Change a claim. What follows from its text is made beside the writer, and again in it if that text is gone."""
    keep = memory_state(here)
    rules = keep.rules(here, request)
    feedback = rules.policy.retrieval.feedback
    # Whoever may write a claim may change it, whatever its class; reading it back is another matter.
    within = reach_to_change(request.who, "update", rules.policy.boundary)
    now = clock.time()
    old = claim_at(here.connection, request.claim, within, now, feedback)
    check_class(request.who, request.boundary_class or old.boundary_class)
    columns = {name: value for name in ("kind", "confidence") if (value := getattr(request, name)) is not None}
    if request.quality is not None:
        columns |= {"quality": request.quality, "quality_at": utc(now)}
    if request.provenance is not None:
        provenance = redacted_provenance(request.provenance.checked(), rules.redactor)
        columns["provenance"] = msgspec.json.encode(provenance).decode()
    entities = request.entities
    if entities is not None:
        entities = [redacted_entity(entity, rules.redactor) for entity in entities]

    rewords = request.text is not None or request.boundary_class is not None
    encoder = keep.encoder(here, rules.policy) if rewords else None

    def reword(text: str, boundary_class: str) -> _Rewording:
        return _reworded(request.claim, text, boundary_class, rules, encoder)

    changes_text = request.text is not None or (request.boundary_class or old.boundary_class) != old.boundary_class
    wanted = (request.text or old.text, request.boundary_class or old.boundary_class)
    changes = _Changes(
        request.claim,
        within,
        columns,
        entities,
        request.text,
        request.boundary_class,
        wanted if changes_text else None,
        reword(*wanted) if changes_text else None,
        reword,
        request.who,
        here.id,
    )
    here.commit(CHANGE, changes)
    changed = claim_at(here.connection, request.claim, within, now, feedback)
    return Updated(redacted_claim(changed, rules.redactor))


def _reworded(id_: str, said: str, boundary_class: str, rules: Rules, encoder: "Embedder | None") -> _Rewording:
    text, boundary_class, _ = clean(said, boundary_class, rules)
    searched = indexed_text(text, boundary_class, rules.redactor)
    columns = {
        "boundary_class": boundary_class,
        "text": text,
        "normalized_text": normal_form(searched),
        "content_hash": content_hash(id_ if boundary_class == "secret" else text),
    }
    if encoder is None:
        return _Rewording(columns)
    return _Rewording(columns, encoder.encode([searched]), encoder.model_id)


class Done(msgspec.Struct, frozen=True):
    """It is done."""


CHANGE = Operation("memory.change", _Changes, Done, internal=True)


@commits(CHANGE)
def change(here: "Here", requests: Sequence[_Changes]) -> list[Done]:
    """Write changes, one claim after the other, each on what the claim is by then."""
    for request in requests:
        _change(here, request)
    ids = [request.claim for request in requests]

    def into_index() -> None:
        index = memory_state(here).built()
        if index is not None:
            refresh(here.connection, index, ids)

    here.after_commit(into_index)
    return [Done()] * len(requests)


def _change(here: "Here", request: _Changes) -> None:
    connection, tenant = here.connection, request.who.tenant
    old_text, old_class = _now(connection, request)
    wanted = (request.text or old_text, request.boundary_class or old_class)
    check_class(request.who, wanted[1])
    reworded = None
    if request.text is not None or wanted[1] != old_class:
        reworded = request.reworded if request.read == wanted else request.reword(*wanted)
    columns = {**request.columns, **(reworded.columns if reworded is not None else {})}
    if reworded is not None:
        _check_unique(here, request, reworded.columns["content_hash"])
        if reworded.columns["text"] != old_text:
            columns["updated_at"] = utc(clock.time())
    if "confidence" in columns:
        note_standing(here, request.claim, tenant, columns["confidence"])
    if columns:
        assigned = ", ".join(f"{name} = ?" for name in columns)
        connection.execute(f"UPDATE claims SET {assigned} WHERE id = ?", [*columns.values(), request.claim])
    if request.entities is not None:
        replace_entities(connection, request.claim, tenant, request.entities)
    if reworded is not None:
        connection.execute("DELETE FROM claim_vectors WHERE claim_id = ?", [request.claim])
        if reworded.vector is not None:
            write_vectors(here, [request.claim], reworded.vector, reworded.model or "")
    _check_still_in_reach(connection, request)
    payload = {"changed": request.claim, "fields": sorted(columns)}
    here.events.add(
        [AddEvent("ingest", payload, tenant, request.request_id, request.who.trace_id, request.who.project)]
    )


def _now(connection: "DuckDBPyConnection", request: _Changes) -> tuple[str, str]:
    """Text and class of the claim as it is in this transaction; NotFoundError if it is gone, or shut since then."""
    where, values = reach_sql(request.within, merged=True)
    row = connection.execute(
        f"SELECT text, boundary_class FROM claims WHERE {where} AND id = ?", [*values, request.claim]
    ).fetchone()
    if row is None:
        raise NotFoundError(f"no claim '{request.claim}' here")
    return row[0], row[1]


def _check_still_in_reach(connection: "DuckDBPyConnection", request: _Changes) -> None:
    """What a claim has become must meet the invariants too, or adding and then changing would get around them."""
    try:
        _now(connection, request)
    except NotFoundError:
        raise BoundaryError(f"an invariant of the policy forbids what claim '{request.claim}' would become") from None


def _check_unique(here: "Here", request: _Changes, content: str) -> None:
    """A content is kept once. What the caller's token shuts does not count: a refusal would tell that it is there."""
    classes = opened(request.who)
    other = here.connection.execute(
        "SELECT o.id FROM claims c JOIN claims o ON o.tenant = c.tenant AND o.project IS NOT DISTINCT FROM c.project "
        "AND o.scope = c.scope AND o.session IS NOT DISTINCT FROM c.session "
        "WHERE c.id = ? AND o.id <> c.id AND o.content_hash = ? AND o.merged_into IS NULL "
        f"AND o.boundary_class IN ({', '.join('?' * len(classes))})",
        [request.claim, content, *classes],
    ).fetchone()
    if other:
        raise ConflictError(
            f"claim '{other[0]}' has this text already; vote '{request.claim}' a duplicate of it instead"
        )
