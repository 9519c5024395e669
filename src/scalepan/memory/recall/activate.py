"""Search and activate: the two ways to ask. Both tell of themselves by an event; activate also keeps its context."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan import clock
from scalepan.memory.claim import written
from scalepan.memory.ingest.forget import without_gone
from scalepan.memory.recall.answers import Recall, Recalled
from scalepan.memory.recall.contexts import Expire, expire
from scalepan.memory.recall.search import recall
from scalepan.memory.receipt import inputs_of
from scalepan.memory.redaction import clean_actor
from scalepan.memory.requests import ACTIVATE, SEARCH, Ask
from scalepan.memory.state import Rules, memory_state
from scalepan.store.ids import new_id
from scalepan.store.operation import Operation, changes, commits, reads
from scalepan.store.own import AddEvent
from scalepan.store.receipts import Receipt
from scalepan.store.request import Who, traced
from scalepan.store.rows import ContextItemRow, ContextRow

if TYPE_CHECKING:
    from scalepan.store import Here

SECONDS_AN_HOUR = 3600.0


class Noted(msgspec.Struct, frozen=True):
    """It is kept."""


@reads(SEARCH)
def search(here: "Here", request: Ask) -> Recall:
    """The best claims for a query. Nothing is kept but an event."""
    request = traced(request)
    answer, event = recall(here, request, "search")
    who = request.who
    here.commit_later(NOTE_RECALL, AddEvent("search", event, who.tenant, here.id, who.trace_id, who.project))
    return answer


NOTE_RECALL = Operation("memory.note_recall", AddEvent, Noted, internal=True)


@commits(NOTE_RECALL)
def note_recall(here: "Here", requests: Sequence[AddEvent]) -> list[Noted]:
    """Keep events about recalls. Their claims may have been forgotten since then, and then are not named."""
    payloads = without_gone(here, [request.payload for request in requests])
    here.events.add(
        [msgspec.structs.replace(request, payload=said) for request, said in zip(requests, payloads, strict=True)]
    )
    return [Noted()] * len(requests)


class KeepContext(msgspec.Struct, frozen=True):
    """A context and the event about it, for the writer."""

    context: ContextRow
    items: list[ContextItemRow]
    receipts: list[Receipt]
    event: dict[str, Any]
    who: Who
    request_id: str


class Kept(msgspec.Struct, frozen=True):
    """The context's id, when it ends, and the ranks of the claims that are in it."""

    id: str
    expires_at: str
    ranks: list[int]


@changes(ACTIVATE)
def activate(here: "Here", request: Ask) -> Recall:
    """The same as an active context: only what reaches the threshold, kept until it expires."""
    request = traced(request)
    # One moment for all of it: the ages that are kept are those that were weighed.
    now = request.at if request.at is not None else clock.time()
    answer, event = recall(here, msgspec.structs.replace(request, at=now), "activate")
    rules = memory_state(here).rules(here, request)
    # Whatever moment its ages are of, it is kept from now on.
    expires = clock.time() + rules.policy.retrieval.context_hours * SECONDS_AN_HOUR
    who = request.who
    actor = clean_actor(who, rules.redactor)
    provenance = {"at": written(now), "actor": actor, "request_id": here.id, "trace_id": who.trace_id}
    id_ = new_id("ac")
    context = ContextRow(
        id=id_,
        tenant=who.tenant,
        project=who.project,
        session=who.session,
        scope=",".join(request.scopes) if request.scopes is not None else "session,project,principle",
        created_at=now,
        expires_at=expires,
        policy_version=answer.policy_version,
        provenance=msgspec.json.encode(provenance).decode(),
        items=len(answer.claims),
    )
    model = memory_state(here).model(here) if answer.vector_level else None
    receipts = [_receipt(one, id_, answer, now, rules, who, model) for one in answer.claims]
    items = [
        ContextItemRow(
            ac_id=id_,
            claim_id=claim.id,
            rank=claim.rank,
            score=float(claim.score_final),
            features=msgspec.json.encode(claim.features).decode(),
            score_id=receipt.id,
        )
        for claim, receipt in zip(answer.claims, receipts, strict=True)
    ]
    kept: Kept = here.commit(KEEP_CONTEXT, KeepContext(context, items, receipts, event, who, here.id))
    # What was forgotten while this was weighed is not in the context, so it is not in the answer.
    claims = [one for one in answer.claims if one.rank in kept.ranks]
    if kept.id != id_:  # repeated: the context is that of the first time, and others may have these ranks by now
        there = {item.claim_id for item in here.contexts.items(kept.id)}
        claims = [one for one in answer.claims if one.id in there]
    return msgspec.structs.replace(answer, claims=claims, active_context_id=kept.id, expires_at=kept.expires_at)


def _receipt(
    one: Recalled, context: str, answer: Recall, now: float, rules: Rules, who: Who, model: str | None
) -> Receipt:
    return Receipt(
        name="score_final",
        value=one.score_final.value,
        # Its place is sealed with the rest: the context is as it was if every item has its number, and stands there.
        inputs={**inputs_of(one, answer, now, rules.policy.retrieval), "context": context, "rank": one.rank},
        body=msgspec.to_builtins(one.score_final),
        policy_version=answer.policy_version,
        model=model,
        tenant=who.tenant,
        project=who.project,
        subject=one.id,
    )


KEEP_CONTEXT = Operation("memory.keep_context", KeepContext, Kept, internal=True)


@commits(KEEP_CONTEXT)
def keep_context(here: "Here", requests: Sequence[KeepContext]) -> list[Kept]:
    """Write contexts with their items, those that are still there."""
    there = here.claims.existing([item.claim_id for request in requests for item in request.items])
    items = [[item for item in request.items if item.claim_id in there] for request in requests]
    contexts = [
        msgspec.structs.replace(request.context, items=len(some)) for request, some in zip(requests, items, strict=True)
    ]
    here.contexts.add(contexts, [item for some in items for item in some])
    here.scores.add([one for request in requests for one in request.receipts if one.subject in there])
    said = without_gone(here, [request.event for request in requests])
    events = [
        AddEvent(
            "activate",
            {**event, "active_context_id": request.context.id},
            request.who.tenant,
            request.request_id,
            request.who.trace_id,
            request.who.project,
        )
        for request, event in zip(requests, said, strict=True)
    ]
    here.events.add(events)
    expire(here, [Expire(clock.time())])
    return [
        Kept(context.id, written(context.expires_at), [item.rank for item in some])
        for context, some in zip(contexts, items, strict=True)
    ]
