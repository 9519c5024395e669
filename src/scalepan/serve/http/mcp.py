"""MCP over streamable HTTP, in the same server and behind the same guard.

The SDK takes a second to load and many megabytes, so it is loaded when the first client comes.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from scalepan.serve.http.body import whole
from scalepan.serve.http.hosts import Hosts
from scalepan.serve.http.limits import Limits
from scalepan.serve.http.refused import GoneAwayError
from scalepan.serve.http.request import visit_of
from scalepan.serve.http.work import Work
from scalepan.serve.service import Service

if TYPE_CHECKING:
    from scalepan.serve.http.sessions import Sessions


class Mcp:
    """The endpoint."""

    def __init__(self, service: Service, hosts: Hosts, limits: Limits, work: Work, *, dotted: bool) -> None:
        self._made_of = (service, hosts, limits, work)
        self._dotted = dotted
        self._limits = limits
        self._places = work.places
        self._sessions: Sessions | None = None
        self._loading = anyio.Lock()
        self._tasks: TaskGroup
        self._listening: set[anyio.CancelScope] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the server runs."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    def stop_listening(self) -> None:
        """End the streams on which clients wait for news: they would wait for ever."""
        for stream in self._listening:
            stream.cancel()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        incoming = visit_of(scope)
        incoming.operation = "mcp"
        if scope["method"] == "POST":
            body = await whole(receive, incoming, self._limits)
            async with self._places.at_once():
                sessions = await self._loaded()
                await sessions(scope, _again(body, receive), send)
            return
        sessions = await self._loaded()
        with anyio.CancelScope() as stream:
            self._listening.add(stream)
            try:
                await sessions(scope, receive, send)
            finally:
                self._listening.discard(stream)
        if stream.cancelled_caught:
            if not incoming.status:
                raise GoneAwayError
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _loaded(self) -> "Sessions":
        async with self._loading:
            if self._sessions is None:
                module = await anyio.to_thread.run_sync(import_module, "scalepan.serve.http.sessions")
                sessions: Sessions = module.Sessions(*self._made_of, dotted=self._dotted)
                await self._tasks.start(sessions.run)
                self._sessions = sessions
            return self._sessions


def _again(body: bytes, receive: Any) -> Any:
    """Receive a body that was read already, and then whatever comes."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Any:
        return waiting.pop() if waiting else await receive()

    return read
