"""The reader of Codex: finds out which of its two shapes a file has, and reads it record by record."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from scalepan.errors import InputError
from scalepan.trace.readers.codex.exec import ExecLog
from scalepan.trace.readers.codex.rollout import Rollout, RolloutLine
from scalepan.trace.readers.feed import feed
from scalepan.trace.readers.lenient import first_text, mapping, text
from scalepan.trace.readers.source import BadRow, Head, JsonRecord, Source, TraceLine, decode
from scalepan.trace.readers.table import Reader, SeenRecords

_LINE = msgspec.json.Decoder(RolloutLine)
_THREAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RECORDS = frozenset(("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"))
_EXEC = frozenset(("thread.started", "turn.started", "turn.completed", "turn.failed", "item.started", "item.completed"))
_BARE = ("message", "reasoning", "_call", "_output")


def read_codex(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """Every thread of a file, and its bad lines. A last line that was not written to its end is only counted."""
    thread: Rollout | ExecLog | None = None

    def take(record: JsonRecord) -> Iterator[TraceLine | BadRow]:
        nonlocal thread
        started = _started(record, thread, source, seen)
        if started is not None:
            if thread is not None:
                yield from _finished(thread, source)
            thread = started
        elif isinstance(thread, Rollout):
            thread.add(_line(record))
        elif thread is not None:
            thread.add(decode(record.data))

    broken = yield from feed(source, take)
    rows = [*_finished(thread, source, cut=broken is not None)] if thread is not None else []
    if broken is not None and not any(isinstance(row, TraceLine) for row in rows):
        yield broken
    yield from rows


def _started(
    record: JsonRecord, thread: Rollout | ExecLog | None, source: Source, seen: SeenRecords
) -> Rollout | ExecLog | None:
    """The thread that begins with this record, if one does."""
    line = _line(record)
    at = text(line.timestamp)
    if line.type == "session_meta":
        meta = decode(line.payload) if isinstance(line.payload, msgspec.Raw) else {}
        if isinstance(thread, Rollout) and thread.inherits(meta):
            return None
        return Rollout(record.line, meta or _named(source), seen, at)
    if line.type == "thread.started":
        return ExecLog(record.line, decode(record.data))
    if thread is not None:
        return None
    if isinstance(line.type, str) and line.type in _EXEC:
        log = ExecLog(record.line, {})
        log.add(decode(record.data))
        return log
    # The oldest files have a bare header; those whose header was lost are named by the file.
    bare = decode(record.data) if line.type is None else {}
    begun = Rollout(record.line, bare if text(bare.get("id")) else _named(source), seen, at)
    if line.type is not None:
        begun.add(line)
    return begun


def _named(source: Source) -> dict[str, Any]:
    found = _THREAD.search(source.head.name)
    return {"id": found.group()} if found else {"name": source.head.name}


def _line(record: JsonRecord) -> RolloutLine:
    """A line; the items of the oldest files, which stand alone, as if they were in one."""
    try:
        line = _LINE.decode(record.data)
    except msgspec.ValidationError:
        decode(record.data)
        raise InputError("is not a JSON object") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        # Says what is wrong with it.
        decode(record.data)
        raise
    if line.payload is msgspec.UNSET and isinstance(line.type, str) and line.type.endswith(_BARE):
        return RolloutLine("response_item", payload=msgspec.Raw(record.data))
    return line


def _finished(thread: Rollout | ExecLog, source: Source, *, cut: bool = False) -> Iterator[TraceLine | BadRow]:
    if cut:
        thread.skip("cut line")
    try:
        made = thread.trace()
    except InputError as error:
        yield BadRow(thread.line, error.at(file=source.name, line=thread.line))
        return
    if made is not None:
        yield made


def _sniff(head: Head) -> bool:
    return any(map(_is_codex, head.records[:8]))


def _is_codex(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str):
        return {"id", "timestamp", "instructions"} <= record.keys()
    if kind in _RECORDS:
        return isinstance(record.get("payload"), dict)
    if kind == "thread.started":
        return first_text(record.get("thread_id")) is not None
    item = mapping(record.get("item"))
    return kind in ("item.started", "item.completed") and ("type" in item or "item_type" in item)


READER = Reader("codex", "Codex: rollout files and codex exec --json", _sniff, read_codex)
