"""The guard before every endpoint: is the request meant for us, who sends it, may it come in, and how did it go?

Plain ASGI: one function call around the endpoint. It is also where every error becomes an envelope.
"""

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from time import perf_counter
from typing import Any

import msgspec
from starlette.exceptions import HTTPException

from scalepan.errors import InputError
from scalepan.names import check_label
from scalepan.serve.envelope import failure
from scalepan.serve.http.body import linger
from scalepan.serve.http.hosts import Hosts
from scalepan.serve.http.limits import Buckets, Limits
from scalepan.serve.http.metrics import Metrics
from scalepan.serve.http.refused import CLIENT_GONE, GoneAwayError, Header, RefusedError, status_of
from scalepan.serve.http.request import HttpRequest, respond
from scalepan.serve.http.services import Services
from scalepan.serve.once import check_key
from scalepan.serve.operations import Token
from scalepan.serve.tokens import Book

OPEN = frozenset({"/", "/healthz", "/openapi.json"})
"""What anybody may see."""
MCP = "/mcp"
_PATH = re.compile(rb"/[\w.~/:-]{0,220}", re.ASCII)
_NAME = re.compile(rb"[!-~]{1,200}")
_ONCE = (
    b"host",
    b"origin",
    b"authorization",
    b"content-type",
    b"content-length",
    b"scalepan-project",
    b"scalepan-session",
    b"idempotency-key",
)
_HEADERS: tuple[Header, ...] = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
_BEARER = re.compile(rb"bearer +(\S+) *", re.IGNORECASE)


