"""Traces whose records are still coming: an export mixes the runs of many traces, and rarely in their order.

Records are held as they are, undecoded, up to `OPEN_TRACES` traces and `OPEN_BYTES` bytes. Beyond that the trace that
got no record for the longest time is closed. If more of it follows, that becomes a trace of its own; nothing is lost.
"""

from collections.abc import Iterator

from scalepan.trace.readers.source import JsonRecord

OPEN_TRACES = 1000
OPEN_BYTES = 128 * 1024 * 1024


class HeldTrace:
    """The records of one trace."""

    def __init__(self, id_: str, line: int) -> None:
        self.id = id_
        self.line = line
        self.records: list[JsonRecord] = []
        self.size = 0


class HeldTraces:
    """The open traces of a file, the one that was used last at the end."""

    def __init__(self) -> None:
        self._open: dict[str, HeldTrace] = {}
        self._size = 0

    def add(self, id_: str, record: JsonRecord) -> Iterator[HeldTrace]:
        """One more record; yields the traces that are closed to make room."""
        held = self._open.pop(id_, None) or HeldTrace(id_, record.line)
        self._open[id_] = held
        held.records.append(record)
        size = memoryview(record.data).nbytes
        held.size += size
        self._size += size
        while len(self._open) > OPEN_TRACES or (self._size > OPEN_BYTES and len(self._open) > 1):
            yield self._close(next(iter(self._open)))
        if self._size > OPEN_BYTES:
            yield self._close(id_)

    def close_all(self) -> Iterator[HeldTrace]:
        """The traces that are left, in the order in which they began."""
        for id_ in sorted(self._open, key=lambda one: self._open[one].line):
            yield self._close(id_)

    def _close(self, id_: str) -> HeldTrace:
        held = self._open.pop(id_)
        self._size -= held.size
        return held
