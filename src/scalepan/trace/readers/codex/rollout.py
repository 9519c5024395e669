"""A rollout file of Codex: one thread, each line {timestamp, ordinal, type, payload}.

`response_item` is what the model read and wrote; `event_msg` says the same again for the screen, so only what response
items lack is taken from it: token counts, how calls ended, and how the turn ended.

A file may begin with a copy of another thread's history (forks, sub-agents). The copy is the other trace's: newer files
say where their own history starts; in older ones it ends with the first item that the other thread does not have.
"""

from typing import Any

from msgspec import UNSET, Raw, Struct, UnsetType

from scalepan.errors import InputError
from scalepan.trace.readers.build import CODE, TraceBuilder, digest, project_name
from scalepan.trace.readers.codex.outcome import CallOutcome, event_outcome, read_outcome
from scalepan.trace.readers.codex.person import asked
from scalepan.trace.readers.entries import LogEntry, play
from scalepan.trace.readers.items import item_entries
from scalepan.trace.readers.lenient import as_json, first_text, mapping, text, whole
from scalepan.trace.readers.source import TraceLine, decode
from scalepan.trace.readers.table import SeenRecords

# Records and events that say nothing new, or only how Codex was set up.
_BOOKKEEPING = frozenset(("session_meta", "turn_context", "token_usage_record", "inter_agent_communication_metadata"))
_KEPT_EVENTS = frozenset(("error", "stream_error", "warning", "guardian_assessment", "security_risk_score"))
_ENDS = frozenset(("task_complete", "turn_complete"))


class RolloutLine(Struct):
    """One line; what is inside is decoded only if it is needed."""

    type: Any = None
    ordinal: Any = None
    timestamp: Any = None
    payload: Raw | UnsetType = UNSET
    metadata: Any = None


