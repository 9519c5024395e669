"""One message in any form in which tracing clients log it: LangChain's two forms, OpenAI's, Anthropic's, Vercel's.

LangChain writes a message as a constructor call (`{"lc": 1, "id": [..., "AIMessage"], "kwargs": {...}}`), as plain
fields (`{"type": "ai", ...}`), or as the pair of role and text that the program gave it.
"""

from typing import Any

from scalepan.trace.readers.bodies import anthropic
from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.items import item_entries
from scalepan.trace.readers.lenient import first_text, flag, items, mapping, objects, parsed, text, words

_ROLES = {
    **dict.fromkeys(("human", "HumanMessage", "HumanMessageChunk", "ChatMessage", "chat"), "user"),
    **dict.fromkeys(("ai", "AIMessage", "AIMessageChunk", "model"), "assistant"),
    **dict.fromkeys(("ToolMessage", "FunctionMessage", "function", "ToolMessageChunk"), "tool"),
    **dict.fromkeys(("SystemMessage", "SystemMessageChunk", "developer"), "system"),
}
_KNOWN = frozenset(("user", "assistant", "tool", "system", *_ROLES))
_ITEMS = ("_call", "_output", "reasoning")
_FAILED = {"error": True, "success": False}


def is_message(value: Any) -> bool:
    """Whether a value is one message in one of the forms."""
    if isinstance(value, list):
        return len(value) == 2 and all(isinstance(part, str) for part in value) and value[0] in _KNOWN
    if not isinstance(value, dict):
        return False
    if "role" in value or ("lc" in value and "kwargs" in value):
        return True
    type_ = text(value.get("type")) or ""
    return (type_ in _KNOWN and "content" in value) or (type_.endswith(_ITEMS) and "content" not in value)


def message_list(value: Any) -> list[Any]:
    """The messages of a list, without the further list around them that LangChain adds for batches."""
    listed = items(value)
    if listed and isinstance(listed[0], list) and not is_message(listed[0]):
        listed = listed[0]
    return listed if any(map(is_message, listed)) else []


def entries_of(message: Any, at: str | None = None) -> list[LogEntry]:
    """What a message says."""
    return [entry._replace(at=at) for entry in _entries(message)]


def _entries(message: Any) -> list[LogEntry]:
    if isinstance(message, str):
        return [LogEntry("request", message)] if message else []
    if isinstance(message, list):
        message = {"role": message[0], "content": message[1]} if is_message(message) else {}
    fields = _fields(mapping(message))
    role = fields.get("role")
    if role is None:
        return item_entries(fields) if text(fields.get("type")) else [LogEntry("skip", "unknown message")]
    if role == "tool":
        return _tool(fields)
    if role == "assistant":
        return _assistant(fields)
    if role == "user":
        blocks = _blocks(fields.get("content"))
        return anthropic.message_entries({"role": "user", "content": blocks}) if blocks else []
    return [LogEntry("skip", f"{role} message")]


def _fields(message: dict[str, Any]) -> dict[str, Any]:
    """A message as plain fields with OpenAI's role."""
    inside = mapping(message.get("kwargs")) if "lc" in message else {}
    class_ = [name for name in items(message.get("id")) if isinstance(name, str)]
    fields = inside or message
    kind = first_text(fields.get("role"), fields.get("type")) or (class_[-1] if class_ and inside else None)
    role = _ROLES.get(kind or "", kind)
    if "role" not in fields and kind not in _KNOWN:
        return fields
    return fields | {"role": role}


def _tool(message: dict[str, Any]) -> list[LogEntry]:
    content = message.get("content")
    if mapping(content).get("type") == "function" and "function" in mapping(content):
        # Langfuse's handler for LangChain lists the tools that a model may call as if they were results.
        return [LogEntry("skip", "tool definition")]
    blocks = [block for block in _blocks(content) if mapping(block).get("type") == "tool_result"]
    if blocks:
        return anthropic.message_entries({"role": "user", "content": blocks})
    return [
        LogEntry(
            "result",
            words(content),
            name=text(message.get("name")),
            call_id=text(message.get("tool_call_id")),
            failed=_FAILED.get(text(message.get("status")) or ""),
        )
    ]


def _assistant(message: dict[str, Any]) -> list[LogEntry]:
    more = mapping(message.get("additional_kwargs"))
    thought = first_text(
        message.get("reasoning_content"), message.get("reasoning"), more.get("reasoning_content"), more.get("reasoning")
    )
    entries = [LogEntry("think", thought)] if thought else []
    blocks = _blocks(message.get("content"))
    refusal = first_text(message.get("refusal"), more.get("refusal"))
    if not blocks and refusal:
        blocks = [{"type": "text", "text": refusal}]
    if blocks:
        entries += anthropic.message_entries({"role": "assistant", "content": blocks})
    made = {entry.call_id for entry in entries if entry.kind == "call"}
    stated = objects(message.get("tool_calls")) or objects(more.get("tool_calls"))
    stated = stated or objects([message.get("function_call") or more.get("function_call")])
    calls = map(_call, [*stated, *objects(message.get("invalid_tool_calls"))])
    # LangChain repeats the calls that are in the content.
    return [*entries, *(call for call in calls if call.call_id is None or call.call_id not in made)]


def _call(call: dict[str, Any]) -> LogEntry:
    made = mapping(call.get("function")) or call
    given = next((made[key] for key in ("args", "arguments", "input") if key in made), None)
    name = first_text(made.get("name"), made.get("toolName"))
    return LogEntry("call", name=name, input=parsed(given), call_id=first_text(call.get("id"), call.get("toolCallId")))


def _blocks(content: Any) -> list[Any]:
    """Content as Anthropic's blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if isinstance(content, dict):
        return [_block(content)]
    return [_block(part) if isinstance(part, dict) else part for part in items(content) if part]


def _block(part: dict[str, Any]) -> dict[str, Any]:
    match part.get("type"):
        case "reasoning":
            said = first_text(part.get("reasoning"), part.get("text")) or words(part.get("summary"))
            return {"type": "thinking", "thinking": said}
        case "tool_call" | "tool-call" | "function_call":
            call = _call(part | {"id": first_text(part.get("call_id"), part.get("toolCallId"), part.get("id"))})
            return {"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.input}
        case "tool-result":
            output = part.get("output", part.get("result"))
            shown = mapping(output).get("value", output)
            failed = True if text(mapping(output).get("type")) in ("error-text", "error-json") else None
            return {
                "type": "tool_result",
                "tool_use_id": part.get("toolCallId"),
                "content": shown if isinstance(shown, (str, list)) else words(shown),
                "is_error": flag(part.get("isError")) or failed,
            }
    return part
