"""Serve one client over standard input and output, until it goes or a signal comes."""

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server

from scalepan.errors import InputError
from scalepan.serve.mcp import Door
from scalepan.serve.pipes import are_pipes, pipes
from scalepan.serve.service import Service


def serve(service: Service, *, dotted: bool) -> None:
    """Serve until the client closes its end. Standard output carries the protocol and nothing else."""
    if sys.stdin is None:
        raise InputError("is closed: there is no client", file="standard input")
    anyio.run(_serve, service, dotted)


async def _serve(service: Service, dotted: bool) -> None:
    server = Door(service, dotted=dotted).server()
    async with anyio.create_task_group() as beside:
        beside.start_soon(_stop_on_signal, service)
        async with _streams() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())
        beside.cancel_scope.cancel()
    await anyio.to_thread.run_sync(service.close)


@asynccontextmanager
async def _streams() -> AsyncIterator[Any]:
    """The SDK's streams of messages, over pipes of the event loop where a program is at the other end."""
    if not are_pipes():
        async with stdio_server() as streams:
            yield streams
        return
    async with pipes() as (lines, texts), stdio_server(lines, texts) as streams:
        yield streams


async def _stop_on_signal(service: Service) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            # What was taken is written first. The thread that reads standard input cannot be woken, so no plain exit.
            await anyio.to_thread.run_sync(service.close)
            sys.stderr.flush()
            os._exit(128 + number)
