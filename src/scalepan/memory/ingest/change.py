"""Changing a claim: another text gives it another hash, other terms, another vector and a new time."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from scalepan import clock
from scalepan.errors import BoundaryError, ConflictError, InputError
from scalepan.memory.claim import PERIOD, PLACE, TIMES, Entity, Fading, seconds_of
from scalepan.memory.ingest.add import entity_names
from scalepan.memory.ingest.succession import check_period, check_succession
from scalepan.memory.recall.boundary import check_class, opened, reach_to_change
from scalepan.memory.recall.index import indexed_text, spoken
from scalepan.memory.recall.succession import told_of
from scalepan.memory.redaction import clean, redacted_claim, redacted_entity, redacted_field, redacted_provenance
from scalepan.memory.requests import UPDATE, Update, Updated
from scalepan.memory.standing.votes import note_standing
from scalepan.memory.state import Rules, check_no_secret, memory_state
from scalepan.memory.stored import claim_within, reachable
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.own import AddEvent
from scalepan.store.reach import Reach
from scalepan.store.request import Who
from scalepan.store.rows import ClaimRow, Content
from scalepan.text import content_hash, normal_form

if TYPE_CHECKING:
    from scalepan.embed import Embedder
    from scalepan.store import Here

MOST_TRIES = 50
"""How often a change is made again because others were quicker. Only another text or class costs more than a read."""


class _Rewording(NamedTuple):
    """What follows from a claim's text and class: columns of the table, and a vector."""

    columns: dict[str, Any]
    vector: Any = None
    model: str | None = None


class _Changes(msgspec.Struct, frozen=True):
    """Checked changes for the writer; it stays in the owner, so a vector goes along as it is."""

    claim: str
    within: Reach
    columns: dict[str, Any]
    entities: list[Entity] | None
    reworded: Any
    """A _Rewording, or None if neither text nor class changes."""
    generation: int | None
    """That of the claim these changes were made from; None if they do not depend on what it is."""
    who: Who
    request_id: str


class Changed(msgspec.Struct, frozen=True):
    """Whether the changes were written. Not if the claim is not what they were made from any more."""

    written: bool


@changes(UPDATE)
def update(here: "Here", request: Update) -> Updated:
    """Change a claim. What follows from its text is made beside the writer, and again if somebody else was quicker."""
    state = memory_state(here)
    rules = state.rules(here, request)
    check_no_secret(request.kind, "kind", rules.redactor)
    check_no_secret(request.conversation, "conversation", rules.redactor)
    # Whoever may write a claim may change it, whatever its class; reading it back is another matter.
    within = reach_to_change(request.who, "update", rules.policy.boundary)
    now = clock.time()
    columns, entities = _as_given(request, rules, now)
    rewords = request.text is not None or request.boundary_class is not None
    encoder = state.encoder(here, rules.policy) if rewords else None

    @lru_cache(maxsize=1)
    def reworded(text: str, boundary_class: str, speaker: str | None) -> _Rewording:
        return _reworded(request.claim, text, boundary_class, speaker, rules, encoder)

    for _ in range(MOST_TRIES):
        old = reachable(here, request.claim, within)
        boundary_class = request.boundary_class or old.boundary_class
        check_class(request.who, boundary_class)
        rewording = None
        if request.text is not None or boundary_class != old.boundary_class:
            rewording = reworded(request.text or old.text, boundary_class, columns.get("speaker", old.speaker))
        all_columns = {**columns, **(rewording.columns if rewording is not None else {})}
        if all_columns.get("text", old.text) != old.text:
            all_columns["updated_at"] = clock.time()
        generation = old.generation if rewords else None
        done = here.commit(
            CHANGE,
            _Changes(request.claim, within, all_columns, entities, rewording, generation, request.who, here.id),
        )
        if done.written:
            changed = claim_within(here, request.claim, within, Fading(now, rules.policy.retrieval.feedback))
            (told,) = told_of(here, [changed], within)
            return Updated(redacted_claim(told, rules.redactor))
    raise ConflictError(
        f"claim '{request.claim}' was changed {MOST_TRIES} times while this change was being made; try again"
    )


