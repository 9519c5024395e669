"""Going over what is kept: after a redaction rule changed, or when there is an encoder, or another one."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from scalepan import clock
from scalepan.errors import InputError
from scalepan.memory.claim import Claim, Entity
from scalepan.memory.claims import indexed_text, read_claims, select_claims
from scalepan.memory.ingest.add import (
    clean,
    redacted_entity,
    redacted_provenance,
    replace_entities,
    vector_columns,
    write_vectors,
)
from scalepan.memory.ingest.change import Done
from scalepan.memory.recall.boundary import check_whole
from scalepan.memory.recall.index import refresh
from scalepan.memory.recall.saved import drop
from scalepan.memory.requests import BACKFILL, RESCAN, Backfill, Backfilled, Rescan, Rescanned
from scalepan.memory.state import MODEL_KEY, Rules, memory_state
from scalepan.store.duckdb.rewrite import ask_for_rewrite
from scalepan.store.duckdb.values import among, as_json
from scalepan.store.duckdb.wire import GoneError
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.own import AddEvent
from scalepan.store.request import Who
from scalepan.text import content_hash, normal_form

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.embed import Embedder
    from scalepan.store import Here

BATCH = 64


class _Rewritten(msgspec.Struct, frozen=True):
    """A claim as it must be from now on, and as it was."""

    id: str
    before: Claim
    columns: dict[str, Any]
    entities: list[Entity]


class _Rewrite(msgspec.Struct, frozen=True):
    """Claims to write over; `rules` make those again that changed after they were read."""

    claims: list[_Rewritten]
    rules: Rules
    who: Who
    request_id: str


@changes(RESCAN)
def rescan(here: "Here", request: Rescan) -> Rescanned:
    """Redact a page again. What is cut from a text is cut from its hash, its terms and its vector."""
    rules = memory_state(here).rules(here, request)
    check_whole(request.who, "rescan", rules.policy.boundary)
    found = select_claims(
        here.connection,
        f"tenant = ? AND id > ? ORDER BY id LIMIT {request.limit:d}",
        [request.who.tenant, request.after or ""],
        clock.time(),
        rules.policy.retrieval.feedback,
    )
    changed = [new for claim in found if (new := _looked_at(claim, rules)) is not None]
    if changed:
        here.commit(REWRITE, _Rewrite(changed, rules, request.who, here.id))
    last = found[-1].id if len(found) == request.limit else None
    return Rescanned(len(found), len(changed), last)


def _looked_at(claim: Claim, rules: Rules) -> _Rewritten | None:
    """The claim under today's rules; None if they find nothing to cut."""
    text, boundary_class, _ = clean(claim.text, claim.boundary_class, rules)
    provenance = redacted_provenance(claim.provenance, rules.redactor)
    entities = [redacted_entity(entity, rules.redactor) for entity in claim.entities]
    if (text, boundary_class, provenance, entities) == _said(claim):
        return None
    columns = {
        "text": text,
        "boundary_class": boundary_class,
        "normalized_text": normal_form(indexed_text(text, boundary_class, rules.redactor)),
        "content_hash": content_hash(claim.id if boundary_class == "secret" else text),
        "provenance": msgspec.json.encode(provenance).decode(),
    }
    return _Rewritten(claim.id, claim, columns, entities)


def _said(claim: Claim) -> tuple[Any, ...]:
    """What a rescan looks at."""
    return claim.text, claim.boundary_class, claim.provenance, claim.entities


def _still(connection: "DuckDBPyConnection", request: _Rewrite) -> list[_Rewritten]:
    """What is to be written of a page that was read outside of this transaction: claims that are there, as they are."""
    now = read_claims(
        connection, [new.id for new in request.claims], clock.time(), request.rules.policy.retrieval.feedback
    )
    there = [(new, now[new.id]) for new in request.claims if new.id in now]
    again = [new if _said(new.before) == _said(claim) else _looked_at(claim, request.rules) for new, claim in there]
    return [new for new in again if new is not None]


REWRITE = Operation("memory.rewrite", _Rewrite, Done, internal=True)


@commits(REWRITE)
def rewrite(here: "Here", requests: Sequence[_Rewrite]) -> list[Done]:
    """Write redacted claims over what was kept. Their vectors go; they are made again from what is left."""
    connection = here.connection
    ids = []
    for request in requests:
        still = _still(connection, request)
        for claim in still:
            assigned = ", ".join(f"{name} = ?" for name in claim.columns)
            connection.execute(f"UPDATE claims SET {assigned} WHERE id = ?", [*claim.columns.values(), claim.id])
            connection.execute("DELETE FROM claim_vectors WHERE claim_id = ?", [claim.id])
            replace_entities(connection, claim.id, request.who.tenant, claim.entities)
            ids.append(claim.id)
        payload = {"rescanned": [claim.id for claim in still]}
        event = AddEvent(
            "ingest", payload, request.who.tenant, request.request_id, request.who.trace_id, request.who.project
        )
        here.events.add([event])
    ask_for_rewrite(connection)

    def into_index() -> None:
        index = memory_state(here).built()
        if index is not None:
            refresh(connection, index, ids)

    here.after_commit(into_index)
    drop(here.path)  # before the commit, as in forgetting
    return [Done()] * len(requests)


