"""A decision that a person may have to make: put into the store first, then asked, then answered. Any door may ask."""

import shlex
from time import time
from typing import Any

import msgspec

from scalepan.confidence import question
from scalepan.confidence.requests import APPROVED, EXPIRED, PENDING, AnswerQuestion, AskDecision, Decided
from scalepan.errors import ConflictError
from scalepan.serve import answers
from scalepan.serve.fence import clean, one_line
from scalepan.store import Store

DEFAULT = "default"
LONGEST_CALL = 6_000
"""Characters of a call; the gate has cut each argument already, so this cuts none of them off."""


def close(store: Store, request: AnswerQuestion) -> None:
    """Keep what a person said. If another answer was quicker, or the time is up, that stands."""
    try:
        store.call("confidence.answer", request)
    except ConflictError:
        return


def look_up(store: Store, tenant: str, id_: str, project: str | None) -> Decided:
    """A decision as it stands, of one project or of any. What waited too long is expired, written down or not."""
    found: Decided = store.call("confidence.decision", AskDecision(id_, tenant, project))
    late = found.state == PENDING and found.expires_at is not None and time() > found.expires_at
    return msgspec.structs.replace(found, state=EXPIRED) if late else found


def question_text(found: Decided) -> str:
    """What a person is asked about a decision that waits."""
    call = found.call or f'"{found.action}"'
    return question.question_text(one_line(call, LONGEST_CALL), one_line(found.because or found.reason, LONGEST_CALL))


def how_to_answer(id_: str, store: Store, tenant: str, *, remote: bool) -> str:
    """Who can answer, and the whole command. Where the store lies is nothing to a caller from elsewhere."""
    path = store.path.name if remote else str(store.path)
    options = ["--store", path, *(["--tenant", tenant] if tenant != DEFAULT else [])]
    command = shlex.join(["scalepan", "confidence", "answer", id_, "yes", *options])
    over_http = f", or by POST /v1/decisions/{id_}/answer with a token that may answer" if remote else ""
    return (
        f"Not allowed yet. Ask the person, who answers with '{command}' (or no){over_http}. Whoever asked cannot. "
        f'Then call decide with {{"decision": "{id_}"}}.'
    )


def as_answer(found: Decided, how: str, **envelope: str) -> answers.Decision:
    """A decision for whoever asked for it; one that waits comes with its question, and how it is answered."""
    waiting: dict[str, Any] = {}
    if found.state == PENDING:
        waiting = {"question": question_text(found), "how_to_answer": how}
    return answers.Decision(
        decision_id=found.id,
        allowed=found.state == APPROVED,
        state=found.state,
        level=found.level,
        confidence=found.confidence,
        why=clean(found.why or found.reason),
        decided_by=one_line(found.decided_by) if found.decided_by else None,
        call=one_line(found.call, LONGEST_CALL) if found.call else None,
        **waiting,
        **envelope,
    )
