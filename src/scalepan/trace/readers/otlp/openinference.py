"""Messages by OpenInference: lists flattened into numbered keys, such as `llm.input_messages.0.message.role`."""

from typing import Any

from scalepan.trace.readers.bodies import chat
from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.lenient import first_text, mapping, text
from scalepan.trace.readers.otlp.messages import as_chat

_LONGEST_KEY = 16


def flat_entries(attributes: dict[str, Any], list_name: str, role: str) -> list[LogEntry]:
    """What the messages under a name say; `role` is that of a message that has none."""
    found = nested(attributes, f"{list_name}.")
    messages = (mapping(one.get("message", one)) for one in numbered(found))
    return [entry for message in messages for entry in chat.message_entries(_chat_message(message, role))]


def nested(attributes: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Keys with a prefix as objects in objects.

    >>> nested({"a.0.name": "x", "a.0.id": 1, "b": 2}, "a.")
    {'0': {'name': 'x', 'id': 1}}
    """
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        *path, last = key.removeprefix(prefix).split(".")
        if len(path) > _LONGEST_KEY:
            continue
        node = tree
        for name in path:
            inner = node.setdefault(name, {})
            if not isinstance(inner, dict):
                # A key that is both a value and the beginning of others.
                inner = node[name] = {}
            node = inner
        node.setdefault(last, value)
    return tree


def numbered(tree: Any) -> list[dict[str, Any]]:
    """The objects of a flattened list, by number: 10 comes after 9. Numbers need not begin with 0."""
    known = [key for key in mapping(tree) if key.isdecimal() and len(key) < 10]
    return [tree[key] for key in sorted(known, key=int) if isinstance(tree[key], dict)]


def _chat_message(message: dict[str, Any], role: str) -> dict[str, Any]:
    """A message as OpenAI would write it."""
    contents = numbered(message.get("contents"))
    parts = [mapping(one.get("message_content", one)) for one in contents]
    thoughts = [text(part.get("text")) for part in parts if part.get("type") == "reasoning"]
    said = [_part(part) for part in parts if part.get("type") not in ("reasoning", "tool_use", "tool_call")]
    # Some emitters write a call twice: among the contents and among the calls.
    calls = numbered(message.get("tool_calls")) or contents
    return as_chat(
        {
            "role": text(message.get("role")) or role,
            "content": [part for part in said if part] or message.get("content"),
            "reasoning_content": "\n".join(filter(None, thoughts)),
            "tool_calls": [_call(mapping(one.get("tool_call"))) for one in calls if "tool_call" in one]
            or _function_call(message),
            "tool_call_id": message.get("tool_call_id"),
            "name": message.get("name"),
        }
    )


def _part(part: dict[str, Any]) -> str | None:
    if part.get("type") == "image" or "image" in part:
        return "[image]"
    return text(part.get("text"))


def _call(call: dict[str, Any]) -> dict[str, Any]:
    made = mapping(call.get("function"))
    return {"id": call.get("id"), "function": {"name": made.get("name"), "arguments": made.get("arguments")}}


def _function_call(message: dict[str, Any]) -> list[dict[str, Any]]:
    name = text(message.get("function_call_name"))
    given = first_text(message.get("function_call_arguments_json"))
    return [{"function": {"name": name, "arguments": given}}] if name else []
