"""Trajectories of mini-swe-agent (`*.traj.json`), of all its ways to talk to a model.

Calls are tool calls of chat completions, items of the Responses API, or a block of shell in the text. The exit status
says how the run ended, not whether its patch is right.
"""

import re
from collections.abc import Iterator
from typing import Any

from scalepan.errors import InputError
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import CODE, TraceBuilder, digest, project_name, utc
from scalepan.trace.readers.lenient import (
    first_text,
    items,
    mapping,
    number,
    objects,
    parsed,
    text,
    total,
    words,
)
from scalepan.trace.readers.source import BadRow, Head, Source, TraceLine, decode
from scalepan.trace.readers.table import Reader, SeenRecords

SHELL = "bash"
"""The one tool that the agent has."""

_BLOCK = re.compile(r"```(?:bash|mswea_bash_command)[ \t]*\n")
_RETURN_CODE = re.compile(r"\s*<returncode>(-?\d{1,9})</returncode>")


def _read(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    for record in source.records():
        if isinstance(record, BadRow):
            yield record
            continue
        name = digest(bytes(record.data))
        try:
            trace = _trace(decode(record.data), name)
        except InputError as error:
            yield BadRow(record.line, error.at(file=source.name, line=record.line))
            continue
        if seen.first(f"mini-swe-agent:{name}"):
            yield TraceLine(record.line, trace)


def _trace(document: dict[str, Any], name: str) -> ReasoningTrace:
    info = mapping(document.get("info"))
    config = mapping(info.get("config"))
    builder = TraceBuilder("mini-swe-agent", domain=CODE, framework="mini-swe-agent")
    builder.model = text(mapping(config.get("model")).get("model_name"))
    builder.project = project_name(text(mapping(config.get("environment")).get("cwd")))
    builder.session = text(document.get("instance_id"))
    messages = objects(document.get("messages"))
    for message in messages:
        _add(builder, message)
    builder.ended = text(info.get("exit_status"))
    builder.result = first_text(info.get("submission"), builder.result)
    _usage(builder, messages, mapping(info.get("model_stats")))
    return builder.build(*([builder.session] if builder.session else []), name)


def _add(builder: TraceBuilder, message: dict[str, Any]) -> None:
    role, extra = message.get("role"), mapping(message.get("extra"))
    at = utc(number(extra.get("timestamp")))
    content = words(message.get("content"))
    if message.get("object") == "response":
        _response(builder, message, at)
    elif role == "assistant":
        _answer(builder, message, content, at)
    elif role == "tool" or message.get("type") == "function_call_output":
        call_id = first_text(message.get("tool_call_id"), message.get("call_id"))
        output = content or words(message.get("output"))
        builder.observe(output, call_id, at, tool=SHELL, failed=_failed(extra, output))
    elif role == "user":
        failed = _failed(extra, content)
        if failed is not None:
            builder.observe(content, at=at, tool=SHELL, failed=failed)
        elif content is not None:
            builder.request(content, at)
    else:
        builder.skip(role if role in ("system", "exit") else "unknown role")


def _answer(builder: TraceBuilder, message: dict[str, Any], content: str | None, at: str | None) -> None:
    reasoning = words(message.get("reasoning_content"))
    if reasoning is not None:
        builder.think(reasoning, at)
    if content is not None:
        builder.say(content, at)
    calls = objects(message.get("tool_calls"))
    for call in calls:
        function = mapping(call.get("function"))
        _call(builder, function.get("name"), function.get("arguments"), call.get("id"), at)
    if calls:
        return
    # The call stands in the text. What was taken from it is noted beside the message; before 1.1 it was not.
    commands = [action.get("command") for action in objects(mapping(message.get("extra")).get("actions"))]
    for command in commands or _command_in(content or ""):
        _call(builder, SHELL, {"command": command}, None, at)


def _command_in(content: str) -> list[str]:
    """The first block of shell in a text.

    >>> _command_in("I look.\\n```bash\\nls -l\\n```")
    ['ls -l']
    """
    begin = _BLOCK.search(content)
    end = content.find("\n```", begin.end() - 1) if begin else -1
    return [content[begin.end() : end].strip()] if begin and end >= 0 else []


def _response(builder: TraceBuilder, message: dict[str, Any], at: str | None) -> None:
    for item in objects(message.get("output")):
        type_ = item.get("type")
        if type_ == "reasoning":
            thought = words(item.get("summary")) or words(item.get("content"))
            if thought is not None:
                builder.think(thought, at)
            else:
                builder.skip("reasoning without text")
        elif type_ == "message":
            said = words(item.get("content"))
            if said is not None:
                builder.say(said, at)
        elif type_ == "function_call":
            _call(builder, item.get("name"), item.get("arguments"), first_text(item.get("call_id"), item.get("id")), at)
        else:
            builder.skip("unknown item")


def _call(builder: TraceBuilder, name: Any, arguments: Any, call_id: Any, at: str | None) -> None:
    builder.call(text(name) or SHELL, parsed(arguments), text(call_id), at)


def _failed(extra: dict[str, Any], content: str | None) -> bool | None:
    """Whether a command failed, by its return code; None for a message that is not a command's result."""
    code = extra.get("returncode")
    if type(code) is int:
        return code != 0
    found = _RETURN_CODE.match(content or "")
    return int(found[1]) != 0 if found else None


def _usage(builder: TraceBuilder, messages: list[dict[str, Any]], stats: dict[str, Any]) -> None:
    used = [
        mapping(message.get("usage")) or mapping(mapping(mapping(message.get("extra")).get("response")).get("usage"))
        for message in messages
    ]
    # The two APIs have names of their own for the same counts.
    builder.input_tokens = _first_stated(total(used, "prompt_tokens"), total(used, "input_tokens"))
    builder.output_tokens = _first_stated(total(used, "completion_tokens"), total(used, "output_tokens"))
    builder.cost_usd = number(stats.get("instance_cost"))


def _first_stated(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _sniff(head: Head) -> bool:
    info = mapping(head.first.get("info"))
    # The format's name stands at the end, where the head of a long file does not reach.
    named = str(head.first.get("trajectory_format")).startswith("mini-swe-agent")
    return bool(items(head.first.get("messages"))) and (named or text(info.get("mini_version")) is not None)


READER = Reader("mini-swe-agent", "mini-swe-agent trajectories", _sniff, _read)
