"""One request on its way through the server: who asks, for whom, and what it comes to."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import uuid4

import msgspec

from scalepan.serve.envelope import Caller, caller
from scalepan.serve.http.refused import Header
from scalepan.serve.service import Service

JSON, NDJSON = b"application/json", b"application/x-ndjson"
_REQUEST_ID = re.compile(rb"[\w.:-]{1,100}", re.ASCII)
_encode = msgspec.json.Encoder(enc_hook=str).encode


class HttpRequest:
    """What the guard finds out about a request, and the endpoints use. It stands in the scope under KEY."""

    KEY = "scalepan"
    service: Service
    """Given by the guard; whoever looks for it before that has made a mistake."""
    still_admitted: Callable[[], Awaitable[None]]
    """Given by the guard too: RefusedError once the token opens nothing more; waits for the next turn."""
    __slots__ = (
        *("body_read", "caller", "service", "headers", "operation", "received", "sent", "status"),
        *("still_admitted", "token"),
    )

    def __init__(self, headers: Mapping[bytes, bytes]) -> None:
        self.headers = headers
        given = headers.get(b"x-request-id", b"")
        id_ = given.decode() if _REQUEST_ID.fullmatch(given) else uuid4().hex
        traceparent = headers.get(b"traceparent")
        trace_id = caller({"traceparent": traceparent.decode("latin-1")}).trace_id if traceparent else uuid4().hex
        self.caller = Caller(id_, trace_id)
        self.token: str | None = None
        self.operation = "other"
        self.status = 0
        self.received = self.sent = 0
        self.body_read = False


def visit_of(scope: Mapping[str, Any]) -> HttpRequest:
    """The request that a scope belongs to."""
    incoming: HttpRequest = scope[HttpRequest.KEY]
    return incoming


async def respond(send: Any, status: int, data: Any, headers: tuple[Header, ...] = (), *, more: bool = False) -> None:
    """An answer as JSON, or as it is where it is bytes already. With `more` the exchange stays open behind it."""
    body = data if isinstance(data, bytes) else _encode(data)
    start = [(b"content-length", b"%d" % len(body)), *headers]
    if not any(name == b"content-type" for name, _ in headers):
        start.append((b"content-type", JSON))
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body, "more_body": more})
