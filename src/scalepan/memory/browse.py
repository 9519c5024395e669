"""Looking around: one claim, a list, links between claims and what they are about, a page of an export, figures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from scalepan import clock
from scalepan.errors import NotFoundError
from scalepan.memory.claim import Fading
from scalepan.memory.recall.boundary import check_whole, reach, reach_to_change
from scalepan.memory.recall.succession import told_of
from scalepan.memory.redaction import clean_text, exported, outgoing
from scalepan.memory.requests import (
    EXPORT,
    GET,
    LINK,
    LIST,
    STATS,
    ExportPage,
    Get,
    Got,
    Link,
    Linked,
    List,
    Listed,
    MemoryFigures,
    Stats,
)
from scalepan.memory.state import Rules, memory_state
from scalepan.memory.stored import claim_within, claims_of
from scalepan.store.ids import new_id
from scalepan.store.operation import Operation, changes, commits, reads
from scalepan.store.own import AddEvent
from scalepan.store.reach import Reach
from scalepan.store.rows import RelationRow

if TYPE_CHECKING:
    from scalepan.store import Here


@reads(GET)
def get(here: "Here", request: Get) -> Got:
    """One claim that the caller may read."""
    rules = memory_state(here).rules(here, request)
    within = reach(request.who, "get", rules.policy.boundary)
    claim = claim_within(here, request.claim, within, _fading(rules))
    (told,) = told_of(here, [claim], within)
    return Got(outgoing(told, rules, within))


def _fading(rules: Rules) -> Fading:
    return Fading(clock.time(), rules.policy.retrieval.feedback)


@reads(LIST)
def list_claims(here: "Here", request: List) -> Listed:
    """A page of the claims that the caller may read."""
    rules = memory_state(here).rules(here, request)
    within = reach(request.who, "list", rules.policy.boundary, request.scopes)
    rows = here.claims.newest(within, request.kinds, after=request.after, limit=request.limit + 1)
    found = told_of(here, claims_of(here, rows[: request.limit], _fading(rules)), within)
    return Listed([outgoing(claim, rules, within) for claim in found], more=len(rows) > request.limit)


class _Link(msgspec.Struct, frozen=True):
    link: Link
    within: Reach
    request_id: str


@changes(LINK)
def link(here: "Here", request: Link) -> Linked:
    """Relate two things that the caller may reach."""
    rules = memory_state(here).rules(here, request)
    within = reach_to_change(request.who, "link", rules.policy.boundary)
    plain = msgspec.structs.replace(request, kind=clean_text(request.kind, rules.redactor), overlay=b"")
    done: Linked = here.commit(RELATE, _Link(plain, within, here.id))
    return done


def _check_ends(here: "Here", request: _Link) -> None:
    """Both ends must be there in the transaction that links them: one may have been forgotten meanwhile."""
    for id_ in (request.link.source, request.link.target):
        if not here.relations.may_end_at(id_, request.within):
            raise NotFoundError(f"no claim or entity '{id_}' here")


RELATE = Operation("memory.relate", _Link, Linked, internal=True)


@commits(RELATE)
def relate(here: "Here", requests: Sequence[_Link]) -> list[Linked]:
    """Write relations."""
    for request in requests:
        _check_ends(here, request)
    now = clock.time()
    rows = [
        RelationRow(new_id("rel"), now, link.who.tenant, link.source, link.target, link.kind)
        for link in (request.link for request in requests)
    ]
    here.relations.add(rows)
    events = [
        AddEvent(
            "ingest",
            {"linked": row.id},
            row.tenant,
            request.request_id,
            request.link.who.trace_id,
            request.link.who.project,
        )
        for row, request in zip(rows, requests, strict=True)
    ]
    here.events.add(events)
    return [Linked(row.id) for row in rows]


@reads(STATS)
def stats(here: "Here", request: Stats) -> MemoryFigures:
    """Counts over the tenant and project, all classes: numbers only."""
    rules = memory_state(here).rules(here, request)
    of_claims = check_whole(request.who, "stats", rules.policy.boundary)
    figures = here.figures(request.who.tenant, request.who.project, of_claims, clock.time())
    counts, topics = figures.claims(), figures.events()
    asked = topics.get("search", 0) + topics.get("activate", 0)
    return MemoryFigures(
        claims=counts.live,
        by_kind=figures.claims_by("kind"),
        by_scope=figures.claims_by("scope"),
        by_class=figures.claims_by("boundary_class"),
        merged=counts.merged,
        without_vector=counts.without_vector,
        votes=figures.votes(),
        contexts=figures.contexts(),
        model=here.vectors.model(),
        fallback_rate=topics.get("search_fallback", 0) / asked if asked else None,
    )


@reads(EXPORT)
def export_page(here: "Here", request: ExportPage) -> Listed:
    """A page of all claims of the project, those that are shut to questions included, redacted once more."""
    rules = memory_state(here).rules(here, request)
    of_claims = check_whole(request.who, "export", rules.policy.boundary)
    fading = _fading(rules)
    rows = here.claims.of_project(
        request.who.tenant, request.who.project, of_claims, fading.now, after=request.after, limit=request.limit + 1
    )
    found = claims_of(here, rows[: request.limit], fading)
    return Listed([exported(claim, rules) for claim in found], more=len(rows) > request.limit)
