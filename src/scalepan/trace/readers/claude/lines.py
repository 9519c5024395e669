"""What does one line of a Claude Code session hold for a trace?"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from scalepan.trace.readers.claude.messages import (
    SYNTHETIC,
    ClaudeMessage,
    Denial,
    Item,
    Utterance,
    agent_items,
    decode_message,
    text_of,
    user_items,
)
from scalepan.trace.readers.claude.run import ClaudeRecord, answer_of, error_record
from scalepan.trace.readers.source import decode_as


class SessionLine(Struct, rename="camel"):
    """One line. Whatever else it has is skipped without being decoded."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    timestamp: Any = None
    cwd: Any = None
    request_id: str | None = None
    request_ref: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    error: Any = None
    tool_denial_kind: str | None = None
    total_cost: Any = msgspec.field(default=None, name="totalCostUSD")
    message: Raw = Raw()
    attachment: Raw = Raw()
    tool_use_result: Raw = Raw()


class _Attachment(Struct, rename="camel"):
    type: str = ""
    prompt: Any = None
    command_mode: str | None = None


_line = msgspec.json.Decoder(SessionLine)
_attachment = msgspec.json.Decoder(_Attachment)


def decode_line(data: bytes | memoryview | Raw) -> SessionLine:
    """A line; an InputError says what is wrong with it."""
    return decode_as(_line, data)


def record_of(number: int, line: SessionLine) -> ClaudeRecord | str:
    """What a line holds for a trace; for bookkeeping its kind in the log's own words."""
    at = line.timestamp if isinstance(line.timestamp, str) else None
    if line.is_compact_summary or line.is_visible_in_transcript_only:
        return "isCompactSummary"
    if line.type == "user":
        denial = Denial(line.tool_denial_kind, line.tool_use_result)
        items = user_items(decode_message(line.message), denial, meta=bool(line.is_meta))
        return ClaudeRecord(number, line.uuid, at, items)
    if line.type == "assistant":
        message = decode_message(line.message)
        if line.is_api_error_message or message.model == SYNTHETIC:
            return error_record(number, line.uuid, at, line.error, api=bool(line.is_api_error_message))
        answer = answer_of(message, line.request_id or line.request_ref, line.uuid)
        return ClaudeRecord(number, line.uuid, at, agent_items(message), answer)
    detail = line.subtype
    if line.attachment:
        attachment = decode_as(_attachment, line.attachment, path="attachment")
        if attachment.type == "queued_command":
            return ClaudeRecord(number, line.uuid, at, _queued(attachment))
        detail = attachment.type
    return f"{line.type}:{detail}" if detail else line.type or "line without type"


def _queued(queued: _Attachment) -> list[Item]:
    """What a person typed while the agent was working, or a notice that came meanwhile."""
    items = user_items(ClaudeMessage(content=text_of(queued.prompt)), Denial())
    if queued.command_mode in (None, "prompt"):
        return items
    return [Utterance("notice", item.text) for item in items if isinstance(item, Utterance)]