class Guard:
    """Wraps the routes. `must_have_token` is for servers that others can reach."""

    def __init__(
        self,
        app: Any,
        *,
        services: Services,
        book: Book,
        hosts: Hosts,
        limits: Limits,
        metrics: Metrics,
        must_have_token: bool,
    ) -> None:
        self._app = app
        self._services = services
        self._book = book
        self._hosts = hosts
        self._limits = limits
        self._metrics = metrics
        self._buckets = Buckets(limits.rate)
        self._must_have_token = must_have_token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request, from its first byte to its last."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        incoming = scope[HttpRequest.KEY] = HttpRequest(dict(scope["headers"]))

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                incoming.status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    *_HEADERS,
                    (b"x-request-id", incoming.caller.request_id.encode()),
                ]
            else:
                incoming.sent += len(message.get("body", b""))
            await send(message)

        self._metrics.in_flight += 1
        try:
            await self._serve(scope, incoming, receive, sent)
        finally:
            self._metrics.in_flight -= 1
            seconds = perf_counter() - started
            self._metrics.done(
                incoming.operation,
                incoming.status or CLIENT_GONE,
                seconds,
                received=incoming.received,
                sent=incoming.sent,
            )

    async def _serve(self, scope: Any, incoming: HttpRequest, receive: Any, send: Any) -> None:
        try:
            await self._admit(scope, incoming)
            scope["app"] = self  # so that a route says 405 by an exception
            await self._app(scope, receive, send)
        except GoneAwayError:
            incoming.status = CLIENT_GONE
        except Exception as error:
            told, status, headers = _as_answer(error, incoming)
            if incoming.status:  # an answer is under way already: all that can be done is to break it off
                return
            unread = scope["method"] == "POST" and not incoming.body_read
            if unread:
                headers = (*headers, (b"connection", b"close"))
            await respond(send, status, told, headers, more=unread)
            if unread:
                await linger(receive, incoming)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _admit(self, scope: Any, incoming: HttpRequest) -> None:
        """Refused, unless everything about the request but its body is in order."""
        if len(incoming.headers) != len(scope["headers"]):
            _check_once(scope["headers"])
        if not _PATH.fullmatch(scope["raw_path"]):
            raise RefusedError(404, "NOT_FOUND", "there is nothing here; / says what there is")
        self._hosts.check(incoming.headers)
        peer = scope["client"][0] if scope["client"] else ""
        if scope["path"] in OPEN:
            self._take_turn(peer)
            return
        token = await self._token(incoming, peer)
        self._take_turn(_bucket(token, peer))
        incoming.still_admitted = partial(self._readmit, incoming, peer)
        self._seat(incoming, token)

    async def _readmit(self, incoming: HttpRequest, peer: str) -> None:
        """Look at the token again, and wait for the next turn: a stream of many requests is admitted more than once."""
        bucket = _bucket(await self._token(incoming, peer), peer)
        while seconds := self._buckets.wait(bucket):
            await asyncio.sleep(seconds)

    def _take_turn(self, who: str) -> None:
        seconds = self._buckets.wait(who)
        if seconds:
            wait = b"%d" % max(1, round(seconds + 0.5))
            raise RefusedError(
                429, "RATE_LIMIT", f"over {self._limits.rate:g} requests a second", [(b"retry-after", wait)]
            )

    async def _token(self, incoming: HttpRequest, peer: str) -> Token | None:
        """The token of a request; None where none is needed. A wrong one is refused even then."""
        await self._book.freshen()
        said = incoming.headers.get(b"authorization")
        if said is None and not self._must_have_token and self._book.empty:
            return None
        bearer = _BEARER.fullmatch(said or b"")
        token = self._book.find(bearer[1].decode("latin-1")) if bearer else None
        if token is None:
            self._take_turn(peer)  # who guesses is slowed down by address
            problem = "a token is needed: Authorization: Bearer …" if said is None else "this token is not valid"
            raise RefusedError(401, "BOUNDARY_DENIED", problem, [(b"www-authenticate", b'Bearer realm="scalepan"')])
        return token

    def _seat(self, incoming: HttpRequest, token: Token | None) -> None:
        """Bring the request to its service. A token for one project opens no other."""
        settings = self._services.settings
        project = _name(incoming.headers, b"scalepan-project")
        session = _name(incoming.headers, b"scalepan-session") or settings.session
        if (key := incoming.headers.get(b"idempotency-key")) is not None:
            key_ = check_key(key.decode("latin-1"), "idempotency-key")
            incoming.caller = msgspec.structs.replace(incoming.caller, key=key_)
        if token is None:
            incoming.service = self._services.service(settings.tenant, project or settings.project, session, None)
            return
        if token.project is not None and project not in (None, token.project):
            raise RefusedError(403, "BOUNDARY_DENIED", "this token is for another project")
        incoming.token = token.id
        identity = f"token {token.id}"
        incoming.caller = msgspec.structs.replace(
            incoming.caller,
            client=identity,
            identity=identity,
            may_answer=bool(token.may_answer),
            project=token.project,
        )
        incoming.service = self._services.service(
            token.tenant,
            token.project if token.project is not None else project or settings.project,
            session,
            token.classes,
        )


def _as_answer(error: Exception, incoming: HttpRequest) -> tuple[dict[str, Any], int, tuple[Header, ...]]:
    """Envelope, status and headers of an error."""
    headers: tuple[Header, ...] = ()
    if isinstance(error, HTTPException):  # what Starlette itself refuses: a method
        headers = tuple((name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items())
        error = RefusedError(error.status_code, "VALIDATION_ERROR", "this method is not allowed here", headers)
    elif isinstance(error, RefusedError):
        headers = error.headers
    told = failure(error, incoming.caller)
    return told, status_of(error, told["error"]["code"]), headers


def _bucket(token: Token | None, peer: str) -> str:
    return f"token {token.id}" if token is not None else peer


def _check_once(headers: list[Header]) -> None:
    names = [name for name, _ in headers]
    for name in _ONCE:
        if names.count(name) > 1:
            raise RefusedError(400, "VALIDATION_ERROR", f"header {name.decode()} stands twice")


def _name(headers: Mapping[bytes, bytes], header: bytes) -> str | None:
    given = headers.get(header)
    if given is None:
        return None
    if not _NAME.fullmatch(given):
        raise InputError("is not a name: 1 to 200 printable ASCII characters, no spaces", path=header.decode())
    return check_label(given.decode(), header.decode())
