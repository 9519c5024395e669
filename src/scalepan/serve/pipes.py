"""Standard input and output as the event loop's own pipes: the SDK's way takes a thread's turn for every line.

Waking a thread costs up to a millisecond each way, which is a good part of a search.
"""

import asyncio
import fcntl
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

LONGEST_LINE = 64 * 1024 * 1024


def are_pipes() -> bool:
    """Whether a program is at both ends. A terminal or a file is the SDK's: their other users would see our changes."""
    try:
        return all(_is_pipe(file.fileno(), fd) for fd, file in enumerate((sys.stdin, sys.stdout)))
    except (AttributeError, OSError, ValueError):
        return False


@asynccontextmanager
async def pipes() -> AsyncIterator[tuple[Any, Any]]:
    """Lines in and texts out, as the SDK wants them. Meanwhile what anybody prints goes to standard error."""
    loop = asyncio.get_running_loop()
    with _taken() as (source, sink):
        reader = asyncio.StreamReader(LONGEST_LINE)
        reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
        writing, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sink)
        writer = asyncio.StreamWriter(writing, protocol, reader, loop)
        try:
            yield _Lines(reader), _Texts(writer)
        finally:
            reading.close()
            writing.close()


class _Lines:
    """What comes in, line by line."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> "_Lines":
        return self

    async def __anext__(self) -> str:
        line = await self._reader.readline()
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")


class _Texts:
    """What goes out."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode())

    async def flush(self) -> None:
        await self._writer.drain()


def _is_pipe(found: int, wanted: int) -> bool:
    mode = os.fstat(found).st_mode
    return found == wanted and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))


@contextmanager
def _taken() -> Iterator[tuple[Any, Any]]:
    """The two ends under numbers of their own; under the old ones, nothing to read, and standard error."""
    source, sink = (os.fdopen(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3), mode) for fd, mode in ((0, "rb"), (1, "wb")))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    yield source, sink
