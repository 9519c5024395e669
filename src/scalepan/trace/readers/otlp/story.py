"""What happened in a run, in its order, with everything once.

Every call of a model repeats the conversation so far, and a tool's span says again what the messages say. Entries are
the same if kind, id and content are; the second of two equal messages in one request is another one. A tool's span
belongs to the call with its id; spans without one to the call of that name with the same arguments, else to the next
call of that name.
"""

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.otlp.calls import ModelSpan, ToolSpan
from scalepan.trace.readers.otlp.values import when

# Shorter ids ("call_0", "1") repeat in one conversation.
_TELLING_ID = 8


class RunStory:
    """The entries of one run."""

    def __init__(self) -> None:
        self._entries: list[LogEntry] = []
        self._times: list[int] = []
        self._places: dict[bytes, list[int | None]] = {}
        """Where each entry is; None for what belongs to another run."""

    def share(self, entries: Iterable[LogEntry]) -> None:
        """What another run has already, and requests of this one repeat."""
        for entry in entries:
            self._places.setdefault(entry_key(entry), []).append(None)

    def add_history(self, entries: Iterable[LogEntry], nanos: int) -> None:
        """A request: what is known is completed, what is new is added."""
        met: Counter[bytes] = Counter()
        for entry in entries:
            key = entry_key(entry)
            places = self._places.get(key, [])
            met[key] += 1
            if met[key] > len(places):
                self._add(entry, nanos)
            elif (place := places[met[key] - 1]) is not None:
                self._complete(place, entry)

    def add_answer(self, call: ModelSpan) -> None:
        """What a model answered. Where it was not captured, the thought has no content."""
        for entry in call.answer:
            self._add(entry, call.end)
        if call.failed and not call.answer:
            self._add(LogEntry("skip", "failed model call"), call.end)
        elif all(entry.kind == "skip" for entry in call.answer):
            self._add(LogEntry("think"), call.end)

    def add_tools(self, tools: list[ToolSpan]) -> None:
        """The tools' spans; those that name their call choose first."""
        pairs = self._pairs(tools)
        results = _Results(self._entries)
        for tool in tools:
            self._add_tool(tool, pairs.get(tool.span_id), results)

    def _pairs(self, tools: list[ToolSpan]) -> dict[str, int]:
        """The call that each span belongs to."""
        calls = [at for at, entry in enumerate(self._entries) if entry.kind == "call"]
        pairs: dict[str, int] = {}
        taken: set[int] = set()
        for call_key, tool_key in _WAYS:
            waiting = _Queues((call_key(self._entries[at]), at) for at in calls if at not in taken)
            for tool in tools:
                at = waiting.first(tool_key(tool)) if tool.span_id not in pairs else None
                # Without an id: a call that was made later cannot be meant.
                if at is not None and (tool_key is _id_of_tool or self._times[at] <= tool.end):
                    waiting.take(tool_key(tool))
                    pairs[tool.span_id] = at
                    taken.add(at)
        return pairs

    def entries(self) -> list[LogEntry]:
        """All entries by time; those of one time in the order in which they came."""
        order = sorted(range(len(self._entries)), key=lambda index: (self._times[index], index))
        return [self._entries[index] for index in order]

    def _add_tool(self, tool: ToolSpan, place: int | None, results: "_Results") -> None:
        # The span's own id joins the call and the result where the log has no other.
        call_id = tool.id or tool.span_id
        if place is None:
            self._add(LogEntry("call", name=tool.name, input=tool.input, call_id=call_id), tool.start)
            self._add(_result(tool, call_id), tool.end)
            return
        call = self._entries[place]
        call_id = call.call_id or call_id
        self._entries[place] = call._replace(
            call_id=call_id, name=call.name or tool.name, input=tool.input if call.input is None else call.input
        )
        later = max(tool.end, self._times[place])
        known = results.take(call, tool)
        if known is None:
            self._add(_result(tool, call_id), later)
            return
        self._complete(known, _result(tool, call_id))
        self._times[known] = min(self._times[known], later)

    def _add(self, entry: LogEntry, nanos: int) -> None:
        self._places.setdefault(entry_key(entry), []).append(len(self._entries))
        self._entries.append(entry._replace(at=when(nanos)))
        self._times.append(nanos)

    def _complete(self, place: int, entry: LogEntry) -> None:
        """What was not said the first time."""
        old = self._entries[place]
        missing = {
            name: value
            for name, value in entry._asdict().items()
            if value is not None and getattr(old, name) is None and name != "at"
        }
        if missing:
            self._entries[place] = old._replace(**missing)


def _result(tool: ToolSpan, call_id: str) -> LogEntry:
    return LogEntry("result", tool.result, name=tool.name, call_id=call_id, failed=tool.failed)


class _Queues:
    """Places by key, each taken once, the first of them first."""

    def __init__(self, places: Iterable[tuple[Any, int]]) -> None:
        self._places: dict[Any, deque[int]] = {}
        for key, at in places:
            if key is not None:
                self._places.setdefault(key, deque()).append(at)

    def first(self, key: Any) -> int | None:
        """The first place of a key that is left."""
        waiting = self._places.get(key)
        return waiting[0] if waiting else None

    def take(self, key: Any) -> int | None:
        """The same; it is not left any more."""
        waiting = self._places.get(key)
        return waiting.popleft() if waiting else None


class _Results:
    """The results among the messages, by their call; where messages have no ids, by the tool's name or the text."""

    def __init__(self, entries: list[LogEntry]) -> None:
        found = [(entry, at) for at, entry in enumerate(entries) if entry.kind == "result"]
        nameless = [(entry, at) for entry, at in found if entry.call_id is None]
        self._by_id = _Queues((entry.call_id, at) for entry, at in found)
        self._by_name = _Queues((entry.name, at) for entry, at in nameless)
        self._by_text = _Queues((entry.text, at) for entry, at in nameless if entry.name is None)

    def take(self, call: LogEntry, tool: ToolSpan) -> int | None:
        """The result of a call."""
        if call.call_id is not None:
            return self._by_id.take(call.call_id)
        at = self._by_name.take(tool.name)
        return at if at is not None else self._by_text.take(tool.result)


def _id_of_tool(tool: ToolSpan) -> Any:
    return tool.id


def _with_only_value(call: LogEntry) -> Any:
    """Some emitters write only the value of a tool's one argument."""
    given = call.input
    return (call.name, _encoded(next(iter(given.values())))) if isinstance(given, dict) and len(given) == 1 else None


def _with_input(one: LogEntry | ToolSpan) -> Any:
    return (one.name, _encoded(one.input)) if one.input is not None else None


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


# How a span may belong to a call, the surest way first: keys of both that must be equal.
_WAYS: tuple[tuple[Callable[[LogEntry], Any], Callable[[ToolSpan], Any]], ...] = (
    (lambda call: call.call_id, _id_of_tool),
    (_with_input, _with_input),
    (_with_only_value, _with_input),
    (lambda call: call.name, lambda tool: tool.name),
)


def entry_key(entry: LogEntry) -> bytes:
    """What an entry is known by when it is repeated."""
    said: list[Any] = [entry.kind, entry.call_id, (entry.text or "").strip()]
    if entry.call_id is not None and entry.kind == "result":
        said = said[:2]
    elif entry.kind == "call":
        said = said[:2] if len(entry.call_id or "") >= _TELLING_ID else [*said[:2], entry.name, entry.input]
    return hashlib.blake2b(_encoded(said), digest_size=16).digest()
