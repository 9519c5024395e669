"""Going over what is kept: after a redaction rule changed, or when there is an encoder, or another one."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from scalepan.errors import ConflictError, InputError
from scalepan.memory.claim import Claim, Entity, claim_of
from scalepan.memory.ingest.add import entity_names
from scalepan.memory.ingest.change import MOST_TRIES
from scalepan.memory.recall.boundary import check_whole
from scalepan.memory.recall.index import indexed_text, spoken
from scalepan.memory.recall.saved import drop
from scalepan.memory.redaction import clean, redacted_entity, redacted_field, redacted_provenance
from scalepan.memory.requests import BACKFILL, RESCAN, Backfill, Backfilled, Rescan, Rescanned
from scalepan.memory.state import Rules, memory_state
from scalepan.store.duckdb.wire import GoneError
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.own import AddEvent
from scalepan.store.request import Who
from scalepan.store.rows import ClaimRow
from scalepan.text import content_hash, normal_form

if TYPE_CHECKING:
    from scalepan.embed import Embedder
    from scalepan.store import Here

BATCH = 64


class _Rewritten(msgspec.Struct, frozen=True):
    """A claim as it must be from now on, and which state of it that was made from."""

    id: str
    generation: int
    columns: dict[str, Any]
    entities: list[Entity]


class _Rewrite(msgspec.Struct, frozen=True):
    """Claims to write over."""

    claims: list[_Rewritten]
    who: Who
    request_id: str


class Overtaken(msgspec.Struct, frozen=True):
    """Claims that were not written over: they are not what was looked at any more."""

    claims: list[str]


@changes(RESCAN)
def rescan(here: "Here", request: Rescan) -> Rescanned:
    """Redact a page again. What is cut from a text is cut from its hash, its terms and its vector."""
    rules = memory_state(here).rules(here, request)
    check_whole(request.who, "rescan", rules.policy.boundary)
    page = here.claims.of_tenant(request.who.tenant, after=request.after, limit=request.limit)
    changed, rows = 0, page
    for _ in range(MOST_TRIES):
        rewritten = _to_rewrite(here, rows, rules)
        if not rewritten:
            break
        overtaken = here.commit(REWRITE, _Rewrite(rewritten, request.who, here.id)).claims
        changed += len(rewritten) - len(overtaken)
        if not overtaken:
            break
        rows = list(here.claims.by_ids(overtaken).values())
    else:
        raise ConflictError(f"claims were changed {MOST_TRIES} times while they were being rescanned; try again")
    return Rescanned(len(page), changed, page[-1].id if len(page) == request.limit else None)


def _to_rewrite(here: "Here", rows: Sequence[ClaimRow], rules: Rules) -> list[_Rewritten]:
    """Claims under today's rules; those in which they find nothing to cut are left out."""
    entities = here.entities.of(row.id for row in rows)
    found = [_looked_at(row, claim_of(row, entities.get(row.id, ())), rules) for row in rows]
    return [one for one in found if one is not None]


def _looked_at(row: ClaimRow, claim: Claim, rules: Rules) -> _Rewritten | None:
    text, boundary_class, _ = clean(claim.text, claim.boundary_class, rules)
    provenance = redacted_provenance(claim.provenance, rules.redactor)
    entities = [redacted_entity(entity, rules.redactor) for entity in claim.entities]
    speaker = redacted_field("speaker", claim.speaker, rules.redactor)
    if (text, boundary_class, provenance, entities, speaker) == (
        claim.text,
        claim.boundary_class,
        claim.provenance,
        claim.entities,
        claim.speaker,
    ):
        return None
    columns = {
        "text": text,
        "boundary_class": boundary_class,
        "normalized_text": normal_form(indexed_text(text, boundary_class, rules.redactor)),
        "content_hash": content_hash(claim.id if boundary_class == "secret" else text),
        "provenance": msgspec.json.encode(provenance).decode(),
        "speaker": speaker,
    }
    return _Rewritten(claim.id, row.generation, columns, entities)


REWRITE = Operation("memory.rewrite", _Rewrite, Overtaken, internal=True)


@commits(REWRITE)
def rewrite(here: "Here", requests: Sequence[_Rewrite]) -> list[Overtaken]:
    """Write redacted claims over what was kept. Their vectors go; they are made again from what is left."""
    written: list[str] = []
    answers = []
    for request in requests:
        there = here.claims.by_ids(new.id for new in request.claims)
        fits = [new for new in request.claims if new.id in there and there[new.id].generation == new.generation]
        for new in fits:
            here.claims.update(new.id, **new.columns)
            here.vectors.clear(new.id)
            here.entities.replace(new.id, entity_names(there[new.id], new.entities))
        ids = [new.id for new in fits]
        event = AddEvent(
            "ingest",
            {"rescanned": ids},
            request.who.tenant,
            request.request_id,
            request.who.trace_id,
            request.who.project,
        )
        here.events.add([event])
        written += ids
        answers.append(Overtaken([id_ for id_ in there if id_ not in set(ids)]))
    here.rewrite_at_close()
    drop(here.path)  # before the commit, as in forgetting
    here.after_commit(lambda: memory_state(here).follow(here, written))
    return answers


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
    return Backfilled(done, here.vectors.missing_count())


def embed_some(here: "Here", encoder: "Embedder", rules: Rules, limit: int) -> int:
    """Give up to `limit` claims their vectors; how many. Those that change meanwhile are left for the next time."""
    rows = here.vectors.missing(limit)
    if rows:
        texts = [indexed_text(row.text, row.boundary_class, rules.redactor) for row in rows]
        vectors = encoder.encode([spoken(text, row.speaker) for text, row in zip(texts, rows, strict=True)])
        made_from = {row.id: row.generation for row in rows}
        here.commit(KEEP_VECTORS, _Vectors(made_from, vectors, encoder.model_id))
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


class Done(msgspec.Struct, frozen=True):
    """It is done."""


class _Vectors(msgspec.Struct, frozen=True):
    """Vectors, by claim the generation that each was made from."""

    made_from: dict[str, int]
    vectors: Any
    model: str


KEEP_VECTORS = Operation("memory.keep_vectors", _Vectors, Done, internal=True)


@commits(KEEP_VECTORS)
def keep_vectors(here: "Here", requests: Sequence[_Vectors]) -> list[Done]:
    """Write vectors of claims that have none and are still what was embedded."""
    for request in requests:
        every = list(request.made_from)
        now = here.vectors.missing_among(every)
        fits = [i for i, id_ in enumerate(every) if id_ in now and now[id_].generation == request.made_from[id_]]
        if not fits:
            continue
        ids = [every[i] for i in fits]
        vectors = np.asarray(request.vectors)[fits]
        here.vectors.put(ids, vectors, request.model)
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


@commits(RESET_VECTORS)
def reset_vectors(here: "Here", requests: Sequence[_Reset]) -> list[Done]:
    """Drop all vectors that are by another model, and name this one; they come back by backfilling."""
    others = [request for request in requests if here.vectors.model() not in (None, request.model)]
    for request in others:
        here.vectors.reset(request.model, request.width)

    def forget_old() -> None:
        keep = memory_state(here)
        keep.forget_model()
        index = keep.built()
        if index is not None:
            index.drop_vectors()

    if others:
        here.after_commit(forget_old)
    return [Done()] * len(requests)
