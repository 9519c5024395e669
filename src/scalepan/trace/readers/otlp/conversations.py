"""How conversations stood after each answer: where one goes on in another trace, its beginning is not told again."""

import hashlib

from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.otlp.story import entry_key

KNOWN_CONVERSATIONS = 65_536
# What clients send back as it was; thoughts and instructions come and go.
_FIRM = frozenset(("request", "say", "call", "result"))


class KnownConversations:
    """The conversations that were read last, each by a short name for all that was said."""

    def __init__(self) -> None:
        self._ends: dict[bytes, None] = {}

    def note(self, entries: list[LogEntry]) -> None:
        """A conversation as it is now."""
        end = _chain(entries)[-1]
        self._ends.pop(end, None)
        self._ends[end] = None
        while len(self._ends) > KNOWN_CONVERSATIONS:
            del self._ends[next(iter(self._ends))]

    def beginning(self, history: list[LogEntry]) -> list[LogEntry]:
        """The beginning of a history that is known."""
        firm = [index for index, entry in enumerate(history) if entry.kind in _FIRM]
        chain = _chain(history)
        for count in range(len(firm), 0, -1):
            if chain[count] in self._ends:
                return history[: firm[count - 1] + 1]
        return []


def _chain(entries: list[LogEntry]) -> list[bytes]:
    """A name for every beginning of a conversation."""
    chain = [b""]
    for entry in entries:
        if entry.kind in _FIRM:
            chain.append(hashlib.blake2b(chain[-1] + entry_key(entry), digest_size=16).digest())
    return chain
