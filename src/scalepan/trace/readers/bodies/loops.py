"""Calls of one agent loop: every request repeats the conversation so far, and each message counts once.

A call continues the loop whose conversation its request begins with. Where an agent shortens or rewrites its history,
the ids of tool calls tell which loop it is, and what comes after the last message that the loop has is new. A request
that leaves a known conversation in the middle begins another trace, without the steps that it shares.

Only the loops that were used last are open, so a long file of short conversations takes little memory.
"""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import msgspec

from scalepan.trace.readers.bodies.api import ModelAnswer, ModelCall
from scalepan.trace.readers.build import TraceBuilder, digest
from scalepan.trace.readers.entries import LogEntry, play
from scalepan.trace.readers.source import TraceLine
from scalepan.trace.readers.table import SeenRecords

OPEN_LOOPS = 256
# Shorter ids ("call_0", "1") repeat in every conversation.
_TELLING_ID = 8
# What clients send back as it was; thoughts and instructions come and go.
_FIRM = frozenset(("request", "say", "call", "result"))
_AGENT = frozenset(("say", "call"))
_Key = TypeVar("_Key", bytes, str)


class ModelLoop:
    """One conversation, which becomes one trace."""

    def __init__(self, call: ModelCall, name: str) -> None:
        self.line = call.line
        self.name = name
        self.end = b""
        self.last = b""
        self.marks: set[bytes] = set()
        self.prefixes: list[bytes] = []
        self.call_ids: list[str] = []
        self.answer_ids: list[str] = []
        self.entries: list[LogEntry] = []
        self.copied = True
        """Whether all of it was in another file already."""
        self._builder = TraceBuilder(call.api)

    def count(self, call: ModelCall) -> None:
        """What a call says beside its messages."""
        builder, answer = self._builder, call.answer or ModelAnswer([])
        builder.session = builder.session or call.thread
        builder.created_at = builder.created_at or call.at or answer.at
        builder.model = answer.model or builder.model or call.model
        builder.ended = answer.ended or builder.ended
        builder.input_tokens = _sum(builder.input_tokens, answer.input_tokens)
        builder.output_tokens = _sum(builder.output_tokens, answer.output_tokens)

    @property
    def objective(self) -> list[LogEntry]:
        """The first request."""
        return [entry for entry in self.entries if entry.kind == "request"][:1]

    def trace(self) -> TraceLine:
        """The trace; an InputError says that no agent did anything."""
        play(self.entries, self._builder)
        return TraceLine(self.line, self._builder.build(self.name))


class _Match(NamedTuple):
    """Where a call belongs."""

    loop: ModelLoop | None
    known: int
    """How many messages of its request the loop has already."""
    extends: bool = True
    """Whether it continues the loop; otherwise it leaves it there."""
    held: bool = False
    """Whether the API itself holds the conversation."""


