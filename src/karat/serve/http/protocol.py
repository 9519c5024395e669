"""The head of a request is bounded too: uvicorn, with httptools, waits for it for ever and takes any length."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64_000


class BoundedProtocol(HttpToolsProtocol):
    """One connection. A head that is too long or too slow ends it, and so does an answer to half a request."""

    head_seconds = 20.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there; the clock runs."""
        super().connection_made(transport)
        self._head_bytes = 0
        self._in_head = True
        self._timer: asyncio.TimerHandle | None = self.loop.call_later(self.head_seconds, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Somebody is gone."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes: of a head, of a body, or of both."""
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def on_headers_complete(self) -> None:
        """Its head is there."""
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """It was answered. What comes of it now is read by nobody."""
        half_read = self.cycle.more_body and not self.pipeline
        super().on_response_complete()
        if half_read:
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def bounded(seconds: float) -> type[BoundedProtocol]:
    """The protocol with its own patience for heads: uvicorn makes the instances, and knows of no more arguments."""
    return type("BoundedProtocol", (BoundedProtocol,), {"head_seconds": seconds})