def _as_given(request: Update, rules: Rules, now: float) -> tuple[dict[str, Any], list[Entity] | None]:
    """Columns and entities that do not depend on what the claim is now."""
    columns: dict[str, Any] = {
        name: redacted_field(name, value, rules.redactor)
        for name in ("kind", "confidence", *PLACE, *PERIOD, "supersedes")
        if (value := getattr(request, name)) is not None
    }
    columns |= {name: seconds_of(columns[name], name) for name in TIMES if name in columns}
    for name in request.clear:
        if getattr(request, name) is not None:
            raise InputError(f"{name} cannot be both given and cleared", path="clear")
        columns[name] = None
    if request.quality is not None:
        columns |= {"quality": request.quality, "quality_at": now}
    if request.provenance is not None:
        provenance = redacted_provenance(request.provenance.checked(), rules.redactor)
        columns["provenance"] = msgspec.json.encode(provenance).decode()
    if request.entities is None:
        return columns, None
    return columns, [redacted_entity(entity, rules.redactor) for entity in request.entities]


def _reworded(
    id_: str, said: str, boundary_class: str, speaker: str | None, rules: Rules, encoder: "Embedder | None"
) -> _Rewording:
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
    return _Rewording(columns, encoder.encode([spoken(searched, speaker)]), encoder.model_id)


CHANGE = Operation("memory.change", _Changes, Changed, internal=True)


@commits(CHANGE)
def change(here: "Here", requests: Sequence[_Changes]) -> list[Changed]:
    """Write changes, one claim after the other, each only to the claim that it was made from."""
    done = [Changed(_change(here, request)) for request in requests]
    ids = [request.claim for request, one in zip(requests, done, strict=True) if one.written]
    here.after_commit(lambda: memory_state(here).follow(here, ids))
    return done


def _change(here: "Here", request: _Changes) -> bool:
    old = reachable(here, request.claim, request.within)
    if request.generation is not None and request.generation != old.generation:
        return False
    reworded: _Rewording | None = request.reworded
    if reworded is not None:
        _check_unique(here, request, old)
    check_period(old, request.columns)
    if request.columns.get("supersedes") is not None:
        check_succession(here, old.id, request.columns["supersedes"], request.within)
    if "confidence" in request.columns:
        note_standing(here, old.id, old.tenant, request.columns["confidence"])
    if request.columns:
        here.claims.update(old.id, **request.columns)
    if request.entities is not None:
        here.entities.replace(old.id, entity_names(old, request.entities))
    if reworded is not None or request.columns.get("speaker", old.speaker) != old.speaker:
        here.vectors.clear(old.id)  # where only the speaker changed, it is made again in passing
    if reworded is not None and reworded.vector is not None:
        here.vectors.put([old.id], reworded.vector, reworded.model or "")
    # What a claim has become must meet the invariants too, or adding and then changing would get around them.
    if not here.claims.reachable(request.within, [old.id]):
        raise BoundaryError(f"an invariant of the policy forbids what claim '{old.id}' would become")
    payload = {"changed": old.id, "fields": sorted(request.columns)}
    here.events.add(
        [AddEvent("ingest", payload, old.tenant, request.request_id, request.who.trace_id, request.who.project)]
    )
    return True


def _check_unique(here: "Here", request: _Changes, old: ClaimRow) -> None:
    """A content is kept once. What the caller's token shuts does not count: a refusal would tell that it is there."""
    content = Content.of(old)._replace(content_hash=request.columns["content_hash"])
    for other in here.claims.same_content([content]).get(content, ()):
        if other.id != old.id and other.merged_into is None and other.boundary_class in opened(request.who):
            raise ConflictError(f"claim '{other.id}' has this text already; vote '{old.id}' a duplicate of it instead")
