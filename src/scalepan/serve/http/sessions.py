"""The SDK's side of MCP over HTTP: its sessions, and a door that serves each request at the service of its token."""

from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import msgspec
from anyio.abc import TaskStatus
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from scalepan.serve.envelope import Caller, caller
from scalepan.serve.http.hosts import Hosts
from scalepan.serve.http.limits import Limits
from scalepan.serve.http.request import visit_of
from scalepan.serve.http.work import Work
from scalepan.serve.mcp import Context, Door
from scalepan.serve.service import Service

R = TypeVar("R")
MOST_SESSIONS = 1000


class HttpDoor(Door):
    """The door with a service for each request, as the guard has chosen it, in the threads of the server."""

    def __init__(self, service: Service, work: Work, *, dotted: bool) -> None:
        super().__init__(service, dotted=dotted)
        self._work = work

    def service(self, ctx: Context) -> Service:
        """Whose request it is. There is no other service to fall back to."""
        if ctx.request is None:
            raise RuntimeError("a message came without its HTTP request")
        return visit_of(ctx.request.scope).service

    def caller(self, ctx: Context) -> Caller:
        """The client by its own name, and by its token."""
        known = visit_of(ctx.request.scope).caller if ctx.request is not None else caller()
        return msgspec.structs.replace(
            super().caller(ctx), identity=known.identity, may_answer=known.may_answer, project=known.project
        )

    async def within(self, seconds: float, name: str, work: Callable[[], R]) -> R:
        """As any other request: a server that stops waits for it."""
        return await self._work.run(seconds, name, work)


class Sessions:
    """An ASGI application, which has to be run beside it."""

    def __init__(self, service: Service, hosts: Hosts, limits: Limits, work: Work, *, dotted: bool) -> None:
        # The guard has checked the same before, and more strictly; a second lock costs nothing.
        names = [f"[{name}]" if ":" in name else name for name in hosts.names]
        places = [place for name in names for place in (name, f"{name}:*")]
        security = TransportSecuritySettings(
            allowed_hosts=places,
            allowed_origins=[f"{scheme}://{place}" for scheme in ("http", "https") for place in places],
        )
        self._manager = StreamableHTTPSessionManager(
            HttpDoor(service, work, dotted=dotted).server(),
            security_settings=security,
            max_request_body_size=limits.body,
            max_sessions=MOST_SESSIONS,
        )
        self._app = AuthContextMiddleware(self._manager.handle_request)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Until this is cancelled, requests are answered."""
        async with self._manager.run():
            task_status.started()
            await anyio.sleep_forever()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request. A session, and a question that waits, belong to the token that began them."""
        token = AccessToken(token="", client_id=visit_of(scope).token or "nobody", scopes=[])
        scope["user"] = AuthenticatedUser(token)
        await self._app(scope, receive, send)
