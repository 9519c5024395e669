"""Bodies as they come in: whole or line by line, never more of them in memory than was allowed, and in time."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from scalepan.serve.http.limits import Limits
from scalepan.serve.http.refused import GoneAwayError, RefusedError
from scalepan.serve.http.request import JSON, NDJSON, HttpRequest

LINGER_SECONDS, LINGER_BYTES = 1.0, 16_000_000
"""How long a refused body is still read: a client that is cut off while sending may never read the answer."""


def media_type(incoming: HttpRequest) -> bytes:
    """JSON or NDJSON. Nothing else: a form of another site can send neither without the browser asking first."""
    given, _, more = incoming.headers.get(b"content-type", b"").lower().partition(b";")
    charset = more.strip().replace(b'"', b"")
    if given.strip() not in (JSON, NDJSON) or charset not in (b"", b"charset=utf-8"):
        raise RefusedError(
            415, "VALIDATION_ERROR", "the body has to be application/json or application/x-ndjson, in UTF-8"
        )
    if incoming.headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise RefusedError(415, "VALIDATION_ERROR", "a compressed body is not taken")
    return given.strip()


async def whole(receive: Any, incoming: HttpRequest, limits: Limits) -> bytes:
    """The body. What is too long is refused by what it says of itself, or as soon as it is."""
    declared = incoming.headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared) > limits.body:
        raise _too_long(limits)
    parts: list[bytes] = []
    length = 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            while not incoming.body_read:
                part = await _next(receive, incoming)
                length += len(part)
                if length > limits.body:
                    raise _too_long(limits)
                parts.append(part)
    except TimeoutError:
        raise _too_slow(limits) from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


class BodyLine(NamedTuple):
    """A line and its number, from 1; None where it is longer than a line may be."""

    number: int
    text: bytes | None


async def lines(receive: Any, incoming: HttpRequest, limits: Limits) -> AsyncIterator[list[BodyLine]]:
    """Lines as they come, those of one part together. Empty ones are passed over, and counted."""
    number, rest, too_long = 0, bytearray(), False
    deadline = asyncio.get_running_loop().time() + limits.body_seconds
    while not incoming.body_read:
        try:
            async with asyncio.timeout_at(deadline):
                part = await _next(receive, incoming)
        except TimeoutError:
            raise _too_slow(limits) from None
        # Only the new part is searched, and the old one is not copied: a long line may come in many small parts.
        *complete, tail = part.split(b"\n")
        if complete:
            complete[0] = bytes(rest) + complete[0]
            rest.clear()
        rest += tail
        if incoming.body_read and (rest or too_long):
            complete.append(bytes(rest))
        found: list[BodyLine] = []
        for text in complete:
            number += 1
            if too_long or len(text) > limits.body:
                found.append(BodyLine(number, None))
            elif text.strip():
                found.append(BodyLine(number, text))
            too_long = False
        if len(rest) > limits.body:
            rest, too_long = bytearray(), True  # the end of it is awaited, and thrown away
        yield found
        if complete:  # the next line has its own time, and none of it was spent on these
            deadline = asyncio.get_running_loop().time() + limits.body_seconds


async def linger(receive: Any, incoming: HttpRequest) -> None:
    """Read on for a moment, for nobody, until the client stops."""
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            before = incoming.received
            while not incoming.body_read and incoming.received - before < LINGER_BYTES:
                await _next(receive, incoming)
    except (TimeoutError, GoneAwayError):
        return


async def _next(receive: Any, incoming: HttpRequest) -> bytes:
    message = await receive()
    if message["type"] != "http.request":
        raise GoneAwayError
    part: bytes = message.get("body", b"")
    incoming.received += len(part)
    incoming.body_read = not message.get("more_body", False)
    return part


def _too_long(limits: Limits) -> RefusedError:
    more = "send it as application/x-ndjson, or in parts"
    return RefusedError(413, "VALIDATION_ERROR", f"the body is over {limits.body:,} bytes; {more}")


def _too_slow(limits: Limits) -> RefusedError:
    return RefusedError(408, "TIMEOUT", f"the body did not come within {limits.body_seconds:g} s")
