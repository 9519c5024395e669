"""What one message of a Gemini CLI chat says: text, thoughts, tool calls with their results."""

import re
from typing import Any

from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.lenient import as_json, items, mapping, objects, text, words

# What Gemini CLI itself writes in the name of the user and, after a compression, of the model.
_INJECTED = re.compile(r"\s*<(?:session_context|hook_context|system_reminder)>|[\s\S]*<state_snapshot>")
THANKS = "Got it. Thanks for the additional context!"
_COMMAND = re.compile(r"[/?][a-z-]*(?:\s|$)")
# A shell command that fails is a success of the tool. The lines under its output say how it ended.
_EXIT = re.compile(
    r"\nExit Code: (-?\d{1,10})\n?(?:(?:Signal|Background PIDs|Process Group PGID): [^\n]*\n?){0,4}"
    r"(?:</untrusted_context>)?\s*$"
)
_FAILED = {"success": False, "error": True}


def message_entries(message: dict[str, Any], done: set[str]) -> list[LogEntry]:
    """The entries of a message; `done` has the ids of the calls that had a result, and gets more of them."""
    at = text(message.get("timestamp"))
    match message.get("type"):
        case "user":
            entries = _user(message, done)
        case "gemini":
            entries = _model(message, done)
        case kind:
            return [LogEntry("skip", f"{text(kind) or 'unknown'} message")]
    return [entry if entry.at else entry._replace(at=at) for entry in entries]


def _user(message: dict[str, Any], done: set[str]) -> list[LogEntry]:
    parts = _parts(message.get("content"))
    results = [entry for part in parts if (entry := _response(part, done)) is not None]
    # The content may have files that the request names; this is what was typed.
    typed = _parts(message.get("displayContent")) or [part for part in parts if "functionResponse" not in part]
    said = _said(typed)
    if said is None:
        return results
    if _INJECTED.match(said):
        return [*results, LogEntry("skip", "injected context")]
    return [*results, LogEntry("skip", "command") if _COMMAND.match(said) else LogEntry("request", said)]


def _model(message: dict[str, Any], done: set[str]) -> list[LogEntry]:
    parts = _parts(message.get("content"))
    thoughts = [_thought(thought) for thought in objects(message.get("thoughts"))]
    thoughts += [] if thoughts else [_said([part]) for part in parts if part.get("thought") is True]
    said = _said([part for part in parts if not part.get("thought") and "functionCall" not in part])
    calls = objects(message.get("toolCalls"))
    made = [_call(call, call.get("args")) for call in calls]
    in_parts = [mapping(part["functionCall"]) for part in parts if "functionCall" in part and not calls]
    return [
        *(LogEntry("think", thought) for thought in thoughts if thought),
        *([LogEntry("say", said)] if said else []),
        *made,
        *(_call(call, call.get("args")) for call in in_parts),
        *(_result(call, done) for call in calls if call.get("status") or call.get("result")),
    ]


def _call(call: dict[str, Any], given: Any) -> LogEntry:
    return LogEntry("call", name=text(call.get("name")), input=given, call_id=text(call.get("id")))


def _result(call: dict[str, Any], done: set[str]) -> LogEntry:
    call_id, status, name = text(call.get("id")), text(call.get("status")), text(call.get("name"))
    if call_id is not None:
        done.add(call_id)
    parts = _parts(call.get("result"))
    shown = [_responded(mapping(part.get("functionResponse"))) or _said([part]) for part in parts]
    said = "\n".join(filter(None, shown)) or text(call.get("resultDisplay"))
    code = _EXIT.search(said) if said else None
    failed = int(code[1]) != 0 if code else _FAILED.get(status or "")
    return LogEntry(
        "result",
        said,
        name=name,
        call_id=call_id,
        failed=failed,
        refused=True if status == "cancelled" else None,
        at=text(call.get("timestamp")),
    )


def _response(part: dict[str, Any], done: set[str]) -> LogEntry | None:
    """A result in a message of the user: the same again, unless the call did not have it."""
    response = mapping(part.get("functionResponse"))
    call_id = text(response.get("id"))
    if not response or (call_id is not None and call_id in done):
        return None
    if call_id is not None:
        done.add(call_id)
    failed = True if "error" in mapping(response.get("response")) else None
    return LogEntry("result", _responded(response), name=text(response.get("name")), call_id=call_id, failed=failed)


def _responded(response: dict[str, Any]) -> str | None:
    inner = response.get("response")
    values = mapping(inner)
    for key in ("output", "error"):
        if key in values:
            return words(values[key])
    return words(inner) if isinstance(inner, str) else as_json(inner) if inner else None


def _thought(thought: dict[str, Any]) -> str | None:
    return ": ".join(filter(None, (text(thought.get("subject")), text(thought.get("description"))))) or None


def _parts(content: Any) -> list[dict[str, Any]]:
    """Content as parts: it is one string, one part, or a list of both."""
    listed = content if isinstance(content, list) else [content]
    return [
        {"text": part} if isinstance(part, str) else part for part in items(listed) if isinstance(part, (str, dict))
    ]


def _said(parts: list[dict[str, Any]]) -> str | None:
    return "\n".join(filter(None, map(_shown, parts))) or None


def _shown(part: dict[str, Any]) -> str | None:
    data = mapping(part.get("inlineData") or part.get("fileData"))
    if data:
        return f"[{(text(data.get('mimeType')) or 'file').split('/')[0]}]"
    return text(part.get("text"))
