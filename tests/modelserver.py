"""A stand-in for a language model: a real HTTP server that speaks chat completions, well or badly.

    with ModelServer(says('{"score": 0.8}')) as server:
        ... server.base_url, server.calls, server.requests ...

A behaviour is a function from request to reply; `in_turn` strings several together.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    """What came in."""

    number: int
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """The last message."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Reply:
    """What goes out."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before it goes out."""
    drop: bool = False
    """End the connection instead."""
    drop_after: int | None = None
    """End the connection after this many bytes of the body."""
    drip: float = 0.0
    """Seconds between one byte and the next."""


Behaviour = Callable[[Request], Reply]


def completion(text: str | None, *, usage: bool = True, finish: str = "stop", **message: object) -> bytes:
    """A chat completion with these words."""
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "stand-in",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
    }
    if usage:
        body["usage"] = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    return json.dumps(body).encode()


def error(message: str) -> bytes:
    """An error as OpenAI words it."""
    return json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()


def says(text: str, **options: Any) -> Behaviour:
    """Answers with these words."""
    return lambda _: Reply(body=completion(text), **options)


def fails(status: int, message: str = "", **headers: str) -> Behaviour:
    """Answers with an error; headers are written `retry_after="1"`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Reply(status=status, body=error(message), headers=named)


def drops() -> Behaviour:
    """Takes the request and ends the connection."""
    return lambda _: Reply(drop=True)


def slow(seconds: float, text: str = '{"score": 0.8}') -> Behaviour:
    """Answers, but late."""
    return says(text, delay=seconds)


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """The first request meets the first behaviour, and so on; the last one stays."""
    return lambda request: behaviours[min(request.number, len(behaviours)) - 1](request)


def refuses(parameter: str, then: Behaviour, message: str = "", status: int = 400) -> Behaviour:
    """Refuses requests that have this parameter."""
    said = message or f"Unrecognized request argument supplied: {parameter}"
    return lambda request: fails(status, said)(request) if parameter in request.body else then(request)


class ModelServer:
    """Runs in a thread of its own while it is entered."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.requests: list[Request] = []
        self.connections = 0
        self.at_once = 0
        """The most requests that were under way at the same time."""
        self.given_up = 0
        """How often a client went away before its answer was out."""
        self._under_way = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def base_url(self) -> str:
        """As `judge.base_url` wants it."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> int:
        """How many requests there were."""
        return len(self.requests)

    @property
    def received(self) -> bytes:
        """Everything that clients sent, but for the headers."""
        return b"\n".join(json.dumps(request.body, ensure_ascii=False).encode() for request in self.requests)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> asyncio.Server:
        return await asyncio.start_server(self._meet, "127.0.0.1", 0, backlog=256)

    async def _stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._serve(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether there may be another."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(_header_lines(head[1:]))
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Request(self.calls + 1, head[0].split(" ")[1], headers, json.loads(body))
        self.requests.append(request)
        reply = self.behaviour(request)
        self._under_way += 1
        self.at_once = max(self.at_once, self._under_way)
        try:
            if reply.delay and not await self._still_there(reader, reply.delay):
                return False
            if reply.drop:
                return False
            return await self._send(reply, writer)
        finally:
            self._under_way -= 1

    async def _still_there(self, reader: asyncio.StreamReader, seconds: float) -> bool:
        """Wait, unless the client goes away."""
        try:
            async with asyncio.timeout(seconds):
                await reader.read(1)
        except TimeoutError:
            return True
        self.given_up += 1
        return False

    async def _send(self, reply: Reply, writer: asyncio.StreamWriter) -> bool:
        lines = [f"HTTP/1.1 {reply.status} Whatever", f"Content-Length: {len(reply.body)}"]
        lines += ["Content-Type: application/json", *(f"{name}: {value}" for name, value in reply.headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        body = reply.body if reply.drop_after is None else reply.body[: reply.drop_after]
        if reply.drip:
            for byte in body:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(reply.drip)
        writer.write(body if not reply.drip else b"")
        await writer.drain()
        return reply.drop_after is None


def _header_lines(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            yield name.strip().lower(), value.strip()