class Rollout:
    """The thread that is being read."""

    def __init__(self, line: int, meta: dict[str, Any], seen: SeenRecords, at: str | None = None) -> None:
        self.line = line
        self.id = first_text(meta.get("id"), meta.get("session_id")) or digest(as_json(meta))
        self._meta = meta
        self._seen = seen
        self._at = first_text(meta.get("timestamp"), at)
        self._entries: list[LogEntry] = []
        self._outcomes: dict[str, CallOutcome] = {}
        self._model: str | None = None
        self._ended: str | None = None
        self._tokens = TokenCount()
        spawned = mapping(mapping(mapping(meta.get("source")).get("subagent")).get("thread_spawn"))
        self._parent = first_text(meta.get("parent_thread_id"), spawned.get("parent_thread_id"))
        self._origin = first_text(meta.get("forked_from_id"), self._parent)
        self._starts = _own_history(meta)
        self._copying = self._starts is None and self._origin is not None

    def inherits(self, meta: dict[str, Any]) -> bool:
        """Whether another session_meta in the file belongs to this thread: its own again, or one that was copied."""
        return self._origin is not None or first_text(meta.get("id"), meta.get("session_id")) in (None, self.id)

    def add(self, line: RolloutLine) -> None:
        """One more record; InputError says why it is none."""
        ordinal = whole(line.ordinal)
        if self._starts is not None and ordinal is not None and ordinal < self._starts:
            return
        at = text(line.timestamp)
        match line.type:
            case "response_item":
                self._add_item(_payload(line), mapping(line.metadata), at)
            case "event_msg":
                self._add_event(_payload(line))
            case "turn_context":
                self._model = text(_payload(line).get("model")) or self._model
            case "compacted":
                self._add_compacted(_payload(line))
            case "inter_agent_communication":
                self._add_item(_payload(line) | {"type": "agent_message"}, {}, at)
            case kind if not isinstance(kind, str) or kind not in _BOOKKEEPING:
                self.skip(text(kind) or "unknown")

    def skip(self, kind: str) -> None:
        """Count a record that becomes no step."""
        self._entries.append(LogEntry("skip", kind))

    def trace(self) -> TraceLine | None:
        """The trace of the thread; None if all of it is in another file."""
        if not any(entry.kind != "skip" for entry in self._entries) and self._origin is not None:
            return None
        builder = TraceBuilder("codex", domain=CODE, framework="codex")
        builder.session = self.id
        builder.project = project_name(text(self._meta.get("cwd")))
        builder.model = self._model
        builder.ended = self._ended
        builder.created_at = self._at
        builder.parent = f"kp:trace:codex:{self._parent}" if self._parent else None
        builder.input_tokens, builder.output_tokens = self._tokens.read, self._tokens.wrote
        play(self._entries, builder)
        # A file may be there twice, packed and not.
        content = digest(as_json([(step.type, step.content, step.input) for step in builder.steps]))
        return TraceLine(self.line, builder.build(self.id)) if self._seen.first(f"codex:{self.id}:{content}") else None

    def _add_item(self, item: dict[str, Any], metadata: dict[str, Any], at: str | None) -> None:
        if self._is_copy(item) or metadata.get("inherited_user_message") is True:
            return
        if metadata.get("compaction_output") is True:
            self.skip("compaction output")
            return
        for entry in asked(item, item_entries(item, at)):
            self._entries.append(self._ended_as(entry) if entry.kind == "result" else entry)

    def _is_copy(self, item: dict[str, Any]) -> bool:
        """Whether an item is the copy of one that the other thread has, as older versions began a fork."""
        if self._meta.get("history_mode") == "paginated":
            return False
        fields = ("type", "role", "name", "call_id", "content", "summary", "arguments", "input", "output", "action")
        mark = digest(as_json([item.get(field) for field in fields]))
        self._copying = self._copying and not self._seen.first(f"codex:{self._origin}:{mark}")
        self._seen.first(f"codex:{self.id}:{mark}")
        return self._copying

    def _ended_as(self, entry: LogEntry) -> LogEntry:
        """A result with how the call ended: an event knows it best, else the output says it."""
        said = read_outcome(entry.text) if entry.text is not None else CallOutcome()
        event = self._outcomes.pop(entry.call_id, None) if entry.call_id is not None else None
        failed, refused = (event.failed, event.refused) if event else (said.failed, said.refused)
        return entry._replace(text=said.text, failed=entry.failed if failed is None else failed, refused=refused)

    def _add_event(self, event: dict[str, Any]) -> None:
        kind = text(event.get("type"))
        ended = event_outcome(event)
        if ended is not None:
            self._outcomes[ended[0]] = ended[1]
        elif kind == "token_count":
            self._tokens.add(mapping(event.get("info")))
        elif kind in _ENDS:
            self._ended = kind
        elif kind == "turn_aborted":
            self._ended = first_text(event.get("reason"), kind)
        elif kind == "thread_rolled_back":
            self._roll_back(whole(event.get("num_turns")) or 0)
        elif kind in _KEPT_EVENTS:
            self.skip(f"event {kind}")

    def _add_compacted(self, payload: dict[str, Any]) -> None:
        """The history so far gives way to a summary; what was done stays done, and the summary is no step."""
        last = self._entries[-1] if self._entries else None
        if last and last.kind == "say" and last.text and last.text in (text(payload.get("message")) or ""):
            self._entries.pop()
            self.skip("compaction output")
        self.skip("compacted")

    def _roll_back(self, turns: int) -> None:
        """The person took back the last turns."""
        asked_at = [index for index, entry in enumerate(self._entries) if entry.kind == "request"]
        start = asked_at[-turns] if 0 < turns <= len(asked_at) else 0 if turns else len(self._entries)
        gone = sum(entry.kind != "skip" for entry in self._entries[start:])
        del self._entries[start:]
        self._entries += [LogEntry("skip", "rolled back")] * gone


class TokenCount:
    """Tokens of a thread, each call of the model once: the same count is sent again and again."""

    def __init__(self) -> None:
        self.read: int | None = None
        self.wrote: int | None = None
        self._total: dict[str, Any] | None = None

    def add(self, info: dict[str, Any]) -> None:
        """One event. The total of a fork begins with the other thread's, so only the last call is added."""
        total, last = mapping(info.get("total_token_usage")), mapping(info.get("last_token_usage"))
        if total == self._total or not last:
            return
        self._total = total
        for key, name in (("input_tokens", "read"), ("output_tokens", "wrote")):
            count = whole(last.get(key))
            if count is not None:
                setattr(self, name, (getattr(self, name) or 0) + count)


def _own_history(meta: dict[str, Any]) -> int | None:
    """The first ordinal that is the thread's own, if the file says so."""
    base = mapping(meta.get("history_base")).get("end_ordinal_exclusive")
    stated = (meta.get("subagent_history_start_ordinal"), base, meta.get("forked_from_ordinal_exclusive"))
    return next((found for value in stated if (found := whole(value)) is not None), None)


def _payload(line: RolloutLine) -> dict[str, Any]:
    if line.payload is UNSET:
        raise InputError("payload is missing")
    return decode(line.payload)
