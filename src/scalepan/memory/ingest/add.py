"""Claims on their way in: redacted, hashed, embedded, then kept once for each content. Redaction comes first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from scalepan import clock
from scalepan.errors import BoundaryError, ConflictError, InputError, NotFoundError
from scalepan.memory.claim import SECONDS_A_DAY, TIMES, Entity, NewClaim, Provenance, seconds_of, written
from scalepan.memory.ingest.learned import fill_in
from scalepan.memory.ingest.succession import check_period, succeed
from scalepan.memory.recall.boundary import (
    check_class,
    check_invariants,
    check_new_claim,
    opened,
    reach,
    reach_to_change,
)
from scalepan.memory.recall.candidates.columns import Entry
from scalepan.memory.recall.index import indexed_text, refresh, spoken
from scalepan.memory.redaction import clean, clean_actor, redacted_entity, redacted_field, redacted_provenance, stricter
from scalepan.memory.requests import ADD, MOST_AT_ONCE, Add, Added, AllAdded
from scalepan.memory.state import Rules, check_no_secret, memory_state
from scalepan.policy.boundary import CLASSES
from scalepan.store.ids import new_id
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.own import AddEvent
from scalepan.store.reach import Reach
from scalepan.store.request import Who
from scalepan.store.rows import ClaimRow, Content, EntityName
from scalepan.text import Morphology, content_hash, has_visible, normal_form, terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scalepan.store import Here

_PREPARED = {"id", "text", "boundary_class", "created_at", "updated_at", "provenance", *TIMES}
_AS_GIVEN = tuple(
    name for name in NewClaim.__struct_fields__ if name in ClaimRow.__struct_fields__ and name not in _PREPARED
)
"""Fields of a new claim that become columns without further steps. Free text among them is redacted: see `VERBATIM`."""


class Prepared(msgspec.Struct, frozen=True):
    """A claim as it is going to be kept. Nothing in it needs to be cut any more."""

    row: ClaimRow
    entities: list[Entity]
    terms: list[str]
    morphology: Morphology
    """How the terms were made: an index that was made otherwise makes them again."""
    searched: str
    redacted: dict[str, int]
    has_own_id: bool
    """Whether its id came with it, from another store."""


class Keep(msgspec.Struct, frozen=True):
    """Prepared claims for the writer; it stays in the owner, so vectors and terms go along as they are."""

    prepared: list[Prepared]
    vectors: Any
    model: str | None
    who: Who
    request_id: str
    changeable: Reach | None = None
    """What the caller may change, where a claim replaces another."""


@changes(ADD)
def add(here: "Here", request: Add) -> AllAdded:
    """Remember claims. Each content is kept once for a tenant, project and scope."""
    if len(request.claims) > MOST_AT_ONCE:
        raise InputError(f"{len(request.claims):,} claims at once are too many; the limit is {MOST_AT_ONCE:,}")
    keep = memory_state(here)
    rules = keep.rules(here, request)
    check_invariants(request.who, "add", rules.policy.boundary)
    for kind in {claim.kind for claim in request.claims}:
        check_no_secret(kind, "kind", rules.redactor)
    for conversation in {claim.conversation for claim in request.claims}:
        check_no_secret(conversation, "conversation", rules.redactor)
    for claim in request.claims:
        check_class(request.who, claim.boundary_class)
        if claim.id is not None:
            _check_id(claim.id, request.who, rules)
    now = round(clock.time(), 6)  # to the microsecond, as it is stored
    prepared = [prepare(claim, request.who, rules, now) for claim in request.claims]
    if rules.policy.boundary.invariants:
        for one in prepared:
            _check_invariants(one, request.who, rules, now)
    encoder = keep.encoder(here, rules.policy)
    vectors = embed(encoder, prepared) if encoder is not None else None
    model = encoder.model_id if encoder is not None else None
    changeable = None
    if any(claim.supersedes is not None for claim in request.claims):
        changeable = reach_to_change(request.who, "update", rules.policy.boundary)
    done: AllAdded = here.commit(KEEP, Keep(prepared, vectors, model, request.who, here.id, changeable))
    known = [added.id for added in done.claims if not added.created]
    if not known:
        return done
    # Whoever says again what was replaced should know that it will not be recalled.
    newer = here.claims.superseding(known, reach(request.who, "add", rules.policy.boundary))
    return AllAdded([msgspec.structs.replace(added, superseded_by=newer.get(added.id)) for added in done.claims])


def _check_invariants(claim: "Prepared", who: Who, rules: Rules, now: float) -> None:
    changed = claim.row.created_at if claim.row.updated_at is None else claim.row.updated_at
    names = [entity.name for entity in claim.entities]
    check_new_claim(who, "add", rules.policy.boundary, claim.row, names, (now - changed) / SECONDS_A_DAY)


def _check_id(id_: str, who: Who, rules: Rules) -> None:
    """An id from elsewhere is kept as it is, so it must not be a secret. One that is taken shows that something has it,
    in whatever class: whoever may not know that gets ids of ours.
    """
    check_no_secret(id_, "id", rules.secrets_only)
    if opened(who) != CLASSES:
        raise BoundaryError(f"the token opens {', '.join(opened(who))} only, and cannot choose ids: leave out '{id_}'")


def embed(encoder: Any, prepared: Sequence[Prepared]) -> "NDArray[np.float32]":
    """Vectors of what search may see."""
    vectors: NDArray[np.float32] = encoder.encode([claim.searched for claim in prepared])
    return vectors


def prepare(claim: NewClaim, who: Who, rules: Rules, now: float) -> Prepared:
    """A claim without its secrets, and without personal data unless the policy keeps it."""
    if claim.scope == "session" and who.session is None:
        raise InputError("a session claim needs a session", path="scope")
    text, boundary_class, redacted = clean(claim.text, claim.boundary_class, rules)
    if not has_visible(text):
        raise InputError("the text is empty" if not text.strip() else "nothing in the text is visible", path="text")
    id_ = claim.id or new_id("clm")
    created = seconds_of(claim.created_at, "created_at") if claim.created_at else now
    updated = seconds_of(claim.updated_at, "updated_at") if claim.updated_at else None
    plain = indexed_text(text, boundary_class, rules.redactor)
    given = {name: redacted_field(name, getattr(claim, name), rules.redactor) for name in _AS_GIVEN}
    given |= {name: seconds_of(said, name) for name in TIMES if (said := getattr(claim, name)) is not None}
    row = ClaimRow(
        **given,
        id=id_,
        tenant=who.tenant,
        project=who.project,
        session=who.session if claim.scope == "session" else None,
        text=text,
        normalized_text=normal_form(plain),
        boundary_class=boundary_class,
        # Of a secret nothing is kept that could be guessed from, not even a hash.
        content_hash=content_hash(id_ if boundary_class == "secret" else text),
        utility_at=now,
        quality_at=now if claim.quality is not None else None,
        created_at=created,
        updated_at=updated,
        provenance=msgspec.json.encode(_provenance(claim.provenance, who, rules, now)).decode(),
    )
    check_period(row)
    entities = [redacted_entity(entity, rules.redactor) for entity in claim.entities]
    morphology = rules.policy.retrieval.morphology
    searched = spoken(plain, row.speaker)
    return Prepared(row, entities, terms(searched, morphology), morphology, searched, redacted, claim.id is not None)


def _provenance(said: Provenance, who: Who, rules: Rules, now: float) -> Provenance:
    """Where a claim comes from; who says it and when is known even if nobody wrote it down."""
    actor = said.actor or clean_actor(who, rules.redactor)
    filled = msgspec.structs.replace(said, at=said.at or written(now), actor=actor)
    return redacted_provenance(filled.checked(), rules.redactor)


KEEP = Operation("memory.keep", Keep, AllAdded, internal=True)


@commits(KEEP)
def keep_claims(here: "Here", requests: Sequence[Keep]) -> list[AllAdded]:
    """Write prepared claims; one whose content is there already is not written again."""
    known = _known(here, [claim for request in requests for claim in request.prepared])
    kept_as: list[tuple[str, Prepared]] = []
    answers: list[AllAdded] = []
    fresh: list[Prepared] = []
    vectors: dict[str, NDArray[np.float32]] = {}
    models: dict[str, list[str]] = {}
    raised: dict[str, str] = {}
    for request in requests:
        added: list[Added] = []
        new: list[Prepared] = []
        kept: dict[str, str] = {}
        for place, claim in enumerate(request.prepared):
            same = known.setdefault(Content.of(claim.row), {})
            there = _same_for(request.who, same, claim.row.boundary_class)
            id_, boundary_class = there or claim.row.id, claim.row.boundary_class
            if there is None:
                new.append(claim)
                if request.vectors is not None:
                    vectors[claim.row.id] = request.vectors[place]
                    models.setdefault(request.model or "", []).append(claim.row.id)
            else:
                boundary_class = stricter(same[there], boundary_class)
                if boundary_class != same[there]:
                    # The same words, now said to be stricter: they are, for everybody.
                    raised[there] = boundary_class
            same[id_] = boundary_class
            kept[claim.row.id] = id_
            kept_as.append((id_, claim))
            added.append(Added(id_, there is None, boundary_class, claim.redacted))
        answers.append(AllAdded(added))
        fresh += [_renamed(claim, kept) for claim in new]
    _check_ids(here, [claim.row for claim in fresh if claim.has_own_id])
    here.claims.add([claim.row for claim in fresh])
    for id_, boundary_class in raised.items():
        here.claims.update(id_, boundary_class=boundary_class)
    learned = fill_in(here, [(id_, claim.row) for id_, claim in kept_as])
    learned += _succeed(here, requests, answers)
    linked = here.entities.link(
        [(id_, named) for id_, claim in kept_as for named in entity_names(claim.row, claim.entities)]
    )
    for model, ids in models.items():
        here.vectors.put(ids, np.stack([vectors[id_] for id_ in ids]), model)
    here.events.add([_ingested(request, answer) for request, answer in zip(requests, answers, strict=True)])
    here.after_commit(lambda: _into_index(here, fresh, vectors, {*raised, *linked, *learned}))
    return answers


def _renamed(claim: Prepared, kept: dict[str, str]) -> Prepared:
    """A claim that replaces one that came with it: under the id that the other is kept by."""
    older = kept.get(claim.row.supersedes or "", claim.row.supersedes)
    if older == claim.row.supersedes:
        return claim
    return msgspec.structs.replace(claim, row=msgspec.structs.replace(claim.row, supersedes=older))


def _succeed(here: "Here", requests: Sequence[Keep], answers: Sequence[AllAdded]) -> list[str]:
    """Check what replaces what, now that all of it is there; which of those that were known replace something now."""
    changed = []
    for request, answer in zip(requests, answers, strict=True):
        if request.changeable is None:
            continue
        kept = dict(
            zip([claim.row.id for claim in request.prepared], [added.id for added in answer.claims], strict=True)
        )
        for claim in request.prepared:
            older = kept.get(claim.row.supersedes or "", claim.row.supersedes)
            if older is not None and succeed(here, kept[claim.row.id], older, request.changeable):
                changed.append(kept[claim.row.id])
    return changed


def entity_names(row: ClaimRow, entities: Sequence[Entity]) -> list[EntityName]:
    """What a claim is about, as the store tells entities apart."""
    return [EntityName(row.tenant, entity.type, entity.name) for entity in entities]


def _same_for(who: Who, same: dict[str, str], wanted: str) -> str | None:
    """Which of the claims of one content this caller means, by its id; None if there is none that it may know of.

    To a token, what is in a class that it does not open is not there: the text is kept once more for it, and neither
    the answer nor a later search tells that somebody else has it too.
    """
    open_ = [id_ for id_, boundary_class in same.items() if boundary_class in opened(who)]
    return max(open_, key=lambda id_: (same[id_] == wanted, CLASSES.index(same[id_])), default=None)


def _known(here: "Here", claims: Sequence[Prepared]) -> dict[Content, dict[str, str]]:
    """By content, the claims that have it, each with its class. A text that was merged has its representative."""
    known: dict[Content, dict[str, str]] = {}
    for content, rows in here.claims.same_content({Content.of(claim.row) for claim in claims}).items():
        for row in rows:
            found = row if row.merged_into is None else here.claims.representative(row.id)
            if found is None:
                raise NotFoundError(f"no claim '{row.id}' here")
            known.setdefault(content, {})[found.id] = found.boundary_class
    return known


def _check_ids(here: "Here", rows: Sequence[ClaimRow]) -> None:
    """Ids that came from another store may be taken here."""
    there = here.claims.by_ids(row.id for row in rows) if rows else {}
    for row in rows:
        taken = there.get(row.id)
        # Whether another tenant has it is not this one's business; that it cannot be used cannot be helped.
        if taken is not None:
            raise ConflictError(
                f"claim '{row.id}' is there already, with another text"
                if taken.tenant == row.tenant
                else f"id '{row.id}' cannot be used here: leave it out, and one is made"
            )


def _ingested(request: Keep, answer: AllAdded) -> AddEvent:
    redacted: dict[str, int] = {}
    for claim in answer.claims:
        for kind, count in claim.redacted.items():
            redacted[kind] = redacted.get(kind, 0) + count
    payload = {
        "claims": [claim.id for claim in answer.claims if claim.created],
        "known": [claim.id for claim in answer.claims if not claim.created],
        "redacted": redacted,
    }
    return AddEvent(
        "ingest", payload, request.who.tenant, request.request_id, request.who.trace_id, request.who.project
    )


def _into_index(
    here: "Here", fresh: Sequence[Prepared], vectors: dict[str, "NDArray[np.float32]"], touched: set[str]
) -> None:
    index = memory_state(here).built()
    if index is None:
        return
    if fresh:
        own = index.morphology
        found = [c.terms if c.morphology == own else terms(c.searched, own) for c in fresh]
        index.add([_entry_of(claim) for claim in fresh], found)
    if vectors:
        index.put_vectors(list(vectors), np.stack(list(vectors.values())))
    older = touched - {claim.row.id for claim in fresh}
    if older:
        refresh(here, index, sorted(older))


def _entry_of(prepared: Prepared) -> Entry:
    """What was just written, as the index takes it."""
    names = set(entity_names(prepared.row, prepared.entities))
    return Entry.of(prepared.row, sorted(names, key=lambda named: (named.name, named.type)))
