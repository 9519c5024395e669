"""Traces of public benchmarks as rows with their outcome: `{id, domain, task, steps, outcome: {success}}`.

Step types are user_message, agent_message, thought, tool_call and observation. The objective is the task's; what the
user says on the way is an observation.
"""

from collections.abc import Callable, Iterator
from typing import Any

from scalepan.errors import InputError
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import UNKNOWN_DOMAIN, TraceBuilder, digest
from scalepan.trace.readers.lenient import flag, mapping, number, objects, text, words
from scalepan.trace.readers.source import BadRow, Head, Source, TraceLine, decode
from scalepan.trace.readers.table import Reader, SeenRecords

Row = dict[str, Any]


def _read(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    for record in source.records():
        if isinstance(record, BadRow):
            yield record
            continue
        try:
            trace = _trace(decode(record.data), digest(bytes(record.data)))
        except InputError as error:
            yield BadRow(record.line, error.at(file=source.name, line=record.line))
            continue
        if seen.first(f"dataset:{trace.id}"):
            yield TraceLine(record.line, trace)


def _trace(row: Row, name: str) -> ReasoningTrace:
    builder = TraceBuilder("dataset", domain=text(row.get("domain")) or UNKNOWN_DOMAIN)
    builder.objective = words(mapping(row.get("task")).get("objective")) or ""
    builder.session = text(row.get("task_group"))
    builder.project = text(row.get("source"))
    builder.model = text(row.get("agent_model"))
    outcome = mapping(row.get("outcome"))
    builder.success = flag(outcome.get("success"))
    confidence = number(outcome.get("confidence"))
    builder.confidence = confidence if confidence is not None and confidence <= 1 else None
    previous: Row = {}
    for step in objects(row.get("steps")):
        add = _ADD.get(step["type"]) if isinstance(step.get("type"), str) else None
        if add is None:
            builder.skip("step of unknown type")
        else:
            add(builder, step, previous)
        previous = step
    return builder.build(text(row.get("id")) or name)


def _user(builder: TraceBuilder, step: Row, _previous: Row) -> None:
    builder.observe(words(step.get("content")))


def _message(builder: TraceBuilder, step: Row, _previous: Row) -> None:
    builder.say(words(step.get("content")) or "")


def _thought(builder: TraceBuilder, step: Row, _previous: Row) -> None:
    builder.think(words(step.get("content")) or "")


def _call(builder: TraceBuilder, step: Row, _previous: Row) -> None:
    name = _tool(step)
    if name is None:
        builder.skip("tool_call without a tool")
    else:
        builder.call(name, step.get("input"))


def _observation(builder: TraceBuilder, step: Row, previous: Row) -> None:
    # Some sets do not repeat the tool: then the result is that of the call just before.
    tool = _tool(step) or (_tool(previous) if previous.get("type") == "tool_call" else None)
    builder.observe(words(step.get("content")), tool=tool, failed=flag(step.get("error")))


def _tool(step: Row) -> str | None:
    tool = step.get("tool")
    return text(tool) or text(mapping(tool).get("name"))


_ADD: dict[str, Callable[[TraceBuilder, Row, Row], None]] = {
    "user_message": _user,
    "agent_message": _message,
    "thought": _thought,
    "tool_call": _call,
    "observation": _observation,
}


def _sniff(head: Head) -> bool:
    first = head.first
    return (
        head.has("id", "task", "steps", "outcome")
        and "@context" not in first
        and isinstance(mapping(first["outcome"]).get("success"), bool)
        and any(step.get("type") in _ADD for step in objects(first["steps"]) if isinstance(step.get("type"), str))
    )


READER = Reader("dataset", "rows of a benchmark with their outcome", _sniff, _read)
