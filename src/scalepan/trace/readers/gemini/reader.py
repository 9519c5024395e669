"""The reader of Gemini CLI chats: `session-*.jsonl` and, before, one JSON document.

The file is a list of changes. A message is written again in full whenever it grows, `$rewindTo` removes a message and
everything after it, and `$set` changes fields. `$set.messages` is the history that is sent to the model from then on:
after a resume it has the same messages in less detail, after a compression a summary instead of them. What was done
stays done, so it adds messages and takes none away.
"""

from collections.abc import Iterator
from typing import Any

from scalepan.errors import InputError
from scalepan.trace.readers.bodies.api import tokens
from scalepan.trace.readers.build import CODE, TraceBuilder, project_name
from scalepan.trace.readers.entries import LogEntry, play
from scalepan.trace.readers.feed import feed
from scalepan.trace.readers.gemini.message import THANKS, message_entries
from scalepan.trace.readers.lenient import first_text, items, objects, text
from scalepan.trace.readers.source import BadRow, Head, JsonRecord, Source, TraceLine, decode
from scalepan.trace.readers.table import Reader, SeenRecords


class GeminiChat:
    """The session that is being read."""

    def __init__(self, line: int, folder: str | None) -> None:
        self.line = line
        self._folder = folder
        self._fields: dict[str, Any] = {}
        self._messages: dict[str, dict[str, Any]] = {}
        self._written: set[str] = set()
        self._skipped: list[LogEntry] = []

    def starts(self, record: dict[str, Any]) -> bool:
        """Whether a record begins another session."""
        named, own = text(record.get("sessionId")), text(self._fields.get("sessionId"))
        return named is not None and own is not None and named != own

    def add(self, record: dict[str, Any]) -> None:
        """One more change."""
        back, changes = text(record.get("$rewindTo")), record.get("$set")
        if back is not None:
            self._rewind(back)
        elif isinstance(changes, dict):
            self._set(changes)
        elif "sessionId" in record:
            self._set(record)
        elif text(record.get("id")) is not None:
            self._messages[record["id"]] = record
            self._written.add(record["id"])
        else:
            self.skip("unknown record")

    def skip(self, kind: str) -> None:
        """Count a record that becomes no step."""
        self._skipped.append(LogEntry("skip", kind))

    def trace(self, seen: SeenRecords) -> TraceLine | None:
        """The trace of what stands at the end; None if all of it was in another file."""
        session = text(self._fields.get("sessionId")) or "unknown"
        own = [name for name in self._messages if seen.first(f"gemini:{session}:{name}")]
        if self._messages and not own:
            return None
        builder = TraceBuilder("gemini", domain=CODE, framework="gemini-cli")
        builder.session = session
        builder.created_at = text(self._fields.get("startTime"))
        builder.project = project_name(first_text(*items(self._fields.get("directories"))))
        if self._fields.get("kind") == "subagent" and self._folder not in (None, "chats"):
            builder.parent = f"kp:trace:gemini:{self._folder}"
        done: set[str] = set()
        fresh = set(own)
        for name, message in self._messages.items():
            entries = message_entries(message, done)
            if name in fresh:
                _count(message, builder)
                play(entries, builder)
        play(self._skipped, builder)
        # The rest of a session whose beginning is in another file is not that trace again.
        rest = own[:1] if len(own) < len(self._messages) else []
        return TraceLine(self.line, builder.build(session, *rest))

    def _set(self, changes: dict[str, Any]) -> None:
        # A resumed session states its start again.
        start = self._fields.get("startTime")
        self._fields |= {key: value for key, value in changes.items() if key != "messages"}
        self._fields["startTime"] = start or self._fields.get("startTime")
        for message in objects(changes.get("messages")):
            if text(message.get("id")) is None or message["id"] in self._written:
                continue
            if message.get("type") == "gemini" and _only_text(message.get("content")) == THANKS:
                self.skip("compression")
                continue
            self._messages[message["id"]] = message

    def _rewind(self, back: str) -> None:
        """Like Gemini CLI, which forgets everything if it does not know the message."""
        ids = list(self._messages)
        for gone in ids[ids.index(back) :] if back in self._messages else ids:
            del self._messages[gone]
            self._written.discard(gone)
            self.skip("rewound message")


def _only_text(content: Any) -> str | None:
    parts = objects(content)
    return text(parts[0].get("text")) if len(parts) == 1 else text(content)


def _count(message: dict[str, Any], builder: TraceBuilder) -> None:
    """Thoughts are not among the output, nor is what tools add among the input."""
    builder.model = text(message.get("model")) or builder.model
    read = tokens(message.get("tokens"), "input", "tool")
    wrote = tokens(message.get("tokens"), "output", "thoughts")
    if read is not None:
        builder.input_tokens = (builder.input_tokens or 0) + read
    if wrote is not None:
        builder.output_tokens = (builder.output_tokens or 0) + wrote


def read_gemini(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """Every session of a file, and its bad lines. A last line that was not written to its end is only counted."""
    folder = source.path.parent.name if source.path is not None else None
    chat: GeminiChat | None = None

    def take(record: JsonRecord) -> Iterator[TraceLine | BadRow]:
        nonlocal chat
        change = decode(record.data)
        if chat is None or chat.starts(change):
            if chat is not None:
                yield from _finished(chat, source, seen)
            chat = GeminiChat(record.line, folder)
        chat.add(change)

    broken = yield from feed(source, take)
    if chat is not None and broken is not None:
        chat.skip("cut line")
    rows = [*_finished(chat, source, seen)] if chat is not None else []
    if broken is not None and not any(isinstance(row, TraceLine) for row in rows):
        yield broken
    yield from rows


def _finished(chat: GeminiChat, source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    try:
        made = chat.trace(seen)
    except InputError as error:
        yield BadRow(chat.line, error.at(file=source.name, line=chat.line))
        return
    if made is not None:
        yield made


def _sniff(head: Head) -> bool:
    if head.has("sessionId", "projectHash"):
        return True
    return any("$rewindTo" in record or isinstance(record.get("$set"), dict) for record in head.records)


READER = Reader("gemini", "Gemini CLI chats", _sniff, read_gemini)
