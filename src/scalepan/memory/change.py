"""Changing a claim: another text gives it another hash, other terms, another vector and a new time."""

from collections.abc import Sequence
from time import time
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from scalepan.check import in_order
from scalepan.errors import ConflictError, NotFoundError
from scalepan.memory.boundary import check_class, reach_to_change
from scalepan.memory.claims import claim_at, indexed_text, read_claims, utc
from scalepan.memory.feedback import note_standing
from scalepan.memory.index import refresh
from scalepan.memory.ingest import (
    clean,
    redacted_claim,
    redacted_entity,
    redacted_provenance,
    replace_entities,
    write_vectors,
)
from scalepan.memory.keeper import keeper
from scalepan.memory.model import Claim, Entity, Kind, Name, Provenance, Share, Text, Who
from scalepan.policy.boundary import BoundaryClass
from scalepan.store.operations import reads, writes
from scalepan.store.tables import AddEvent, add_event
from scalepan.text import content_hash, normal_form

if TYPE_CHECKING:
    from scalepan.store import Here


class Update(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be different about a claim. What is None stays."""

    claim: Name
    who: Who = Who()
    policy: bytes = b""
    text: Text | None = None
    kind: Annotated[Kind, in_order(Kind)] | None = None
    boundary_class: Annotated[BoundaryClass, in_order(BoundaryClass)] | None = None
    confidence: Share | None = None
    quality: Share | None = None
    provenance: Provenance | None = None
    entities: list[Entity] | None = None


class Updated(msgspec.Struct, frozen=True):
    """The claim as it is now."""

    claim: Claim


class _Changes(msgspec.Struct, frozen=True):
    """Checked changes for the writer: columns of the table, and a vector if the text is new."""

    claim: str
    columns: dict[str, Any]
    entities: list[Entity] | None
    vector: Any
    model: str | None
    who: Who
    request_id: str


@reads("memory.update", Update, Updated)
def update(here: "Here", request: Update) -> Updated:
    """Change a claim."""
    keep = keeper(here)
    rules = keep.rules(here, request.who, request.policy)
    feedback = rules.policy.retrieval.feedback
    # Whoever may write a claim may change it, whatever its class; reading it back is another matter.
    within = reach_to_change(request.who, "update", rules.policy.boundary)
    now = time()
    old = claim_at(here.connection, request.claim, within, now, feedback)
    columns: dict[str, Any] = {}
    boundary_class = request.boundary_class or old.boundary_class
    check_class(request.who, boundary_class)
    vector, model = None, None
    if request.text is not None or boundary_class != old.boundary_class:
        text, boundary_class, _ = clean(request.text or old.text, boundary_class, rules)
        searched = indexed_text(text, boundary_class, rules.redactor)
        columns |= {"boundary_class": boundary_class, "text": text, "normalized_text": normal_form(searched)}
        columns["content_hash"] = content_hash(old.id if boundary_class == "secret" else text)
        if text != old.text:
            columns["updated_at"] = utc(now)
        encoder = keep.encoder(here, rules.policy)
        if encoder is not None:
            vector, model = encoder.encode([searched]), encoder.model_id
    columns |= {name: value for name in ("kind", "confidence") if (value := getattr(request, name)) is not None}
    if request.quality is not None:
        columns |= {"quality": request.quality, "quality_at": utc(now)}
    if request.provenance is not None:
        provenance = redacted_provenance(request.provenance, rules.redactor)
        columns["provenance"] = msgspec.json.encode(provenance).decode()
    entities = request.entities
    if entities is not None:
        entities = [redacted_entity(entity, rules.redactor) for entity in entities]
    here.write("memory.change", _Changes(request.claim, columns, entities, vector, model, request.who, here.id))
    changed = read_claims(here.connection, [request.claim], now, feedback).get(request.claim)
    if changed is None:
        raise NotFoundError(f"no claim '{request.claim}' here")
    return Updated(redacted_claim(changed, rules.redactor))


class Done(msgspec.Struct, frozen=True):
    """It is done."""


@writes("memory.change", _Changes, Done)
def change(here: "Here", requests: Sequence[_Changes]) -> list[Done]:
    """Write changes, one claim after the other."""
    connection = here.connection
    for request in requests:
        if "content_hash" in request.columns:
            _check_unique(here, request)
        if "confidence" in request.columns:
            note_standing(here, request.claim, request.who.tenant, request.columns["confidence"])
        if request.columns:
            assigned = ", ".join(f"{name} = ?" for name in request.columns)
            connection.execute(f"UPDATE claims SET {assigned} WHERE id = ?", [*request.columns.values(), request.claim])
        if request.entities is not None:
            replace_entities(connection, request.claim, request.who.tenant, request.entities)
        if "text" in request.columns:
            connection.execute("DELETE FROM claim_vectors WHERE claim_id = ?", [request.claim])
        if request.vector is not None:
            write_vectors(here, [request.claim], request.vector, request.model or "")
        payload = {"changed": request.claim, "fields": sorted(request.columns)}
        add_event(here, [AddEvent("ingest", payload, request.who.tenant, request.request_id, request.who.trace_id)])
    ids = [request.claim for request in requests]

    def into_index() -> None:
        index = keeper(here).built()
        if index is not None:
            refresh(connection, index, ids)

    here.after_commit(into_index)
    return [Done()] * len(requests)


def _check_unique(here: "Here", request: _Changes) -> None:
    other = here.connection.execute(
        "SELECT o.id FROM claims c JOIN claims o ON o.tenant = c.tenant AND o.project IS NOT DISTINCT FROM c.project "
        "AND o.scope = c.scope AND o.session IS NOT DISTINCT FROM c.session "
        "WHERE c.id = ? AND o.id <> c.id AND o.content_hash = ? AND o.merged_into IS NULL",
        [request.claim, request.columns["content_hash"]],
    ).fetchone()
    if other:
        raise ConflictError(f"claim '{other[0]}' has this text already; vote '{request.claim}' a duplicate of it instead")