class LoopTable:
    """The open loops of a file."""

    def __init__(self, seen: SeenRecords) -> None:
        self._seen = seen
        self._open: dict[int, ModelLoop] = {}
        self._ends: dict[bytes, ModelLoop] = {}
        self._prefixes: dict[bytes, ModelLoop] = {}
        self._call_ids: dict[str, ModelLoop] = {}
        self._answer_ids: dict[str, ModelLoop] = {}

    def add(self, call: ModelCall) -> Iterator[ModelLoop]:
        """One more call; yields the loops that are closed to make room."""
        firm = [entry for entry in call.history if entry.kind in _FIRM]
        marks = [_mark(entry) for entry in firm]
        chain = _chain(b"", marks)
        found = self._find(call, firm, marks, chain)
        said = call.answer.entries if call.answer else []
        said_marks = [_mark(entry) for entry in said if entry.kind in _FIRM]
        if found.known == len(firm) and not said and found.loop is not None:
            return
        if found.loop is not None and found.held and found.extends:
            chain = _chain(found.loop.end, marks)
        grown = _chain(chain[-1], said_marks)
        fresh = self._is_fresh(call, grown[-1])
        if not fresh and grown[-1] in self._ends:
            return
        loop = self._loop(call, found, grown[-1])
        if fresh:
            loop.copied = False
            loop.entries += [*_after(call.history, found.known), *said]
            loop.count(call)
        elif not loop.entries:
            loop.entries += [entry for entry in firm if entry.kind == "request"][:1]
        self._note(loop, call, [*chain, *grown[1:]], [*marks, *said_marks], [*firm, *said])
        while len(self._open) > OPEN_LOOPS:
            yield self._close(next(iter(self._open.values())))

    def close_all(self) -> Iterator[ModelLoop]:
        """The loops that are left, in the order in which they began."""
        yield from sorted(self._open.values(), key=lambda loop: loop.line)
        self._open = {}

    def _find(self, call: ModelCall, firm: list[LogEntry], marks: list[bytes], chain: list[bytes]) -> _Match:
        held = call.previous or call.thread
        if held is not None:
            # The API holds the conversation, so all that is sent is new.
            loop = self._answer_ids.get(held)
            extends = loop is not None and held in (loop.answer_ids[-1], call.thread)
            return _Match(loop, 0, extends, held=True)
        for known in range(len(chain) - 1, 0, -1):
            if chain[known] in self._ends:
                return _Match(self._ends[chain[known]], known)
        loop = self._by_calls(firm)
        if loop is not None and loop.last in marks:
            known = max(index for index, mark in enumerate(marks) if mark in loop.marks) + 1
            return _Match(loop, known)
        for known in range(len(chain) - 1, 0, -1):
            if chain[known] in self._prefixes:
                return _Match(self._prefixes[chain[known]], known, extends=False)
        return _Match(None, 0, extends=False)

    def _by_calls(self, firm: list[LogEntry]) -> ModelLoop | None:
        """The loop that made the last of these tool calls that any loop made."""
        made = (self._call_ids.get(entry.call_id) for entry in reversed(firm) if entry.call_id is not None)
        return next((loop for loop in made if loop is not None), None)

    def _is_fresh(self, call: ModelCall, end: bytes) -> bool:
        """Whether the call was not in another file already: copies and longer versions of a log overlap."""
        if call.answer is None or call.answer.id is None:
            return True
        # Some servers number their answers from a small range, so the conversation belongs to the key.
        return self._seen.first(f"{call.api}:{call.answer.id}:{end.hex()}")

    def _loop(self, call: ModelCall, found: _Match, end: bytes) -> ModelLoop:
        if found.loop is not None and found.extends:
            return found.loop
        answer_id = (call.answer.id if call.answer else None) or ""
        loop = ModelLoop(call, digest(f"{answer_id}:{end.hex()}"))
        shared = call.history[: len(call.history) - len(_after(call.history, found.known))]
        if found.loop is not None and found.held:
            loop.entries += found.loop.objective
        elif any(entry.kind in _AGENT for entry in shared):
            loop.entries += [entry for entry in shared if entry.kind == "request"][:1]
        else:
            loop.entries += shared
        return loop

    def _note(
        self, loop: ModelLoop, call: ModelCall, prefixes: list[bytes], marks: list[bytes], entries: list[LogEntry]
    ) -> None:
        """Remember how to find a loop; what it ended with before is now in its middle."""
        self._ends.pop(loop.end, None)
        loop.end, loop.last = prefixes[-1], marks[-1] if marks else b""
        self._ends[loop.end] = loop
        for prefix in prefixes:
            if prefix and prefix not in self._prefixes:
                self._prefixes[prefix] = loop
                loop.prefixes.append(prefix)
        loop.marks.update(marks)
        for entry in entries:
            if entry.kind == "call" and entry.call_id is not None and len(entry.call_id) >= _TELLING_ID:
                self._call_ids[entry.call_id] = loop
                loop.call_ids.append(entry.call_id)
        for held in (call.thread, call.answer.id if call.answer else None):
            if held is not None:
                self._answer_ids[held] = loop
                loop.answer_ids.append(held)
        self._open.pop(id(loop), None)
        self._open[id(loop)] = loop

    def _close(self, loop: ModelLoop) -> ModelLoop:
        del self._open[id(loop)]
        self._ends.pop(loop.end, None)
        _forget(self._prefixes, loop.prefixes, loop)
        _forget(self._call_ids, loop.call_ids, loop)
        _forget(self._answer_ids, loop.answer_ids, loop)
        return loop


def _forget(table: dict[_Key, ModelLoop], keys: list[_Key], loop: ModelLoop) -> None:
    for key in keys:
        if table.get(key) is loop:
            del table[key]


def _after(history: list[LogEntry], known: int) -> list[LogEntry]:
    """What comes after this many firm entries."""
    if not known:
        return history
    firm = [index for index, entry in enumerate(history) if entry.kind in _FIRM]
    return history[firm[known - 1] + 1 :]


def _mark(entry: LogEntry) -> bytes:
    """An entry as others send it back: the order of keys and the blanks at the ends may change."""
    text = (entry.text or "").strip()
    name = entry.name if entry.kind == "call" else None
    raw = msgspec.json.encode([entry.kind, entry.call_id, name, text, entry.input], order="sorted")
    return hashlib.blake2b(raw, digest_size=16).digest()


def _chain(start: bytes, marks: list[bytes]) -> list[bytes]:
    """A name for every beginning of a list: of nothing, of the first, of the first two and so on."""
    chain = [start]
    for mark in marks:
        chain.append(hashlib.blake2b(chain[-1] + mark, digest_size=16).digest())
    return chain


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one + (other or 0)
