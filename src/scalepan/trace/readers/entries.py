"""What a log says, in its order and before it becomes steps: readers collect entries, may drop some, then play them.

Formats that rewrite their own past (rewinds, roll-backs, histories that are sent again with every request) cannot add
steps as they read: only at the end is it known what stands.
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from scalepan.trace.readers.build import TraceBuilder


class LogEntry(NamedTuple):
    """One thing that a log says."""

    kind: Literal["request", "think", "say", "call", "result", "skip"]
    text: str | None = None
    """What is asked, thought, said or answered; of a `skip`, what kind of record it is."""
    name: str | None = None
    """The tool's name."""
    input: Any = None
    call_id: str | None = None
    server: str | None = None
    failed: bool | None = None
    refused: bool | None = None
    at: str | None = None


def play(entries: Iterable[LogEntry], builder: TraceBuilder) -> None:
    """Adds the entries to a trace."""
    for entry in entries:
        match entry.kind:
            case "request":
                builder.request(entry.text or "", entry.at)
            case "think":
                builder.think(entry.text, entry.at)
            case "say":
                builder.say(entry.text or "", entry.at)
            case "call":
                name = entry.name or "unknown"
                builder.call(name, entry.input, entry.call_id, entry.at, server=entry.server)
            case "result":
                builder.observe(
                    entry.text,
                    entry.call_id,
                    entry.at,
                    tool=entry.name,
                    failed=entry.failed,
                    refused=entry.refused,
                )
            case "skip":
                builder.skip(entry.text or "unknown")
