"""A conversation in Inspect's messages as steps."""

from typing import Any

from scalepan.errors import InputError
from scalepan.trace.readers.build import TraceBuilder
from scalepan.trace.readers.lenient import items, mapping, objects, text, words

_REFERENCES = ("attachment://", "tc://")
# Tool errors by which a person or a rule stopped a call: it was not tried.
_REFUSALS = frozenset(("approval", "cancelled"))


def resolve(value: Any, attachments: dict[str, Any]) -> Any:
    """The same value, with what stands in attachments in its place. An unknown reference stays as it is."""
    if not attachments:
        return value
    try:
        return _resolved(value, attachments)
    except RecursionError:
        raise InputError("is nested too deeply") from None


def _resolved(value: Any, attachments: dict[str, Any]) -> Any:
    if isinstance(value, str):
        if value.startswith(_REFERENCES):
            found = attachments.get(value.partition("://")[2])
            return found if isinstance(found, str) else value
        return value
    if isinstance(value, list):
        return [_resolved(item, attachments) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item, attachments) for key, item in value.items()}
    return value


def add_messages(builder: TraceBuilder, messages: list[dict[str, Any]]) -> None:
    """The steps of a conversation. What came with the sample was not done by the agent."""
    for message in messages:
        role = message.get("role")
        if role == "assistant" and message.get("source") != "input":
            _assistant(builder, message)
        elif role == "tool":
            _result(builder, message)
        elif role == "user":
            _user(builder, message)
        else:
            builder.skip("system" if role == "system" else "input" if role == "assistant" else "unknown role")


def _user(builder: TraceBuilder, message: dict[str, Any]) -> None:
    content = words(message.get("content"))
    if builder.steps and message.get("source") != "input":
        builder.observe(content)
    elif builder.objective is None:
        builder.objective = content
    elif content != builder.objective:
        # The task in a template, or an example before it.
        builder.skip("input")


def _assistant(builder: TraceBuilder, message: dict[str, Any]) -> None:
    old_reasoning = words(message.get("reasoning"))
    if old_reasoning is not None:
        builder.think(old_reasoning)
    content = message.get("content")
    said: list[Any] = []
    for part in items(content) if isinstance(content, list) else [content]:
        type_ = mapping(part).get("type")
        if type_ == "reasoning":
            _reasoning(builder, mapping(part))
        elif type_ == "tool_use":
            _say(builder, said)
            said = []
            _served_tool(builder, mapping(part))
        else:
            said.append(part)
    _say(builder, said)
    for call in objects(message.get("tool_calls")):
        name = text(call.get("function"))
        if name is None:
            builder.skip("tool call without a name")
        else:
            builder.call(name, call.get("arguments"), text(call.get("id")))


def _say(builder: TraceBuilder, parts: list[Any]) -> None:
    said = words(parts)
    if said is not None:
        builder.say(said)


def _reasoning(builder: TraceBuilder, part: dict[str, Any]) -> None:
    # Redacted reasoning is a key for the provider, not text.
    thought = words(part.get("summary")) if part.get("redacted") is True else words(part.get("reasoning"))
    thought = thought or words(part.get("summary"))
    if thought is None:
        builder.skip("reasoning without text")
    else:
        builder.think(thought)


def _served_tool(builder: TraceBuilder, part: dict[str, Any]) -> None:
    """A tool that the provider ran, such as its own web search: call and result are one part."""
    name = text(part.get("name")) or text(part.get("tool_type"))
    if name is None:
        builder.skip("tool call without a name")
        return
    call_id, error = text(part.get("id")), words(part.get("error"))
    builder.call(name, part.get("arguments"), call_id, server=text(part.get("context")))
    builder.observe(error or words(part.get("result")), call_id, tool=name, failed=error is not None)


def _result(builder: TraceBuilder, message: dict[str, Any]) -> None:
    error = mapping(message.get("error"))
    type_ = text(error.get("type"))
    content = words(message.get("content")) or words(error.get("message"))
    refused = True if type_ in _REFUSALS else None
    builder.observe(
        content,
        text(message.get("tool_call_id")),
        tool=text(message.get("function")),
        failed=bool(error),
        refused=refused,
    )
