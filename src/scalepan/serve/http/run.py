"""Run the server until a signal comes; then finish what is under way, and lose nothing that was acknowledged."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import uvicorn

from scalepan.errors import InputError
from scalepan.serve.http.app import App
from scalepan.serve.http.limits import Limits
from scalepan.serve.http.protocol import bounded

BACKLOG = 512


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; InputError if that cannot be."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        # Python's own text names the address a second time; a name that is not found has no number of that kind.
        reason = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else error.strerror
        raise InputError(f"cannot listen there: {reason}", file=f"{host}:{port}") from None


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this machine can come in."""
    return ip_address(listener.getsockname()[0]).is_loopback


def url(listener: socket.socket) -> str:
    """Where a listener is, for people."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: App, listener: socket.socket, limits: Limits, ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT. `ready` is called when the first request can be answered."""
    # What uvicorn would log is either told to the client already, or a client's mistake.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        app.asgi,
        http=bounded(limits.body_seconds),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(limits.stop_seconds)),
    )
    try:
        _Server(config, ready, app.mcp.stop_listening).run(sockets=[listener])
    finally:
        app.work.close()


class _Server(uvicorn.Server):
    """uvicorn's server, which would end by the signal that it got; here a stop that was asked for is a good end."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the door, and say so."""
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, number)
        yield

    def _stop(self, number: int) -> None:
        self.handle_exit(number, None)
        self._stopping()
