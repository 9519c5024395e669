"""What does one message of Claude Code say? Its blocks as the few things that become steps."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct

from scalepan.trace.readers.claude.words import INTERRUPTED, Speaker, whose
from scalepan.trace.readers.source import decode_as

SYNTHETIC = "<synthetic>"
"""The model of messages that Claude Code wrote itself, such as errors of the API."""

# How the result of a call begins that a person refused. The log has no field for it in older versions.
_REFUSALS = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    INTERRUPTED,
)
_REFUSED_KINDS = ("user-rejected", "interrupted")
_MOST = 2**53
INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""All that the model read: also what came from the cache, and what was put there."""
_THINKING = ("thinking", "redacted_thinking")


class Utterance(NamedTuple):
    """Something that was thought or said. `skip` counts it under its text instead."""

    kind: Literal["think", "say"] | Speaker
    text: str


class ToolUse(NamedTuple):
    """A call of a tool."""

    call_id: str | None
    name: str
    input: Any


class ToolReturn(NamedTuple):
    """A tool's result."""

    call_id: str | None
    text: str | None
    failed: bool | None
    refused: bool | None


Item = Utterance | ToolUse | ToolReturn


class ClaudeBlock(Struct):
    """A block of a message's content; which fields it has depends on its type."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None


class ClaudeMessage(Struct):
    """The `message` of a line: the API's own shape."""

    content: str | list[ClaudeBlock | str] | None = None
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: Any = None


class Denial(NamedTuple):
    """What a line says of a result beside the result itself."""

    kind: str | None = None
    """Why the call was not made."""
    outcome: Raw | None = None
    """What the tool returned to Claude Code: an object, or a text."""


class _Outcome(Struct, rename="camel"):
    interrupted: Any = None
    exit_code: Any = None


_message = msgspec.json.Decoder(ClaudeMessage)
_outcome = msgspec.json.Decoder(_Outcome)


def decode_message(data: Raw) -> ClaudeMessage:
    """The message of a line; an empty one if the line has none."""
    return decode_as(_message, data, path="message") if data else ClaudeMessage()


def agent_items(message: ClaudeMessage) -> list[Item]:
    """What the agent thinks, says and calls in a message."""
    return [item for block in _blocks(message) if (item := _agent_item(block)) is not None]


def user_items(message: ClaudeMessage, denial: Denial, *, meta: bool = False) -> list[Item]:
    """Results of tools in a message in the user's role, and what a person says in it; of a `meta` one only results."""
    results: list[Item] = []
    texts: list[str] = []
    for block in _blocks(message):
        if block.type == "tool_result" or block.tool_use_id is not None:
            results.append(_result(block, denial))
        else:
            texts.append(block.text or ("" if block.type == "text" else f"[{block.type}]"))
    if meta:
        return results or [Utterance("skip", "isMeta")]
    return [*results, *_said(texts)]


def text_of(content: Any) -> str:
    """The text of a result or a prompt. What is not text is named, so that no image gets into a step.

    >>> text_of([{"type": "text", "text": "1 line"}, {"type": "image", "source": {"data": "iVBORw0"}}])
    '1 line\\n[image]'
    """
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    return "\n".join(text for part in content if (text := _part(part)))


def count(usage: Any, *names: str) -> int:
    """The sum of some token counts; what is not a count is 0."""
    if not isinstance(usage, dict):
        return 0
    values = [usage.get(name) for name in names]
    return sum(value for value in values if type(value) is int and 0 < value < _MOST)


def _blocks(message: ClaudeMessage) -> Iterator[ClaudeBlock]:
    content = message.content
    if isinstance(content, str):
        content = [content]
    for block in content or []:
        yield ClaudeBlock(type="text", text=block) if isinstance(block, str) else block


def _agent_item(block: ClaudeBlock) -> Item | None:
    if block.type in _THINKING:
        text = block.thinking or block.text or ""
        # Signed thinking comes without its text.
        return Utterance("think", text) if text.strip() else Utterance("skip", f"{block.type} without text")
    if block.name is not None or block.type == "tool_use":
        return ToolUse(block.id, block.name or "", block.input)
    if block.tool_use_id is not None:
        # A tool that ran on the API's side: its result is in the answer itself.
        return _result(block, Denial())
    if block.type == "text":
        return Utterance("say", block.text) if block.text and block.text.strip() else None
    return Utterance("skip", block.type or "block without type")


def _said(texts: list[str]) -> Iterator[Item]:
    """A person's text blocks as one request; those that Claude Code added for themselves."""
    request: list[str] = []
    for text in texts:
        if not text.strip():
            continue
        said = whose(text)
        if said.speaker == "request":
            request.append(said.text)
        else:
            yield Utterance(said.speaker, said.text)
    if request:
        yield Utterance("request", "\n".join(request))


def _result(block: ClaudeBlock, denial: Denial) -> ToolReturn:
    text = text_of(block.content)
    outcome = _decoded_outcome(denial.outcome)
    refused = (
        denial.kind in _REFUSED_KINDS
        or outcome.interrupted is True
        or (block.is_error is True and text.lstrip().startswith(_REFUSALS))
    )
    failed = block.is_error
    if failed is None:
        # The API leaves `is_error` out where there was none.
        failed = type(outcome.exit_code) is int and outcome.exit_code != 0
    return ToolReturn(block.tool_use_id, text or None, None if refused else failed, refused or None)


def _decoded_outcome(outcome: Raw | None) -> _Outcome:
    if not outcome or bytes(memoryview(outcome)[:1]) != b"{":
        return _Outcome()
    return decode_as(_outcome, outcome, path="toolUseResult")


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    if isinstance(text, str):
        return text
    named = [value for key in ("title", "url", "tool_name", "error_code") if isinstance(value := part.get(key), str)]
    kind = part.get("type")
    return " ".join(named) or (f"[{kind}]" if isinstance(kind, str) and kind else "")
