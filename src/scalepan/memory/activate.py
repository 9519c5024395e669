"""Search and activate: the two ways to ask. Both tell of themselves by an event; activate also keeps its context."""

from collections.abc import Sequence
from time import time
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.memory.answers import Recall, Recalled
from scalepan.memory.claims import utc
from scalepan.memory.keeper import Rules, keeper
from scalepan.memory.model import Who, written
from scalepan.memory.recall import Ask, recall
from scalepan.memory.receipt import inputs_of
from scalepan.store.operations import insert_rows, reads, writes
from scalepan.store.receipts import Receipt, write_receipts
from scalepan.store.tables import AddEvent, add_event, new_id

if TYPE_CHECKING:
    from scalepan.store import Here

SECONDS_AN_HOUR = 3600.0
CONTEXT_COLUMNS = {
    "id": "VARCHAR",
    "tenant": "VARCHAR",
    "project": "VARCHAR",
    "session": "VARCHAR",
    "scope": "VARCHAR",
    "created_at": "TIMESTAMP",
    "expires_at": "TIMESTAMP",
    "policy_version": "VARCHAR",
    "provenance": "JSON",
    "items": "INTEGER",
}
ITEM_COLUMNS = {
    "ac_id": "VARCHAR",
    "claim_id": "VARCHAR",
    "rank": "INTEGER",
    "score": "DOUBLE",
    "features": "JSON",
    "score_id": "VARCHAR",
}


@reads("memory.search", Ask, Recall)
def search(here: "Here", request: Ask) -> Recall:
    """The best claims for a query. Nothing is kept but an event."""
    answer, event = recall(here, request, "search")
    who = request.who
    here.later("store.add_event", AddEvent("search", event, who.tenant, here.id, who.trace_id))
    return answer


class KeepContext(msgspec.Struct, frozen=True):
    """A context and the event about it, for the writer."""

    context: dict[str, Any]
    items: list[dict[str, Any]]
    receipts: list[Receipt]
    event: dict[str, Any]
    who: Who
    request_id: str


class Kept(msgspec.Struct, frozen=True):
    """The context's id and when it ends."""

    id: str
    expires_at: str


@reads("memory.activate", Ask, Recall)
def activate(here: "Here", request: Ask) -> Recall:
    """The same as an active context: only what reaches the threshold, kept until it expires."""
    # One moment for all of it: the ages that are kept are those that were weighed.
    now = request.at if request.at is not None else time()
    answer, event = recall(here, msgspec.structs.replace(request, at=now), "activate")
    rules = keeper(here).rules(here, request.who, request.policy)
    expires = now + rules.policy.retrieval.context_hours * SECONDS_AN_HOUR
    who = request.who
    actor = rules.redactor.redact(who.actor).text if who.actor else None
    provenance = {"at": written(now), "actor": actor, "request_id": here.id, "trace_id": who.trace_id}
    id_ = new_id("ac")
    context = {
        "id": id_,
        "tenant": who.tenant,
        "project": who.project,
        "session": who.session,
        "scope": ",".join(request.scopes) if request.scopes is not None else "session,project,principle",
        "created_at": utc(now),
        "expires_at": utc(expires),
        "policy_version": answer.policy_version,
        "provenance": msgspec.json.encode(provenance).decode(),
        "items": len(answer.claims),
    }
    model = keeper(here).model(here) if answer.vector_level else None
    receipts = [_receipt(one, id_, answer, now, rules, who, model) for one in answer.claims]
    items = [
        {
            "ac_id": id_,
            "claim_id": claim.id,
            "rank": claim.rank,
            "score": claim.score_final.value,
            "features": msgspec.json.encode(claim.features).decode(),
            "score_id": receipt.id,
        }
        for claim, receipt in zip(answer.claims, receipts, strict=True)
    ]
    kept: Kept = here.write("memory.keep_context", KeepContext(context, items, receipts, event, who, here.id))
    return msgspec.structs.replace(answer, active_context_id=kept.id, expires_at=kept.expires_at)


def _receipt(one: Recalled, context: str, answer: Recall, now: float, rules: Rules, who: Who, model: str | None) -> Receipt:
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


@writes("memory.keep_context", KeepContext, Kept)
def keep_context(here: "Here", requests: Sequence[KeepContext]) -> list[Kept]:
    """Write contexts with their items."""
    insert_rows(here.connection, "active_contexts", CONTEXT_COLUMNS, [request.context for request in requests])
    items = [item for request in requests for item in request.items]
    if items:
        insert_rows(here.connection, "active_context_items", ITEM_COLUMNS, items)
    write_receipts(here.connection, [receipt for request in requests for receipt in request.receipts])
    events = [
        AddEvent(
            "activate",
            {**request.event, "active_context_id": request.context["id"]},
            request.who.tenant,
            request.request_id,
            request.who.trace_id,
        )
        for request in requests
    ]
    add_event(here, events)
    return [Kept(request.context["id"], f"{request.context['expires_at'].isoformat()}+00:00") for request in requests]
