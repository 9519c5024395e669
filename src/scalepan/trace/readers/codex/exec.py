"""What `codex exec --json` prints: items as they start and are completed, and the tokens of a turn.

It lacks the request and the names of tools, and the count of a resumed thread includes what the earlier runs used.
Where both exist, the rollout file says more.
"""

from typing import Any

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import CODE, TraceBuilder, digest
from scalepan.trace.readers.codex.outcome import by_status
from scalepan.trace.readers.entries import LogEntry, play
from scalepan.trace.readers.lenient import as_json, first_text, mapping, parsed, text, whole, words
from scalepan.trace.readers.source import TraceLine

# Items that are calls of a tool, and what they were called with.
_CALLS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("arguments",),
    "collab_tool_call": ("prompt", "receiver_thread_ids"),
    "web_search": ("query", "action"),
}
# The first versions wrote `assistant_message`, and `item_type` where it is `type` now.
_SAID = {
    **dict.fromkeys(("agent_message", "assistant_message"), "say"),
    **dict.fromkeys(("reasoning", "plan"), "think"),
    "user_message": "request",
}


class ExecLog:
    """One run."""

    def __init__(self, line: int, started: dict[str, Any]) -> None:
        self.line = line
        self._thread = text(started.get("thread_id"))
        self._entries: list[LogEntry] = []
        self._open: dict[str, list[LogEntry]] = {}
        self._ended: str | None = None
        self._usage: dict[str, Any] = {}

    def add(self, event: dict[str, Any]) -> None:
        """One more event."""
        kind, item = event.get("type"), mapping(event.get("item"))
        name = text(item.get("id")) or ""
        match kind:
            case "item.completed":
                self._open.pop(name, None)
                self._entries += exec_entries(item)
            case "item.started" | "item.updated":
                self._open[name] = exec_entries(item)[:1]
            case "turn.completed" | "turn.failed":
                self._ended = text(kind)
                self._usage = mapping(event.get("usage")) or self._usage
            case "turn.started":
                pass
            case _:
                self.skip(text(kind) or "unknown")

    def skip(self, kind: str) -> None:
        """Count an event that becomes no step."""
        self._entries.append(LogEntry("skip", kind))

    def trace(self) -> TraceLine:
        """The trace of the run. Every run of a thread starts to count anew, so its content is in the id."""
        builder = TraceBuilder("codex", domain=CODE, framework="codex")
        builder.session, builder.ended = self._thread, self._ended
        builder.input_tokens = whole(self._usage.get("input_tokens"))
        builder.output_tokens = whole(self._usage.get("output_tokens"))
        # Calls that were cut off.
        left = [entry for entries in self._open.values() for entry in entries if entry.kind == "call"]
        play([*self._entries, *left], builder)
        return TraceLine(self.line, self._built(builder))

    def _built(self, builder: TraceBuilder) -> ReasoningTrace:
        content = digest(as_json([[step.type, step.content, step.input] for step in builder.steps]))
        return builder.build(*filter(None, (self._thread, content)))


def exec_entries(item: dict[str, Any]) -> list[LogEntry]:
    """What one item says."""
    kind = first_text(item.get("type"), item.get("item_type")) or "unknown"
    if kind in _SAID and text(item.get("text")):
        return [LogEntry(_SAID[kind], item["text"])]  # type: ignore[arg-type]
    if kind not in _CALLS:
        return [LogEntry("skip", kind)]
    call_id, name = text(item.get("id")), text(item.get("tool")) or kind
    given = {key: item[key] for key in _CALLS[kind] if item.get(key) is not None}
    whole_input = parsed(given.get("arguments")) if kind == "mcp_tool_call" else given
    made = LogEntry("call", name=name, input=whole_input, call_id=call_id, server=text(item.get("server")))
    printed = _printed(item)
    ended = by_status(item)
    if ended is None and printed is None:
        return [made]
    failed, refused = (ended.failed, ended.refused) if ended else (None, None)
    return [made, LogEntry("result", printed, name=name, call_id=call_id, failed=failed, refused=refused)]


def _printed(item: dict[str, Any]) -> str | None:
    wrong = mapping(item.get("error"))
    if wrong:
        return words(wrong.get("message")) or as_json(wrong)
    result = item.get("result")
    shown = mapping(result).get("content", result)
    return text(item.get("aggregated_output")) or words(shown)
