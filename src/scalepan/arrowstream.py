"""How does data that is made batch by batch reach any Arrow library? By Arrow's C stream interface, in constant memory.

nanoarrow exports batches that exist already, or an Arrow IPC stream that it reads while the consumer asks. So each
batch is written as IPC when it is wanted, in memory. (ctypes could give the interface's functions to the consumer
without that copy; but consumers release streams while an exception is under way, when no Python code may run.)
"""

from collections.abc import Callable, Iterator
from io import RawIOBase
from typing import Any


class ArrowStream:
    """Batches for any consumer of Arrow: `pyarrow.table(stream)`, `duckdb.sql("FROM stream")`, `for batch in stream`.

    Batches are made anew for each consumer, and only while it asks for them.
    """

    def __init__(self, schema: Any, batches: Callable[[], Iterator[Any]]) -> None:
        """`schema` is nanoarrow's, `batches` starts an iterator of struct arrays with that schema."""
        self._schema, self._batches = schema, batches

    def __iter__(self) -> Iterator[Any]:
        """Each batch as a `nanoarrow.Array`."""
        return self._batches()

    def __arrow_c_schema__(self) -> object:
        import nanoarrow as na

        return na.c_schema(self._schema).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        from nanoarrow.ipc import InputStream

        readable = InputStream.from_readable(_IpcBytes(self._schema, self._batches))
        return readable.__arrow_c_stream__(requested_schema)


class _IpcBytes(RawIOBase):
    """The batches as an IPC stream: first the schema, then a batch whenever all before it have been read."""

    def __init__(self, schema: Any, batches: Callable[[], Iterator[Any]]) -> None:
        from nanoarrow.ipc import StreamWriter

        self._schema, self._start = schema, batches
        self._batches: Iterator[Any] | None = None
        self._sink = _Sink()
        self._writer = StreamWriter.from_writable(self._sink)
        self._unread = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._unread and not self._ended:
            self._write_more()
            self._unread = memoryview(self._sink.take())
        room = memoryview(buffer).cast("B")
        count = min(len(room), len(self._unread))
        room[:count] = self._unread[:count]
        self._unread = self._unread[count:]
        return count

    def _write_more(self) -> None:
        if self._batches is None:
            import nanoarrow as na
            from nanoarrow.c_array_stream import CArrayStream

            # The schema is read at once; batches are made when the consumer asks for the first.
            self._batches = self._start()
            self._writer.write_stream(CArrayStream.from_c_arrays([], na.c_schema(self._schema)))
            return
        batch = next(self._batches, None)
        if batch is None:
            self._ended = True
            self._writer.close()
        else:
            self._writer.write_array(batch)


class _Sink(RawIOBase):
    """What was written since it was last taken."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(memoryview(piece)))
        return len(self._pieces[-1])

    def take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