@changes(BACKFILL)
def backfill(here: "Here", request: Backfill) -> Backfilled:
    """Embed a batch of claims that have no vector, of all tenants: the store has one model."""
    keep = memory_state(here)
    rules = keep.rules(here, request)
    check_whole(request.who, "rescan", rules.policy.boundary)
    encoder = keep.named_encoder(rules.policy)
    if encoder is None:
        raise InputError("no encoder found; 'scalepan doctor' shows how to add one")
    if request.anew:
        # Asked for each time, so that a call that is repeated makes the same writes in the same order.
        here.commit(RESET_VECTORS, _Reset(encoder.model_id, encoder.dimensions))
    keep.encoder(here, rules.policy)
    done = embed_some(here, encoder, rules, request.limit)
    return Backfilled(done, _without_vector(here))


def embed_some(here: "Here", encoder: "Embedder", rules: Rules, limit: int) -> int:
    """Give up to `limit` claims their vectors; how many."""
    rows = here.connection.execute(
        "SELECT id, text, boundary_class FROM claims WHERE id NOT IN (SELECT claim_id FROM claim_vectors) "
        f"ORDER BY rowid LIMIT {limit:d}"
    ).fetchall()
    if rows:
        vectors = encoder.encode([indexed_text(text, class_, rules.redactor) for _, text, class_ in rows])
        made_of = {id_: (text, class_) for id_, text, class_ in rows}
        here.commit(KEEP_VECTORS, _Vectors(made_of, vectors, encoder.model_id))
    return len(rows)


def backfill_aside(here: "Here", encoder: "Embedder", rules: Rules) -> None:
    """Embed whatever has no vector, beside the calls, until all is done or the owner goes."""

    def work(aside: "Here") -> None:
        try:
            while not aside.closing and embed_some(aside, encoder, rules, BATCH):
                pass
        except GoneError:
            pass

    here.aside("memory.backfill", work)


def _without_vector(here: "Here") -> int:
    row = here.connection.execute(
        "SELECT count(*) FROM claims WHERE id NOT IN (SELECT claim_id FROM claim_vectors)"
    ).fetchone()
    return int(row[0]) if row else 0


class _Vectors(msgspec.Struct, frozen=True):
    """Vectors, with the texts that they were made of, and the classes: of personal data less is embedded."""

    made_of: dict[str, tuple[str, str]]
    vectors: Any
    model: str


KEEP_VECTORS = Operation("memory.keep_vectors", _Vectors, Done, internal=True)


@commits(KEEP_VECTORS)
def keep_vectors(here: "Here", requests: Sequence[_Vectors]) -> list[Done]:
    """Write vectors of claims that have none and whose text and class are still those that were embedded."""
    connection = here.connection
    for request in requests:
        rows = connection.execute(
            f"SELECT id, text, boundary_class FROM claims WHERE {among('id')} "
            "AND id NOT IN (SELECT claim_id FROM claim_vectors)",
            [as_json(list(request.made_of))],
        ).fetchall()
        now = {id_: (text, class_) for id_, text, class_ in rows}
        fits = [i for i, (id_, made_of) in enumerate(request.made_of.items()) if now.get(id_) == made_of]
        if not fits:
            continue
        every = list(request.made_of)
        ids = [every[i] for i in fits]
        vectors = np.asarray(request.vectors)[fits]
        write_vectors(here, ids, vectors, request.model)
        here.after_commit(partial(_into_index, here, ids, vectors))
    return [Done()] * len(requests)


def _into_index(here: "Here", ids: Sequence[str], vectors: Any) -> None:
    index = memory_state(here).built()
    if index is not None:
        index.put_vectors(ids, vectors)


class _Reset(msgspec.Struct, frozen=True):
    model: str
    width: int


RESET_VECTORS = Operation("memory.reset_vectors", _Reset, Done, internal=True)


def _is_another(connection: "DuckDBPyConnection", model: str) -> bool:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", [MODEL_KEY]).fetchone()
    return row is not None and row[0] != model


@commits(RESET_VECTORS)
def reset_vectors(here: "Here", requests: Sequence[_Reset]) -> list[Done]:
    """Drop all vectors that are by another model, and name this one; they come back by backfilling."""
    connection = here.connection
    dropped = False
    for request in requests:
        if _is_another(connection, request.model):
            connection.execute(f"CREATE OR REPLACE TABLE claim_vectors {vector_columns(request.width)}")
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", [request.model, MODEL_KEY])
            dropped = True

    def forget_old() -> None:
        keep = memory_state(here)
        keep.forget_model()
        index = keep.built()
        if index is not None:
            index.drop_vectors()

    if dropped:
        here.after_commit(forget_old)
    return [Done()] * len(requests)
