"""What the store keeps of decisions: the question before it is asked, who answered it, and what was learned."""

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan import clock
from scalepan.confidence.receipt import inputs_of
from scalepan.confidence.requests import (
    ANSWER,
    APPROVED,
    DECISION,
    DECISIONS,
    DENIED,
    EXPIRED,
    LABEL,
    PENDING,
    RECORD,
    AnswerQuestion,
    AskDecision,
    AskDecisions,
    Decided,
    DecisionList,
    LabelDecision,
    Labelled,
    Record,
    Recorded,
    folded,
)
from scalepan.errors import BoundaryError, ConflictError, NotFoundError, shorten
from scalepan.inforce import redacted, redactor_for
from scalepan.store.ids import new_id
from scalepan.store.operation import commits, reads
from scalepan.store.own import AddEvent
from scalepan.store.receipts import Receipt
from scalepan.store.rows import DecisionRow, LabelRow
from scalepan.store.table import time_text

if TYPE_CHECKING:
    from scalepan.store import Here

RIGHT, WRONG = "right", "wrong"


KEPT = (
    *("action", "reason", "state", "confidence", "decided_by", "why", "expires_at", "call", "because", "asked_by"),
    *("asker", "process", "project"),
)
"""What of a decision stands in its body."""


@commits(RECORD)
def record(here: "Here", requests: Sequence[Record]) -> list[Recorded]:
    """Keep decisions with the score that they came from."""
    now = clock.time()
    decisions: list[DecisionRow] = []
    receipts: list[Receipt] = []
    events: list[AddEvent] = []
    for given in requests:
        request = _redacted(here, given)
        id_ = new_id("dec")
        receipt = Receipt(
            name="confidence",
            value=request.confidence,
            inputs=inputs_of(request.factors, request.score, request.constants, request.policy_version, request.gate),
            body=request.score,
            policy_version=request.policy_version,
            tenant=request.tenant,
            project=request.project,
            subject=id_,
        )
        receipts.append(receipt)
        body = {name: getattr(request, name) for name in KEPT if name != "asker"}
        body["asker"] = _digest(id_, given.asked_by) if given.asked_by else ""
        decisions.append(DecisionRow(id_, now, request.tenant, receipt.id, request.level, _json(body)))
        payload = {"decision": id_, "level": request.level, "state": request.state}
        events.append(AddEvent("decision", payload, request.tenant, project=request.project))
    here.decisions.add(decisions)
    here.scores.add(receipts)
    here.events.add(events)
    return [Recorded(row.id) for row in decisions]


TEXTS = {"action": 10_000, "reason": 2_000, "why": 2_000, "call": 10_000, "because": 2_000}
"""What people and programs wrote, with how many characters of it are kept."""
NAMES = ("actor", "decided_by", "asked_by", "identity")
LONGEST_NAME = 200


def _redacted(here: "Here", request: Any) -> Any:
    """The same without secrets, personal data and control characters: it is kept, and shown to others."""
    redactor = redactor_for(here, request.redact, request.tenant, request.project)
    changed: dict[str, Any] = {}
    for name, limit in {**TEXTS, **dict.fromkeys(NAMES, LONGEST_NAME)}.items():
        if text := getattr(request, name, None):
            found = redacted(text, redactor)
            changed[name] = found if len(found) <= limit else found[: limit - 1] + "…"
    if getattr(request, "score", None) is not None:
        changed["score"] = redacted(request.score, redactor)
    return msgspec.structs.replace(request, **changed)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


@commits(ANSWER)
def answer(here: "Here", requests: Sequence[AnswerQuestion]) -> list[Decided]:
    """Answer questions. One that was answered or is too old cannot be answered again, and nobody answers their own.

    An answer is not a label: whether it was right to approve is known later, and said by `confidence.label`.
    """
    return [_answered(here, request) for request in requests]


