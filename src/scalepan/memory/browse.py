"""Looking around: one claim, a list, links between claims and what they are about, a page of an export, figures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan import clock
from scalepan.errors import NotFoundError
from scalepan.memory.claim import Claim
from scalepan.memory.claims import claim_at, select_claims
from scalepan.memory.ingest.add import clean_text, redacted_claim
from scalepan.memory.recall.boundary import check_whole, reach, reach_to_change
from scalepan.memory.recall.search import outgoing
from scalepan.memory.requests import (
    EXPORT,
    GET,
    LINK,
    LIST,
    STATS,
    ExportPage,
    Figures,
    Get,
    Got,
    Link,
    Linked,
    List,
    Listed,
    Stats,
)
from scalepan.memory.state import MODEL_KEY, memory_state
from scalepan.store.duckdb.reach import reach_sql, rules_sql
from scalepan.store.duckdb.values import utc
from scalepan.store.ids import new_id
from scalepan.store.operation import Operation, changes, commits, reads
from scalepan.store.operations import insert_rows
from scalepan.store.own import AddEvent
from scalepan.store.reach import Reach

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.store import Here


@reads(GET)
def get(here: "Here", request: Get) -> Got:
    """One claim that the caller may read."""
    rules = memory_state(here).rules(here, request)
    within = reach(request.who, "get", rules.policy.boundary)
    claim = claim_at(here.connection, request.claim, within, clock.time(), rules.policy.retrieval.feedback)
    return Got(outgoing(claim, rules, within))


@reads(LIST)
def list_claims(here: "Here", request: List) -> Listed:
    """A page of the claims that the caller may read."""
    rules = memory_state(here).rules(here, request)
    within = reach(request.who, "list", rules.policy.boundary, request.scopes)
    where, values = reach_sql(within)
    if request.kinds is not None:
        where += f" AND kind IN ({', '.join('?' * len(request.kinds)) or 'NULL'})"
        values += request.kinds
    if request.after is not None:
        where += (
            " AND (coalesce(updated_at, created_at), id) < "
            "(SELECT (coalesce(updated_at, created_at), id) FROM claims WHERE id = ?)"
        )
        values.append(request.after)
    order = f"ORDER BY coalesce(updated_at, created_at) DESC, id DESC LIMIT {request.limit + 1:d}"
    found = select_claims(here.connection, f"{where} {order}", values, clock.time(), rules.policy.retrieval.feedback)
    page = [outgoing(claim, rules, within) for claim in found[: request.limit]]
    return Listed(page, more=len(found) > request.limit)


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


def _check_ends(connection: "DuckDBPyConnection", request: _Link) -> None:
    """Both ends must be there in the transaction that links them: one may have been forgotten meanwhile."""
    link = request.link
    where, values = reach_sql(request.within, merged=True)
    for id_ in (link.source, link.target):
        found = connection.execute(
            f"SELECT 1 FROM claims WHERE {where} AND id = ? "
            "UNION ALL SELECT 1 FROM entities WHERE tenant = ? AND id = ?",
            [*values, id_, link.who.tenant, id_],
        ).fetchone()
        if found is None:
            raise NotFoundError(f"no claim or entity '{id_}' here")


RELATE = Operation("memory.relate", _Link, Linked, internal=True)


@commits(RELATE)
def relate(here: "Here", requests: Sequence[_Link]) -> list[Linked]:
    """Write relations."""
    for request in requests:
        _check_ends(here.connection, request)
    rows: list[dict[str, Any]] = [
        {
            "id": new_id("rel"),
            "ts": utc(clock.time()),
            "tenant": request.link.who.tenant,
            "source_id": request.link.source,
            "target_id": request.link.target,
            "kind": request.link.kind,
        }
        for request in requests
    ]
    columns = {name: "TIMESTAMP" if name == "ts" else "VARCHAR" for name in rows[0]}
    insert_rows(here.connection, "relations", columns, rows)
    events = [
        AddEvent(
            "ingest",
            {"linked": row["id"]},
            row["tenant"],
            request.request_id,
            request.link.who.trace_id,
            request.link.who.project,
        )
        for row, request in zip(rows, requests, strict=True)
    ]
    here.events.add(events)
    return [Linked(row["id"]) for row in rows]


@reads(STATS)
def stats(here: "Here", request: Stats) -> Figures:
    """Counts over the tenant and project, all classes: numbers only."""
    connection = here.connection
    rules = memory_state(here).rules(here, request)
    now = clock.time()
    conditions, bound = rules_sql(check_whole(request.who, "stats", rules.policy.boundary), now)
    theirs = "tenant = ? AND project IS NOT DISTINCT FROM ?"
    mine = " AND ".join([theirs, *conditions])
    whose = [request.who.tenant, request.who.project]
    who = [*whose, *bound]

    def counts(query: str, values: list[Any]) -> dict[str, int]:
        return {str(key): int(count) for key, count in connection.execute(query, values).fetchall()}

    def by(column: str) -> dict[str, int]:
        return counts(
            f"SELECT {column}, count(*) FROM claims WHERE {mine} AND merged_into IS NULL GROUP BY 1 ORDER BY 2 DESC, 1",
            who,
        )

    topics = counts("SELECT topic, count(*) FROM events WHERE tenant = ? GROUP BY 1", who[:1])
    asked = topics.get("search", 0) + topics.get("activate", 0)
    row = connection.execute(
        f"SELECT count(*) FILTER (merged_into IS NULL), count(*) FILTER (merged_into IS NOT NULL), "
        f"count(*) FILTER (merged_into IS NULL AND id NOT IN (SELECT claim_id FROM claim_vectors)) "
        f"FROM claims WHERE {mine}",
        who,
    ).fetchone() or (0, 0, 0)
    contexts = connection.execute(
        f"SELECT count(*) FROM active_contexts WHERE {theirs} AND expires_at > ?", [*whose, utc(now)]
    ).fetchone() or (0,)
    model = connection.execute("SELECT value FROM meta WHERE key = ?", [MODEL_KEY]).fetchone()
    return Figures(
        claims=row[0],
        by_kind=by("kind"),
        by_scope=by("scope"),
        by_class=by("boundary_class"),
        merged=row[1],
        without_vector=row[2],
        votes=counts(
            "SELECT signal, count(*) FROM feedbacks WHERE undone_at IS NULL AND signal IN "
            f"('helpful', 'harmful', 'outdated', 'duplicate') AND claim_id IN (SELECT id FROM claims WHERE {mine}) "
            "GROUP BY 1 ORDER BY 1",
            who,
        ),
        contexts=contexts[0],
        model=model[0] if model else None,
        fallback_rate=topics.get("search_fallback", 0) / asked if asked else None,
    )


@reads(EXPORT)
def export_page(here: "Here", request: ExportPage) -> Listed:
    """A page of all claims of the project, those that are shut to questions included, redacted once more."""
    rules = memory_state(here).rules(here, request)
    now = clock.time()
    conditions, bound = rules_sql(check_whole(request.who, "export", rules.policy.boundary), now)
    mine = "(project IS NOT DISTINCT FROM ? OR project IS NULL AND scope = 'principle')"
    where = " AND ".join([f"tenant = ? AND {mine} AND merged_into IS NULL AND id > ?", *conditions])
    found = select_claims(
        here.connection,
        f"{where} ORDER BY id LIMIT {request.limit + 1:d}",
        [request.who.tenant, request.who.project, request.after or "", *bound],
        now,
        rules.policy.retrieval.feedback,
    )
    page = [redacted_claim(claim, _redactor(claim, rules)) for claim in found[: request.limit]]
    return Listed(page, more=len(found) > request.limit)


def _redactor(claim: Claim, rules: Any) -> Any:
    return rules.secrets_only if claim.boundary_class == "pii" else rules.redactor
