"""A decision that a person may have to make: put into the store first, then asked, then answered. Any door may ask."""

from time import time
from typing import Any

import msgspec

from scalepan.confidence import gate
from scalepan.confidence.operations import APPROVED, EXPIRED, PENDING, AnswerQuestion, AskDecision, Decided
from scalepan.errors import ConflictError
from scalepan.serve import answers
from scalepan.serve.fence import clean, one_line
from scalepan.store import Store


def close(store: Store, tenant: str, id_: str, *, approve: bool, actor: str, why: str | None, expire: bool) -> None:
    """Keep what a person said. If another answer was quicker, or the time is up, that stands."""
    try:
        store.call("confidence.answer", AnswerQuestion(id_, approve, tenant, actor, why, expire))
    except ConflictError:
        return


def look_up(store: Store, tenant: str, id_: str) -> Decided:
    """A decision as it stands. What waited too long is expired, whether or not somebody wrote that down."""
    found: Decided = store.call("confidence.decision", AskDecision(id_, tenant))
    late = found.state == PENDING and found.expires_at is not None and time() > found.expires_at
    return msgspec.structs.replace(found, state=EXPIRED) if late else found


def question_text(found: Decided) -> str:
    """What a person is asked about a decision that waits."""
    return gate.question_text(one_line(found.action, gate.SHOWN_ACTION), found.reason)


def as_answer(found: Decided, **envelope: str) -> answers.Decision:
    """A decision for whoever asked for it; one that waits comes with its question."""
    waiting: dict[str, Any] = {}
    if found.state == PENDING:
        waiting["question"] = question_text(found)
        waiting["how_to_answer"] = (
            f"Not allowed yet. Ask the person, who answers with 'scalepan confidence answer {found.id} yes' (or no). "
            f'Then call decide with {{"decision": "{found.id}"}}.'
        )
    return answers.Decision(
        decision_id=found.id,
        allowed=found.state == APPROVED,
        state=found.state,
        level=found.level,
        confidence=found.confidence,
        why=clean(found.why or found.reason),
        decided_by=one_line(found.decided_by) if found.decided_by else None,
        **waiting,
        **envelope,
    )
