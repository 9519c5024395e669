"""What the store keeps of decisions: the question before it is asked, who answered it, and what was learned."""

from collections.abc import Sequence
from functools import cache
from time import time
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from scalepan.confidence.receipt import inputs_of
from scalepan.errors import ConflictError, NotFoundError
from scalepan.redact import Redactor
from scalepan.store.operations import insert_rows, reads, utc_now, writes
from scalepan.store.receipts import Receipt, write_receipts
from scalepan.store.tables import AddEvent, add_event, new_id

if TYPE_CHECKING:
    from scalepan.store import Here

PENDING, APPROVED, DENIED, EXPIRED = "pending", "approved", "denied", "expired"
DECISION_COLUMNS = {
    "id": "VARCHAR",
    "ts": "TIMESTAMP",
    "tenant": "VARCHAR",
    "score_id": "VARCHAR",
    "level": "VARCHAR",
    "body": "JSON",
}
LABEL_COLUMNS = {
    "id": "VARCHAR",
    "ts": "TIMESTAMP",
    "tenant": "VARCHAR",
    "target_id": "VARCHAR",
    "label": "VARCHAR",
    "actor": "VARCHAR",
    "body": "JSON",
}
RIGHT, WRONG = "right", "wrong"


class Decided(msgspec.Struct, frozen=True):
    """A decision as it is kept."""

    id: str
    at: str
    level: str
    action: str
    reason: str
    state: str
    """pending, approved, denied or expired; `approved` too where nobody had to be asked."""
    confidence: float | None
    decided_by: str | None = None
    why: str | None = None
    expires_at: float | None = None


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision, made or still to be made by a person."""

    level: str
    action: str
    reason: str
    state: str
    confidence: float | None
    tenant: str = "default"
    factors: Any = None
    score: Any = None
    policy_version: str = ""
    decided_by: str | None = None
    why: str | None = None
    expires_at: float | None = None
    asked: bool = False
    """Whether a person decided; then the answer is a label."""
    constants: Any = None
    """Those of the formula, so that the number can be made again."""


class Recorded(msgspec.Struct, frozen=True):
    """The decision's id."""

    id: str


@writes("confidence.record", Record, Recorded)
def record(here: "Here", requests: Sequence[Record]) -> list[Recorded]:
    """Keep decisions with the score that they came from."""
    now = utc_now()
    decisions: list[dict[str, Any]] = []
    receipts: list[Receipt] = []
    labels: list[dict[str, Any]] = []
    events: list[AddEvent] = []
    for request in map(_redacted, requests):
        id_ = new_id("dec")
        receipt = Receipt(
            name="confidence",
            value=request.confidence,
            inputs=inputs_of(request.factors, request.score, request.constants, request.policy_version),
            body=request.score,
            policy_version=request.policy_version,
            tenant=request.tenant,
            subject=id_,
        )
        receipts.append(receipt)
        body = {
            "action": request.action,
            "reason": request.reason,
            "state": request.state,
            "confidence": request.confidence,
            "decided_by": request.decided_by,
            "why": request.why,
            "expires_at": request.expires_at,
        }
        decisions.append(
            {
                "id": id_,
                "ts": now,
                "tenant": request.tenant,
                "score_id": receipt.id,
                "level": request.level,
                "body": _json(body),
            }
        )
        if request.asked and request.state in (APPROVED, DENIED):
            labels.append(_label(id_, request.tenant, request.state, request.decided_by, request.why, now))
        payload = {"decision": id_, "level": request.level, "state": request.state}
        events.append(AddEvent("decision", payload, request.tenant))
    insert_rows(here.connection, "decisions", DECISION_COLUMNS, decisions)
    write_receipts(here.connection, receipts)
    if labels:
        insert_rows(here.connection, "labels", LABEL_COLUMNS, labels)
    add_event(here, events)
    return [Recorded(row["id"]) for row in decisions]


@cache
def _redactor() -> Redactor:
    return Redactor()


