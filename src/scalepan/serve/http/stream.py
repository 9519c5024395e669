"""Lines in, lines out, in order, while the rest is still coming: a batch without an end takes no memory."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from scalepan.errors import ScalepanError
from scalepan.serve.envelope import failure
from scalepan.serve.http.body import LINGER_SECONDS, BodyLine, lines
from scalepan.serve.http.limits import Limits
from scalepan.serve.http.refused import GoneAwayError, RefusedError
from scalepan.serve.http.request import NDJSON, HttpRequest

MOST_WAITING = 8_000_000
"""Bytes of answers buffered for a client that sends everything before it reads."""
_encode = msgspec.json.Encoder(enc_hook=str).encode_lines


async def stream(
    receive: Any,
    send: Any,
    incoming: HttpRequest,
    limits: Limits,
    together: int,
    answer: Callable[[Sequence[BodyLine]], Awaitable[list[Any]]],
) -> None:
    """Answer lines as they come. What ends the stream before its time is its last line."""
    outbox = Outbox(send, limits.body_seconds)
    inbox = Inbox(receive, incoming, limits, outbox)
    gone = False
    try:
        async with asyncio.TaskGroup() as beside:
            watching = beside.create_task(inbox.watch())
            carrying = beside.create_task(outbox.carry())
            try:
                while (found := await inbox.get()) is not None:
                    for start in range(0, len(found), together):
                        await outbox.room()
                        outbox.put(_encode(await answer(found[start : start + together])))
                problem: Exception | None = inbox.problem
            except (ScalepanError, TimeoutError) as error:
                problem = error
            if problem is not None:
                outbox.put(_encode([failure(problem, incoming.caller)]))
                await inbox.linger()
            outbox.put(None)
            await carrying
            watching.cancel()
    except* GoneAwayError:
        gone = True
    if gone:
        raise GoneAwayError


class Inbox:
    """Lines that have come and are not answered yet: two parts of the body, so that the client waits, not the memory.

    A further part is always awaited, because that is how a client is seen to go.
    """

    def __init__(self, receive: Any, incoming: HttpRequest, limits: Limits, outbox: "Outbox") -> None:
        self._receive = receive
        self._outbox = outbox
        self._lines = lines(receive, incoming, limits)
        self._waiting: asyncio.Queue[list[BodyLine] | None] = asyncio.Queue(1)
        self.get = self._waiting.get
        self.problem: RefusedError | None = None

    async def watch(self) -> None:
        """Take lines in until they end; then see whether the client stays. If it goes, so does all the work."""
        try:
            async for found in self._lines:
                await self._waiting.put(found)
        except RefusedError as error:
            self.problem = error
        await self._waiting.put(None)
        while (await self._receive())["type"] != "http.disconnect":
            pass
        # After the last byte the server says the same of a client that is still there.
        if not self._outbox.finished:
            raise GoneAwayError

    async def linger(self) -> None:
        """Throw away what still comes, for a moment: who is cut off in mid-sentence may never read the last line."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while self.problem is None and await self.get() is not None:
                    pass


class Outbox:
    """Answers on their way to a client that may not read yet.

    Waiting for it at once could be waiting for ever: who only reads when everything is sent waits for us in turn.
    """

    def __init__(self, send: Any, patience: float) -> None:
        self._send = send
        self._patience = patience
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._bytes = 0
        self._room = asyncio.Event()
        self.finished = False
        """Whether all answers are handed over."""

    async def room(self) -> None:
        """Wait while too much is waiting, but not for ever."""
        try:
            async with asyncio.timeout(self._patience):
                while self._bytes > MOST_WAITING:
                    self._room.clear()
                    await self._room.wait()
        except TimeoutError:
            raise GoneAwayError from None

    def put(self, data: bytes | None) -> None:
        """Hand over answers; None ends them."""
        self._bytes += len(data or b"")
        self._waiting.put_nowait(data)

    async def carry(self) -> None:
        """Send what comes, until it ends."""
        await self._send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", NDJSON)]})
        while (data := await self._waiting.get()) is not None:
            await self._send({"type": "http.response.body", "body": data, "more_body": True})
            self._bytes -= len(data)
            self._room.set()
        self.finished = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
