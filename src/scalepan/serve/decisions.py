"""Decisions: whether an action may be done, what a person is asked about it, and what they say."""

from typing import TYPE_CHECKING, NamedTuple

from scalepan.errors import BoundaryError, InputError
from scalepan.inforce import as_sent
from scalepan.names import check_id
from scalepan.serve import answers, requests
from scalepan.serve.envelope import Caller
from scalepan.serve.fence import clean, one_line
from scalepan.serve.judging import factors_of
from scalepan.serve.service import Service

if TYPE_CHECKING:
    from scalepan.confidence.gate import Opened


class Said(NamedTuple):
    """What a person said to a question, or that nobody did in time."""

    approve: bool
    why: str | None = None
    expire: bool = False


def decide(service: Service, request: requests.Decide, asked: Caller) -> answers.Decision:
    """Decide, where nobody can be asked from here: what needs a person waits in the store."""
    if request.decision is not None and request.action is None and request.factors is None:
        return decided(service, request.decision, asked)
    return decided(service, open_decision(service, request, asked).id, asked)


def open_decision(service: Service, request: requests.Decide, asked: Caller) -> "Opened":
    """Decide about an action: at once, or as a question in the store for a person."""
    from scalepan.confidence import Gate

    if request.action is None or request.factors is None or request.decision is not None:
        raise InputError("give 'action' and 'factors', or 'decision' alone", path="action")
    settings = service.settings
    actor = asked.identity or (f"MCP client {asked.client}" if asked.client else "a client without a token")
    gate = Gate(service.policy(), store=service.store, tenant=settings.tenant, project=settings.project, actor=actor)
    return gate.open(factors_of(request.factors), clean(request.action), request.args or None)


def question(service: Service, id_: str, asked: Caller) -> str | None:
    """What to ask a person about a decision; None where it does not wait any more."""
    from scalepan.confidence.requests import PENDING
    from scalepan.serve.question import look_up, question_text

    found = look_up(service.store, service.settings.tenant, id_, asked.project)
    return question_text(found) if found.state == PENDING else None


def answer(service: Service, id_: str, said: Said, asked: Caller) -> None:
    """Keep what a person said to a question in a form of the client that asked."""
    from scalepan.confidence.requests import AnswerQuestion
    from scalepan.serve.question import close

    who = f"a person at {asked.client or 'an MCP client'}"
    redact = as_sent(service.policy())
    close(
        service.store,
        AnswerQuestion(id_, said.approve, service.settings.tenant, who, said.why, said.expire, redact=redact),
    )


def answer_decision(service: Service, id_: str, request: requests.AnswerRequest, asked: Caller) -> answers.Decision:
    """Answer a question by its id, with a token that may. Not one that it asked itself."""
    from scalepan.confidence.requests import AnswerQuestion

    _check_may_answer(asked)
    service.store.call(
        "confidence.answer",
        AnswerQuestion(
            check_id(id_),
            request.approve,
            service.settings.tenant,
            request.actor,
            request.why,
            identity=asked.identity,
            project=asked.project,
            redact=as_sent(service.policy()),
        ),
    )
    return decided(service, id_, asked)


def waiting(service: Service, asked: Caller) -> list[answers.Waiting]:
    """The questions that a token that may answer can answer."""
    from scalepan.confidence.requests import AskDecisions
    from scalepan.serve.question import question_text

    _check_may_answer(asked)
    wanted = AskDecisions(service.settings.tenant, project=asked.project)
    return [
        answers.Waiting(
            decision_id=found.id,
            question=question_text(found),
            level=found.level,
            confidence=found.confidence,
            asked_by=one_line(found.asked_by) if found.asked_by else None,
            asked_at=found.at,
        )
        for found in service.store.call("confidence.decisions", wanted).decisions
    ]


def decided(service: Service, id_: str, asked: Caller) -> answers.Decision:
    """A decision as it stands."""
    from scalepan.serve.question import as_answer, how_to_answer, look_up

    found = look_up(service.store, service.settings.tenant, check_id(id_), asked.project)
    how = how_to_answer(found.id, service.store, service.settings.tenant, remote=asked.identity is not None)
    return as_answer(found, how, **service.envelope(asked, "confidence"))


def _check_may_answer(asked: Caller) -> None:
    if not asked.may_answer:
        raise BoundaryError("answering needs a token that may: scalepan serve token create --may-answer")
