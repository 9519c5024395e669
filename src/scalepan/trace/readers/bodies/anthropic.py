"""Anthropic Messages: content blocks, with results of tools inside the messages of the user."""

from collections.abc import Sequence
from typing import Any

from scalepan.trace.readers.bodies.api import BodyApi, ModelAnswer, tokens
from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.lenient import flag, items, mapping, objects, parsed, text, words

_CALLS = frozenset(("tool_use", "server_tool_use", "mcp_tool_use"))
_THOUGHTS = frozenset(("thinking", "redacted_thinking"))
_READ = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def history(request: dict[str, Any]) -> list[LogEntry]:
    """The messages of a request."""
    system = [LogEntry("skip", "system message")] if request.get("system") else []
    return [*system, *(one for message in objects(request.get("messages")) for one in message_entries(message))]


def message_entries(message: dict[str, Any]) -> list[LogEntry]:
    """What one message says. The text of a user between two results is one request."""
    role = text(message.get("role")) or "unknown"
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
    entries: list[LogEntry] = []
    said: list[Any] = []
    for block in blocks:
        entry = _entry(block) if isinstance(block, dict) else None
        if entry is None:
            said.append(block)
            continue
        entries += [*_said(role, said), entry]
        said = []
    return [*entries, *_said(role, said)] or [LogEntry("skip", "empty message")]


def _said(role: str, blocks: list[Any]) -> list[LogEntry]:
    """Blocks without a meaning of their own, as one text."""
    shown = [block for block in blocks if not _is_reminder(block)]
    skipped = [LogEntry("skip", "system reminder")] * (len(blocks) - len(shown))
    said = words(shown)
    if not said:
        return skipped
    kinds = {"user": "request", "assistant": "say"}
    entry = LogEntry(kinds[role], said) if role in kinds else LogEntry("skip", f"{role} message")  # type: ignore[arg-type]
    return [*skipped, entry]


def _is_reminder(block: Any) -> bool:
    """Text that an agent, not a person, puts into the messages of the user."""
    said = text(mapping(block).get("text"))
    return said is not None and said.startswith("<system-reminder>") and said.rstrip().endswith("</system-reminder>")


def _entry(block: dict[str, Any]) -> LogEntry | None:
    """A block that is more than text."""
    type_ = text(block.get("type")) or ""
    if type_ in _THOUGHTS:
        said = text(block.get("thinking"))
        return LogEntry("think", said) if said else LogEntry("skip", "encrypted reasoning")
    if type_ in _CALLS:
        return LogEntry(
            "call",
            name=text(block.get("name")),
            input=block.get("input"),
            call_id=text(block.get("id")),
            server=text(block.get("server_name")),
        )
    if type_.endswith("tool_result"):
        said, failed = _result(block.get("content"))
        stated = flag(block.get("is_error"))
        return LogEntry(
            "result", said, call_id=text(block.get("tool_use_id")), failed=failed if stated is None else stated
        )
    return None


def _result(content: Any) -> tuple[str | None, bool | None]:
    """The text of a result; those of tools that the API runs are objects that say how they ended."""
    if not isinstance(content, dict):
        return words(content), None
    kind, code = text(content.get("type")) or "", content.get("return_code")
    if kind.endswith("_error"):
        return text(content.get("error_code")) or words(content), True
    printed = [text(content.get(key)) for key in ("stdout", "stderr")]
    shown = "\n".join(filter(None, printed)) if "stdout" in content else words(content.get("content", content))
    return shown or None, code != 0 if type(code) is int else None


def answer(response: dict[str, Any]) -> ModelAnswer | None:
    """What a response says. It has no time; the cached tokens are among those that the model read."""
    if response.get("role") != "assistant" or response.get("type") == "error":
        return None
    return ModelAnswer(
        message_entries(response),
        id=text(response.get("id")),
        model=text(response.get("model")),
        ended=text(response.get("stop_reason")),
        input_tokens=tokens(response.get("usage"), *_READ),
        output_tokens=tokens(response.get("usage"), "output_tokens"),
    )


def joined(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The events of a stream as one response."""
    message: dict[str, Any] = {}
    blocks: dict[str, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    for event in events:
        block = blocks.get(str(event.get("index")))
        match event.get("type"):
            case "message_start":
                message = mapping(event.get("message"))
                usage |= mapping(message.get("usage"))
            case "content_block_start":
                blocks[str(event.get("index"))] = dict(mapping(event.get("content_block")))
            case "content_block_delta" if block is not None:
                _grow(block, mapping(event.get("delta")))
            case "message_delta":
                message = message | mapping(event.get("delta"))
                usage |= mapping(event.get("usage"))
            case "error":
                return event
    for block in blocks.values():
        if "partial" in block:
            block["input"] = parsed(block.pop("partial"))
    return message | {"content": list(blocks.values()), "usage": usage} if message else {}


def _grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    for key in ("text", "thinking"):
        if text(delta.get(key)):
            block[key] = (text(block.get(key)) or "") + delta[key]
    if text(delta.get("partial_json")):
        block["partial"] = block.get("partial", "") + delta["partial_json"]


def claims(request: dict[str, Any], response: dict[str, Any]) -> bool:
    """Whether only this API has such bodies."""
    if response.get("type") == "message" and "content" in response:
        return True
    if "choices" in response:
        return False
    if "anthropic_version" in request or ("system" in request and "messages" in request):
        return True
    if any("input_schema" in tool for tool in objects(request.get("tools"))):
        return True
    blocks = [block for message in objects(request.get("messages")) for block in objects(message.get("content"))]
    kinds = {text(block.get("type")) or "" for block in blocks}
    return bool(kinds & (_CALLS | _THOUGHTS)) or any(kind.endswith("tool_result") for kind in kinds)


API = BodyApi("anthropic", claims, history, answer, joined)