def _redacted(request: Any) -> Any:
    """What people and programs wrote, without secrets and personal data: it is kept, and shown to others."""
    texts = {name: getattr(request, name, None) for name in ("action", "why", "actor", "decided_by")}
    return msgspec.structs.replace(request, **{name: _redactor().redact(text).text for name, text in texts.items() if text})


def _label(id_: str, tenant: str, state: str, actor: str | None, why: str | None, now: Any) -> dict[str, Any]:
    return {
        "id": new_id("lbl"),
        "ts": now,
        "tenant": tenant,
        "target_id": id_,
        "label": RIGHT if state == APPROVED else WRONG,
        "actor": actor,
        "body": _json({"why": why}),
    }


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


class AnswerQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person says to a question that waits."""

    id: str
    approve: bool
    tenant: str = "default"
    actor: str | None = None
    why: str | None = None
    expire: bool = False
    """Nobody answered in time: nothing is learned from that."""


@writes("confidence.answer", AnswerQuestion, Decided)
def answer(here: "Here", requests: Sequence[AnswerQuestion]) -> list[Decided]:
    """Answer questions. One that was answered or is too old cannot be answered again."""
    return [_answered(here, _redacted(request)) for request in requests]


def _answered(here: "Here", request: AnswerQuestion) -> Decided:
    found = _decision(here, request.id, request.tenant)
    if found.state != PENDING:
        raise ConflictError(
            f"'{request.id}' is {found.state} already{f', by {found.decided_by}' if found.decided_by else ''}"
        )
    late = found.expires_at is not None and time() > found.expires_at
    if late and not request.expire:
        raise ConflictError(f"'{request.id}' waited too long, and was not done")
    state = EXPIRED if request.expire else APPROVED if request.approve else DENIED
    changed = msgspec.structs.replace(found, state=state, decided_by=request.actor, why=request.why)
    body = {name: getattr(changed, name) for name in changed.__struct_fields__ if name not in ("id", "at", "level")}
    here.connection.execute("UPDATE decisions SET body = ? WHERE id = ?", [_json(body), request.id])
    if state != EXPIRED:
        label = _label(request.id, request.tenant, state, request.actor, request.why, utc_now())
        insert_rows(here.connection, "labels", LABEL_COLUMNS, [label])
    add_event(here, [AddEvent("decision", {"decision": request.id, "state": state}, request.tenant)])
    return changed


class AskDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision by its id."""

    id: str
    tenant: str = "default"


@reads("confidence.decision", AskDecision, Decided)
def decision(here: "Here", request: AskDecision) -> Decided:
    """One decision."""
    return _decision(here, request.id, request.tenant)


def _decision(here: "Here", id_: str, tenant: str) -> Decided:
    row = here.connection.execute(
        "SELECT id, ts::TEXT, level, body::TEXT FROM decisions WHERE id = ? AND tenant = ?", [id_, tenant]
    ).fetchone()
    if row is None:
        raise NotFoundError(f"no decision '{id_}' here")
    return _decided(row)


class AskDecisions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Decisions of a tenant, newest first: those that wait, or all."""

    tenant: str = "default"
    pending: bool = True
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class Decisions(msgspec.Struct, frozen=True):
    """A list of them."""

    decisions: list[Decided]


@reads("confidence.decisions", AskDecisions, Decisions)
def decisions(here: "Here", request: AskDecisions) -> Decisions:
    """What waits for an answer, or what was decided."""
    waiting = "AND (body->>'state') = 'pending' AND (body->>'expires_at')::DOUBLE > ?" if request.pending else "AND ? >= 0"
    rows = here.connection.execute(
        f"SELECT id, ts::TEXT, level, body::TEXT FROM decisions WHERE tenant = ? {waiting} "  # noqa: S608 - constants
        f"ORDER BY ts DESC, rowid DESC LIMIT {request.limit:d}",
        [request.tenant, time()],
    ).fetchall()
    return Decisions([_decided(row) for row in rows])


def _decided(row: Sequence[Any]) -> Decided:
    return Decided(id=row[0], at=row[1], level=row[2], **msgspec.json.decode(row[3]))
