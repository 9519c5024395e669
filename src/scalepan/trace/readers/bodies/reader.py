"""Reads logs of bodies: every record becomes a call of a model, calls become loops, loops become traces."""

from collections.abc import Iterable, Iterator
from typing import Any

from scalepan.errors import InputError
from scalepan.trace.readers.bodies.api import ModelCall
from scalepan.trace.readers.bodies.loops import LoopTable, ModelLoop
from scalepan.trace.readers.bodies.shapes import APIS, LoggedBodies, api_of, is_model_call, logged, model_call
from scalepan.trace.readers.source import BadRow, Head, JsonRecord, Source, TraceLine, decode
from scalepan.trace.readers.table import Reader, SeenRecords

# Other logs have messages too, and one of these.
_OTHERS = (
    "trajectory_format",
    "info",
    "sessionId",
    "session_id",
    "steps",
    "samples",
    "eval",
    "traceId",
    "trace_id",
    "run_type",
)
_ITEMS = ("_call", "_output", "reasoning")


def reader(name: str, title: str) -> Reader:
    """The reader of one API. Bodies of the others in the same file are read as what they are."""

    def read(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
        return loop_traces(_calls(source, name), source, seen)

    return Reader(name, title, lambda head: sniffed(head) == name, read)


def loop_traces(calls: Iterable[ModelCall | BadRow], source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """The traces of calls."""
    table = LoopTable(seen)
    for call in calls:
        if isinstance(call, BadRow):
            yield call
            continue
        for loop in table.add(call):
            yield from _finished(loop, source)
    for loop in table.close_all():
        yield from _finished(loop, source)


def _finished(loop: ModelLoop, source: Source) -> Iterator[TraceLine | BadRow]:
    if loop.copied:
        return
    try:
        yield loop.trace()
    except InputError as error:
        yield BadRow(loop.line, error.at(file=source.name, line=loop.line))


def _calls(source: Source, name: str) -> Iterator[ModelCall | BadRow]:
    """The calls of a file; messages that stand alone, one per record, are one conversation."""
    messages: list[dict[str, Any]] = []
    first = 1
    for record in source.records():
        if isinstance(record, BadRow):
            yield record
            continue
        try:
            body = decode(record.data)
        except InputError as error:
            yield BadRow(record.line, error.at(file=source.name, line=record.line))
            continue
        if is_message(body):
            first = first if messages else record.line
            messages.append(body)
            continue
        if messages:
            yield _conversation(messages, first, name)
            messages = []
        yield _call(record, logged(body), source, name)
    if messages:
        yield _conversation(messages, first, name)


def _call(record: JsonRecord, bodies: LoggedBodies, source: Source, name: str) -> ModelCall | BadRow:
    if not is_model_call(bodies):
        return source.bad(record.line, f"is not a request or a response of {', '.join(APIS)}")
    try:
        return model_call(bodies, record.line, api_of(bodies) or APIS[name])
    except RecursionError:
        return source.bad(record.line, "is nested too deeply")


def _conversation(messages: list[dict[str, Any]], line: int, name: str) -> ModelCall:
    bodies = alone(messages)
    return model_call(bodies, line, api_of(bodies) or APIS[name])


def alone(messages: list[dict[str, Any]]) -> LoggedBodies:
    """Messages, or items, as the request that would send them."""
    key = "input" if any(str(message.get("type")).endswith(_ITEMS) for message in messages) else "messages"
    return LoggedBodies({key: messages}, {})


def is_message(record: dict[str, Any]) -> bool:
    """Whether a record is one message, or one item, and not a whole body."""
    if "messages" in record or ("input" in record and "role" in record):
        return False
    if "role" in record:
        return ("content" in record or "tool_calls" in record) and not ("model" in record and "id" in record)
    return isinstance(record.get("type"), str) and record["type"].endswith(_ITEMS) and "payload" not in record


def sniffed(head: Head) -> str | None:
    """The API of a file's first records, if all of them are bodies or messages."""
    records = head.records[:8]
    found = [_sniffed(record) for record in records]
    bodies = [one for one in found if one is not None and (one.request or one.response or one.events)]
    if not bodies or None in found:
        return None
    known = next((api.name for one in bodies if (api := api_of(one)) is not None), None)
    return known or "openai-chat"


def _sniffed(record: dict[str, Any]) -> LoggedBodies | None:
    """The bodies of a record; empty ones for another exchange in the same log; None if it is something else."""
    if any(key in record for key in _OTHERS):
        return None
    if is_message(record):
        return alone([record])
    bodies = logged(record)
    if is_model_call(bodies):
        return bodies
    return LoggedBodies({}, {}) if {"request", "response"} <= record.keys() else None
