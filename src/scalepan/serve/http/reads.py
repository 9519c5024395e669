"""What can be read by GET: the policy, events, a claim, a decision."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from scalepan.serve import answers, decisions, pages, recalls
from scalepan.serve.envelope import Caller, Envelope
from scalepan.serve.http.request import respond, visit_of
from scalepan.serve.http.work import Work
from scalepan.serve.service import Service
from scalepan.serve.tools import SEARCH_SECONDS


class PolicyPage(Envelope, frozen=True, kw_only=True):
    """Every constant in force, by section, each with its version."""

    policy: dict[str, Any]


class EventsAnswer(Envelope, frozen=True, kw_only=True):
    """What happened last in the tenant, newest first: numbers and ids, no text."""

    events: list[dict[str, Any]]


class ClaimAnswer(Envelope, frozen=True, kw_only=True):
    """One claim, its text between the marks of this answer's fence."""

    claim: Annotated[dict[str, Any], Meta(description="Its id, text, kind, scope, boundary_class, numbers, dates.")]


class Read(NamedTuple):
    """One thing to read."""

    name: str
    path: str
    summary: str
    answer: type[Envelope]
    run: Callable[[Service, str, Caller], Envelope]
    """The service, the id in the path, and who asks."""


def _policy(service: Service, _: str, asked: Caller) -> PolicyPage:
    return PolicyPage(policy=pages.policy_page(service), **_ids(service, asked))


def _events(service: Service, _: str, asked: Caller) -> EventsAnswer:
    return EventsAnswer(events=pages.events(service, asked), **_ids(service, asked))


def _claim(service: Service, id_: str, asked: Caller) -> ClaimAnswer:
    found = recalls.claim(service, id_, asked)
    ids = {name: found.pop(name) for name in Envelope.__struct_fields__}
    return ClaimAnswer(claim=found, **ids)


def _decision(service: Service, id_: str, asked: Caller) -> answers.Decision:
    return decisions.decided(service, id_, asked)


def _decisions(service: Service, _: str, asked: Caller) -> answers.DecisionsAnswer:
    return answers.DecisionsAnswer(decisions=decisions.waiting(service, asked), **_ids(service, asked))


def _ids(service: Service, asked: Caller) -> dict[str, Any]:
    """What may be read is the boundary's to say, so its version goes along."""
    version = service.policy().version("boundary")
    return {"policy_version": version, "request_id": asked.request_id, "trace_id": asked.trace_id}


READS = (
    Read("policy", "/v1/policy", "Every constant in force", PolicyPage, _policy),
    Read("events", "/v1/events", "What happened last", EventsAnswer, _events),
    Read("claim", "/v1/memory/claims/{id}", "One claim", ClaimAnswer, _claim),
    Read("decisions", "/v1/decisions", "The questions that wait for a person", answers.DecisionsAnswer, _decisions),
    Read("decision", "/v1/decisions/{id}", "A decision, and what came of it", answers.Decision, _decision),
)


class ReadEndpoint:
    """The endpoint of one of them."""

    def __init__(self, read: Read, work: Work) -> None:
        self._read = read
        self._work = work

    async def __call__(self, scope: Any, _: Any, send: Any) -> None:
        """Answer a request."""
        incoming = visit_of(scope)
        incoming.operation = self._read.name
        work = partial(self._read.run, incoming.service, scope["path_params"].get("id", ""), incoming.caller)
        async with self._work.places.at_once():
            found = await self._work.run(SEARCH_SECONDS, "reading", work)
        await respond(send, 200, msgspec.to_builtins(found, enc_hook=str))
