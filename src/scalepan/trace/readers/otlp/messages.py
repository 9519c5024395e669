"""Messages by the GenAI conventions: the current ones in attributes, and those up to 1.36 in events.

Current: [{"role": ..., "parts": [{"type": "text", "content": ...}, {"type": "tool_call", ...}]}], as JSON text in the
attribute of a span or as data in that of an event. Up to 1.36: an event for each message, with a body that is much like
a message of OpenAI.
"""

from collections.abc import Iterable
from typing import Any

from scalepan.trace.readers.bodies import chat
from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.lenient import items, mapping, objects, parsed, text, words
from scalepan.trace.readers.otlp.records import SpanEvent

_CALLS = frozenset(("tool_call", "server_tool_call"))
_RESULTS = frozenset(("tool_call_response", "server_tool_call_response"))
_THOUGHTS = frozenset(("reasoning", "thinking"))
_BINARY = frozenset(("blob", "file", "uri"))
_AGENT = frozenset(("assistant", "model", "ai"))
_PERSON = frozenset(("user", "human"))
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant"}


def history_entries(messages: Any) -> list[LogEntry]:
    """What `gen_ai.input.messages` says."""
    return [entry for message in objects(parsed(messages)) for entry in message_entries(message)]


def answer_entries(messages: Any) -> list[LogEntry]:
    """What `gen_ai.output.messages` says: its first message. The others are choices that the agent did not take."""
    said = objects(parsed(messages))
    entries = message_entries({"role": "assistant"} | said[0]) if said else []
    return [*entries, *[LogEntry("skip", "other choice")] * (len(said) - 1)]


def message_entries(message: dict[str, Any]) -> list[LogEntry]:
    """What one message says. Texts that stand side by side are one."""
    if not isinstance(message.get("parts"), list):
        return chat.message_entries(as_chat(message))
    role = text(message.get("role")) or "unknown"
    entries: list[LogEntry] = []
    said: list[Any] = []
    for part in items(message["parts"]):
        entry = _entry(part) if isinstance(part, dict) else None
        if entry is None:
            said.append(_text_part(part))
            continue
        entries += [*_said(role, said), entry]
        said = []
    return _calls_last([*entries, *_said(role, said)]) or [LogEntry("skip", "empty message")]


def _calls_last(entries: list[LogEntry]) -> list[LogEntry]:
    """A model waits after its calls, but some emitters write them first. Only tools that the API runs answer inside."""
    if any(entry.kind == "result" for entry in entries):
        return entries
    return sorted(entries, key=lambda entry: entry.kind == "call")


def as_chat(message: dict[str, Any]) -> dict[str, Any]:
    """A message without parts, with the roles that OpenAI has."""
    role = text(message.get("role"))
    return message | {"role": _ROLES.get(role, role)} if role is not None else message


def _said(role: str, parts: list[Any]) -> list[LogEntry]:
    said = words(parts)
    if not said:
        return []
    if role in _AGENT:
        return [LogEntry("say", said)]
    if role in _PERSON:
        return [LogEntry("request", said)]
    return [LogEntry("result", said) if role == "tool" else LogEntry("skip", f"{role[:60]} message")]


def _text_part(part: Any) -> Any:
    if not isinstance(part, dict) or part.get("type") not in _BINARY:
        return part
    return f"[{text(part.get('modality')) or part['type']}]"


def _entry(part: dict[str, Any]) -> LogEntry | None:
    """A part that is more than text."""
    kind = text(part.get("type")) or ""
    if kind in _THOUGHTS:
        said = words(part.get("content", part.get("text")))
        return LogEntry("think", said) if said else LogEntry("skip", "encrypted reasoning")
    if kind in _CALLS:
        given = parsed(part.get("arguments", part.get(kind)))
        return LogEntry("call", name=text(part.get("name")), input=given, call_id=text(part.get("id")))
    if kind in _RESULTS:
        # "result" was its name before "response".
        given = next((part[key] for key in ("response", "result", kind, "content") if part.get(key) is not None), None)
        return LogEntry("result", words(given), name=text(part.get("name")), call_id=text(part.get("id")))
    return None


def event_entries(events: Iterable[SpanEvent]) -> tuple[list[LogEntry], list[LogEntry], str | None]:
    """History, answer and finish reason in events up to 1.36, in the order of the messages."""
    history: list[LogEntry] = []
    answer: list[LogEntry] = []
    ended = None
    for event in events:
        body = _body(event)
        match event.name.split("."):
            case ["gen_ai", "choice"]:
                ended = text(body.get("finish_reason")) or ended
                answer += _choice(body)
            case ["gen_ai", role, "message"]:
                message = {"role": text(body.get("role")) or role, "tool_call_id": body.get("id")} | body
                history += message_entries(message)
            case ["gen_ai", "content", ("prompt" | "completion") as kind]:
                # Until 1.28.
                said = parsed(event.attributes.get(f"gen_ai.{kind}"))
                (history if kind == "prompt" else answer).extend(_older(said, kind))
    return history, answer, ended


def _older(said: Any, kind: str) -> list[LogEntry]:
    role = "user" if kind == "prompt" else "assistant"
    messages = [{"role": role, "content": said}] if isinstance(said, str) else objects(said)
    return [entry for message in messages for entry in message_entries({"role": role} | message)]


def _choice(body: dict[str, Any]) -> list[LogEntry]:
    if body.get("index") not in (None, 0, "0"):
        return [LogEntry("skip", "other choice")]
    message = parsed(body.get("message", body))
    said = {"content": message} if not isinstance(message, dict) else message
    return message_entries({"role": "assistant"} | said)


def _body(event: SpanEvent) -> dict[str, Any]:
    """The body of a log record. Events of spans have none, so emitters put it into attributes."""
    for held in (event.body, event.attributes.get("gen_ai.event.content")):
        found = mapping(parsed(held))
        if found:
            return found
    plain = {key: value for key, value in event.attributes.items() if not key.startswith("gen_ai.")}
    return plain | {key: parsed(plain[key]) for key in ("content", "tool_calls") if isinstance(plain.get(key), str)}
