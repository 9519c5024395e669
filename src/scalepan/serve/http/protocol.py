"""One connection: how long a head may be and may take, how many connections one address has, and no upgrades.

uvicorn, with httptools, waits for a head for ever, takes any length of it, and takes what follows a request to upgrade
for the next request.
"""

import asyncio
from collections import Counter
from typing import Any

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from scalepan.serve.envelope import caller, failure
from scalepan.serve.http.refused import RefusedError
from scalepan.serve.http.request import respond

HEAD_BYTES = 64_000
MOST_CONNECTIONS = 900
"""Below the 1,024 open files that many systems allow; further clients get a 503."""
MOST_OF_ONE = 200
"""Connections of one address: nobody alone can take all of them."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection. A head that is too long or too slow ends it, and so does an answer to half a request."""

    head_seconds = 20.0
    peers: Counter[str]
    """Connections of each address; shared by all of a server's."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there; the clock runs."""
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        self.peers[self._peer] += 1
        self._head_bytes = 0
        self._in_head = True
        self._timer: asyncio.TimerHandle | None = None
        self._start_timer()
        if self.peers[self._peer] > MOST_OF_ONE:
            self._refuse(503, "RATE_LIMIT", f"over {MOST_OF_ONE} connections from one address")

    def connection_lost(self, exc: Exception | None) -> None:
        """Somebody is gone."""
        self._stop_timer()
        self.peers[self._peer] -= 1
        if not self.peers[self._peer]:
            del self.peers[self._peer]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes: of a head, of a body, or of both."""
        if self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self.send_400_response("this is not an HTTP request")
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("the head of the request is too long")
        if self.cycle is None or self.cycle.response_complete:
            # Bytes that begin no request, such as an empty line, have just stopped the clock of an idle connection.
            self._start_timer()

    def _parse(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                self.parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as stopped:
                rest = rest[stopped.args[0] :]
                self._go_on_without_upgrade()

    def _go_on_without_upgrade(self) -> None:
        """Read the same head again, without its wish. (The parser would read no body after such a head.)"""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        if method == b"CONNECT":
            raise httptools.HttpParserError("there is nothing to connect to")
        lines = [b"%s: %s\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self.parser.feed_data(b"%s %s HTTP/%s\r\n%s\r\n" % (method, self.url, version, b"".join(lines)))

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self._start_timer()

    def on_headers_complete(self) -> None:
        """Its head is there."""
        if self.parser.should_upgrade():
            return  # it is read again
        self._in_head = False
        self._stop_timer()
        too_many = len(self.connections) >= MOST_CONNECTIONS or len(self.tasks) >= MOST_CONNECTIONS
        self.app = full if too_many else self.config.loaded_app
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Its body is there."""
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """It was answered. What comes of it now is read by nobody."""
        half_read = self.cycle.more_body and not self.pipeline
        super().on_response_complete()
        if half_read:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """What came is no request."""
        self._refuse(400, "VALIDATION_ERROR", msg)

    def _refuse(self, status: int, code: str, problem: str) -> None:
        """Answer without a request, in the envelope that every error has, and hang up."""
        told = failure(RefusedError(status, code, problem), caller())
        body = msgspec.json.encode(told)
        head = b"content-type: application/json\r\ncontent-length: %d\r\nx-request-id: %s\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + head % (len(body), told["request_id"].encode()) + body)
        self.transport.close()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


async def full(_: Any, __: Any, send: Any) -> None:
    """What the server says when it has no place for a connection."""
    told = failure(RefusedError(503, "RATE_LIMIT", "too many connections"), caller())
    headers = ((b"retry-after", b"1"), (b"connection", b"close"), (b"x-request-id", told["request_id"].encode()))
    await respond(send, 503, told, headers)


def bounded(seconds: float) -> type[BoundedProtocol]:
    """The protocol with its own patience for heads: uvicorn makes the instances, and knows of no more arguments."""
    return type("BoundedProtocol", (BoundedProtocol,), {"head_seconds": seconds, "peers": Counter()})