def _answered(here: "Here", given: AnswerQuestion) -> Decided:
    request = _redacted(here, given)
    found = _decision(here, request.id, request.tenant, request.project)
    if found.state != PENDING:
        raise _settled(found)
    if not request.expire:
        _refuse_asker(found, given.actor, given.identity)
    late = found.expires_at is not None and clock.time() > found.expires_at
    if late and not request.expire:
        raise ConflictError(f"'{request.id}' waited too long, and was not done")
    state = EXPIRED if request.expire else APPROVED if request.approve else DENIED
    by = request.actor or request.identity
    if request.actor and request.identity and request.actor != request.identity:
        by = f"{request.actor} ({request.identity})"
    changed = msgspec.structs.replace(found, state=state, decided_by=by, why=request.why)
    body = {name: getattr(changed, name) for name in KEPT}
    if not here.decisions.settle(request.id, request.tenant, _json(body)):
        raise _settled(_decision(here, request.id, request.tenant))
    payload = {"decision": request.id, "state": state}
    here.events.add([AddEvent("decision", payload, request.tenant, project=found.project)])
    return changed


def _settled(found: Decided) -> ConflictError:
    by = f", by {found.decided_by}" if found.decided_by else ""
    return ConflictError(f"'{found.id}' is {found.state} already{by}")


def _refuse_asker(found: Decided, *names: str | None) -> None:
    """BoundaryError for whoever asked: a question that its asker may answer is not a question."""
    if found.asker and any(name and _digest(found.id, name) == found.asker for name in names):
        raise BoundaryError(
            f"'{found.id}' was asked by {found.asked_by}, who cannot answer it; another person or token must"
        )


def _digest(id_: str, name: str) -> str:
    """Of a name, salted with the decision."""
    return sha256(f"{id_} {folded(name)}".encode("utf-8", "replace")).hexdigest()[:32]


@commits(LABEL)
def label(here: "Here", requests: Sequence[LabelDecision]) -> list[Labelled]:
    """Keep labels. The last one of a decision counts; whoever asked gives none."""
    rows: list[LabelRow] = []
    for given in requests:
        request = _redacted(here, given)
        found = _decision(here, request.id, request.tenant, request.project)
        _refuse_asker(found, given.actor, given.identity)
        rows.append(
            LabelRow(
                id=new_id("lbl"),
                ts=clock.time(),
                tenant=request.tenant,
                target_id=request.id,
                label=RIGHT if request.right else WRONG,
                actor=request.actor or request.identity,
                body=_json({"why": request.why}),
            )
        )
    here.labels.add(rows)
    return [Labelled(row.id, row.target_id, row.label) for row in rows]


@reads(DECISION)
def decision(here: "Here", request: AskDecision) -> Decided:
    """One decision."""
    return _decision(here, request.id, request.tenant, request.project)


def _decision(here: "Here", id_: str, tenant: str, project: str | None = None) -> Decided:
    row = here.decisions.get(id_, tenant)
    (found,) = _decided(here, tenant, [row]) if row is not None else (None,)
    if found is None or (project is not None and found.project != project):
        raise NotFoundError(f"no decision '{shorten(id_)}' here")
    return found


@reads(DECISIONS)
def decisions(here: "Here", request: AskDecisions) -> DecisionList:
    """What waits for an answer, or what was decided."""
    pending_at = clock.time() if request.pending else None
    rows = here.decisions.newest(request.tenant, request.project, request.limit, pending_at=pending_at)
    return DecisionList(_decided(here, request.tenant, rows))


def _decided(here: "Here", tenant: str, rows: Sequence[DecisionRow]) -> list[Decided]:
    """Decisions with the labels that count, where somebody gave one."""
    labels = here.labels.last_of(tenant, [row.id for row in rows])
    return [
        Decided(
            id=row.id,
            at=time_text(row.ts),
            level=row.level,
            label=labels[row.id].label if row.id in labels else None,
            **msgspec.json.decode(row.body),
        )
        for row in rows
    ]
