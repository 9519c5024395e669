"""The application: every route, behind the guard."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cached_property, partial
from typing import Any

import msgspec
from starlette.routing import Route, Router

import scalepan
from scalepan.serve.http.answering import PATH as ANSWER
from scalepan.serve.http.answering import Answering
from scalepan.serve.http.calls import ToolEndpoint
from scalepan.serve.http.guard import MCP, Guard
from scalepan.serve.http.hosts import Hosts
from scalepan.serve.http.limits import Limits
from scalepan.serve.http.mcp import Mcp
from scalepan.serve.http.metrics import CONTENT_TYPE, Metrics
from scalepan.serve.http.openapi import Health, document
from scalepan.serve.http.reads import READS, ReadEndpoint
from scalepan.serve.http.refused import RefusedError
from scalepan.serve.http.request import respond, visit_of
from scalepan.serve.http.services import Services
from scalepan.serve.http.work import Work
from scalepan.serve.tokens import Book, listed
from scalepan.serve.tools import TOOLS
from scalepan.store.own import Nothing

HEALTH_SECONDS, WARM_SECONDS = 5.0, 60.0
TOKENS_SECONDS = 10.0


class App:
    """Everything that one server consists of. It uses the store, and does not close it."""

    def __init__(
        self, services: Services, hosts: Hosts, limits: Limits, *, must_have_token: bool, dotted: bool
    ) -> None:
        self.metrics = Metrics()
        self.work = Work(limits.at_once)
        self._services = services
        self.mcp = Mcp(services.own(), hosts, limits, self.work, dotted=dotted)
        read_tokens = partial(self.work.run, TOKENS_SECONDS, "reading tokens", partial(listed, services.store))
        self.asgi = Guard(
            self._router(limits),
            services=services,
            book=Book(read_tokens),
            hosts=hosts,
            limits=limits,
            metrics=self.metrics,
            must_have_token=must_have_token,
        )

    def _router(self, limits: Limits) -> Router:
        routes = [Route(tool.url, _Asgi(ToolEndpoint(tool, self.work, limits)), methods=["POST"]) for tool in TOOLS]
        routes += [Route(ANSWER, _Asgi(Answering(self.work, limits)), methods=["POST"])]
        routes += [Route(read.path, _Asgi(ReadEndpoint(read, self.work)), methods=["GET"]) for read in READS]
        routes += [
            Route(MCP, _Asgi(self.mcp), methods=["GET", "POST", "DELETE"]),
            Route("/healthz", _Asgi(self._health), methods=["GET"]),
            Route("/metrics", _Asgi(self._metrics), methods=["GET"]),
            Route("/openapi.json", _Asgi(self._openapi), methods=["GET"]),
            Route("/", _Asgi(self._index), methods=["GET"]),
        ]
        return Router(routes, redirect_slashes=False, default=_nothing_here, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, _: Any) -> AsyncIterator[None]:
        warming = asyncio.create_task(self._warm())
        async with self.mcp.running():
            yield
        warming.cancel()

    async def _warm(self) -> None:
        """Load what the first call would otherwise wait for. What goes wrong here, that call says to whoever asked."""
        with suppress(Exception):
            await self.work.run(WARM_SECONDS, "loading", self._services.own().warm)

    async def _health(self, scope: Any, _: Any, send: Any) -> None:
        visit_of(scope).operation = "health"
        store = self._services.store
        try:
            await self.work.run(HEALTH_SECONDS, "the store", partial(store.call, "store.info", Nothing()))
        except Exception as error:  # whatever it is, the server cannot do its work
            told = Health(ok=False, version=scalepan.__version__, store=type(error).__name__)
            await respond(send, 503, told)
            return
        await respond(send, 200, Health(ok=True, version=scalepan.__version__, store="reachable"))

    async def _metrics(self, scope: Any, _: Any, send: Any) -> None:
        visit_of(scope).operation = "metrics"
        await respond(send, 200, self.metrics.text().encode(), ((b"content-type", CONTENT_TYPE.encode()),))

    @cached_property
    def _document(self) -> bytes:
        return msgspec.json.encode(document())

    async def _openapi(self, scope: Any, _: Any, send: Any) -> None:
        visit_of(scope).operation = "openapi"
        await respond(send, 200, self._document)

    async def _index(self, scope: Any, _: Any, send: Any) -> None:
        visit_of(scope).operation = "index"
        told = {
            "name": "scalepan",
            "version": scalepan.__version__,
            "api": [*(tool.url for tool in TOOLS), ANSWER, *(read.path for read in READS)],
            "mcp": MCP,
            "openapi": "/openapi.json",
            "health": "/healthz",
            "metrics": "/metrics",
        }
        await respond(send, 200, told)


class _Asgi:
    """Starlette takes a function or method for one of its own kind, and any other object for ASGI."""

    def __init__(self, endpoint: Any) -> None:
        self._endpoint = endpoint

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._endpoint(scope, receive, send)


async def _nothing_here(_: Any, __: Any, ___: Any) -> None:
    raise RefusedError(404, "NOT_FOUND", "there is nothing here; / says what there is")
