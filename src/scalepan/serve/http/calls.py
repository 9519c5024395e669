"""A tool as an endpoint: one request, an array of them, or a stream of lines; each is answered by itself."""

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from scalepan.errors import InputError
from scalepan.serve import decisions
from scalepan.serve.envelope import Caller, failure
from scalepan.serve.http.body import BodyLine, media_type, whole
from scalepan.serve.http.limits import Limits
from scalepan.serve.http.refused import RefusedError
from scalepan.serve.http.request import NDJSON, HttpRequest, respond, visit_of
from scalepan.serve.http.stream import stream
from scalepan.serve.http.work import Work
from scalepan.serve.once import numbered, once
from scalepan.serve.tools import AgentTool, checked

R = TypeVar("R")
MOST_IN_ARRAY = 1000
TOGETHER, INSTANT_TOGETHER = 16, 512
"""Requests of one batch that are worked on at once: few where each takes a thread, so that others come through."""
QUICKLY_EXPLAINED = 1000
"""Bytes of requests that do not fit; what is wrong with so few is found before others notice."""

_NOT_READ = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode


class ToolEndpoint:
    """The endpoint of one tool."""

    def __init__(self, tool: AgentTool, work: Work, limits: Limits) -> None:
        self.tool = tool
        self._run = tool.run or decisions.decide
        self._work = work
        self._limits = limits
        self._decode = msgspec.json.Decoder(tool.request).decode
        self._together = INSTANT_TOGETHER if tool.instant else TOGETHER

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        incoming = visit_of(scope)
        incoming.operation = self.tool.name
        if media_type(incoming) == NDJSON:
            answer = partial(self._lines, incoming)
            await stream(receive, send, incoming, self._limits, self._together, answer)
            return
        body = await whole(receive, incoming, self._limits)
        async with self._work.places.at_once():
            answers = await (self._array if body.lstrip()[:1] == b"[" else self._single)(incoming, body)
        await respond(send, 200, answers)

    async def _lines(self, incoming: HttpRequest, found: Sequence[BodyLine]) -> list[Any]:
        """A stream goes on for as long as its token does, and waits for its turn as single requests do."""
        await incoming.still_admitted()
        async with self._work.places.in_time():
            return await self._many(incoming, "line", found)

    async def _single(self, incoming: HttpRequest, body: bytes) -> Any:
        [request] = await self._requests([body])
        if isinstance(request, Exception):
            raise request
        return await self._one(incoming, request, incoming.caller)

    async def _requests(self, texts: Sequence[bytes | None]) -> list[Any]:
        """Requests, or in their place what is wrong with them. Where that takes a while, a thread finds it out."""
        found = [self._quickly(text) for text in texts]
        wrong = [place for place, request in enumerate(found) if request is None]

        def explain() -> list[Any]:
            return [self._explained(texts[place]) for place in wrong]

        if sum(len(texts[place] or b"") for place in wrong) > QUICKLY_EXPLAINED:
            explained = await self._work.run(self.tool.seconds, "reading the request", explain)
        else:
            explained = explain()
        for place, request in zip(wrong, explained, strict=True):
            found[place] = request
        return found

    def _quickly(self, text: bytes | None) -> Any:
        """A request from its JSON; None where something is wrong."""
        try:
            return None if text is None else self._decode(text)
        except _NOT_READ:
            return None

    def _explained(self, text: bytes | None) -> Any:
        try:
            return self._request(text)
        except Exception as error:
            return error

    def _request(self, text: bytes | None) -> Any:
        """A request from its JSON; what does not fit is told in full."""
        if text is None:
            raise InputError(f"is over {self._limits.body:,} bytes")
        try:
            return self._decode(text)
        except _NOT_READ:  # it stops at the first fault, of the JSON or of what it says; now all are found
            return checked(self.tool, read_json(text, msgspec.json.decode))

    async def _one(self, incoming: HttpRequest, request: Any, caller: Caller) -> Any:
        work = partial(self._run, incoming.service, request, caller)
        if self.tool.keyed:
            work = partial(once, incoming.service, caller, self.tool.name, request, work)
        answer = await self._do(incoming, work)
        # A recall has the id of its event in the store; here the caller's own is kept, and the trace joins them.
        same = answer.request_id == caller.request_id
        return answer if same else msgspec.structs.replace(answer, request_id=caller.request_id)

    async def _do(self, incoming: HttpRequest, work: Callable[[], R]) -> R:
        if self.tool.instant and incoming.service.fresh_policy() is not None:
            return work()
        return await self._work.run(self.tool.seconds, self.tool.name, work)

    async def _array(self, incoming: HttpRequest, body: bytes) -> list[Any]:
        raw = read_json(body, _decode_array)
        if len(raw) > MOST_IN_ARRAY:
            raise InputError(
                f"{len(raw):,} requests in one array are too many: the limit is {MOST_IN_ARRAY:,}; "
                "application/x-ndjson has none"
            )
        items = [BodyLine(number, bytes(text)) for number, text in enumerate(raw)]
        answers: list[Any] = []
        for start in range(0, len(items), self._together):
            answers += await self._many(incoming, "item", items[start : start + self._together])
        return answers

    async def _many(self, incoming: HttpRequest, noun: str, items: Sequence[BodyLine]) -> list[Any]:
        """An answer for each, in their order; an error takes the place of the answer that it prevented."""
        asked = incoming.caller
        callers = [
            msgspec.structs.replace(
                asked, request_id=f"{asked.request_id}.{item.number}", key=numbered(asked.key, item.number)
            )
            for item in items
        ]
        done = await self._requests([item.text for item in items])
        good = [place for place, request in enumerate(done) if not isinstance(request, Exception)]
        requests, theirs = [done[place] for place in good], [callers[place] for place in good]
        if self.tool.many is not None:
            found: Sequence[Any] = await self._do(incoming, partial(self.tool.many, incoming.service, requests, theirs))
        else:
            each = map(partial(self._one, incoming), requests, theirs)
            found = await asyncio.gather(*each, return_exceptions=True)
        for place, answer in zip(good, found, strict=True):
            done[place] = answer
        return [
            _told(answer, caller, noun, item.number) if isinstance(answer, Exception) else answer
            for answer, caller, item in zip(done, callers, items, strict=True)
        ]


def read_json(text: bytes, decode: Callable[[bytes], R]) -> R:
    """What stands in a JSON text."""
    try:
        return decode(text)
    except _NOT_READ as error:
        told = str(error)
        if "truncated" in told and _SURROGATE.search(text):  # the decoder says so of a pair without its other half
            told = r"it is cut short, or has half of a surrogate pair (\ud800 to \udfff)"
        raise RefusedError(400, "VALIDATION_ERROR", f"not JSON: {told}") from None


def _told(error: Exception, caller: Caller, noun: str, number: int) -> dict[str, Any]:
    """An error envelope that says where in the batch it belongs."""
    told = failure(error, caller)
    told["error"][noun] = number
    return told
