"""A person's answer to a question that waits, from a program with a token that may answer.

It is no tool: a tool would be listed to the agents that ask.
"""

from functools import partial
from typing import Any

import msgspec

from scalepan.errors import InputError
from scalepan.serve import decisions, requests
from scalepan.serve.http.body import media_type, whole
from scalepan.serve.http.calls import read_json
from scalepan.serve.http.limits import Limits
from scalepan.serve.http.refused import RefusedError
from scalepan.serve.http.request import JSON, respond, visit_of
from scalepan.serve.http.work import Work
from scalepan.serve.once import once
from scalepan.serve.tools import OTHER_SECONDS, as_request

PATH = "/v1/decisions/{id}/answer"
NAME = "answer_decision"


class Answering:
    """The endpoint."""

    def __init__(self, work: Work, limits: Limits) -> None:
        self._work = work
        self._limits = limits

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        incoming = visit_of(scope)
        incoming.operation = NAME
        if media_type(incoming) != JSON:
            raise RefusedError(415, "VALIDATION_ERROR", "the body has to be application/json")
        body = await whole(receive, incoming, self._limits)
        said = read_json(body, msgspec.json.decode)
        if not isinstance(said, dict):
            raise InputError("the body has to be one object")
        request = as_request(said, requests.AnswerRequest)
        id_, service, asked = scope["path_params"]["id"], incoming.service, incoming.caller
        answer = partial(decisions.answer_decision, service, id_, request, asked)
        work = partial(once, service, asked, f"{NAME} {id_}", request, answer)
        async with self._work.places.at_once():
            found = await self._work.run(OTHER_SECONDS, NAME, work)
        await respond(send, 200, found)
