"""What `claude -p --output-format stream-json` prints: the run as it happens, then a `result` line.

Sub-agents are in the same stream, and become traces of their own. The prompt is not in it unless it was asked for with
--replay-user-messages. The array that `--output-format json --verbose` prints has the same items.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from scalepan.trace.readers.build import digest, project_name
from scalepan.trace.readers.claude.messages import (
    INPUT_TOKENS,
    SYNTHETIC,
    Denial,
    ToolUse,
    Utterance,
    agent_items,
    count,
    decode_message,
    user_items,
)
from scalepan.trace.readers.claude.run import ClaudeRecord, ClaudeRun, answer_of, error_record
from scalepan.trace.readers.feed import feed
from scalepan.trace.readers.lenient import number
from scalepan.trace.readers.source import BadRow, Head, JsonRecord, Source, TraceLine, decode_as
from scalepan.trace.readers.table import Reader, SeenRecords

NAME = "claude-stream"


class StreamLine(Struct):
    """One line. Whatever else it has is skipped without being decoded."""

    type: str = ""
    subtype: str | None = None
    session_id: str | None = None
    uuid: str | None = None
    timestamp: Any = None
    parent_tool_use_id: str | None = None
    agent_id: str | None = None
    is_synthetic: bool | None = msgspec.field(default=None, name="isSynthetic")
    cwd: Any = None
    error: Any = None
    message: Raw = Raw()
    tool_use_result: Raw = Raw()
    tool_result_meta: Any = None
    usage: Any = None
    total_cost_usd: Any = None
    model_usage_since_last_result: Any = None
    is_error: Any = None
    result: Any = None
    terminal_reason: str | None = None
    task_id: str | None = None
    prompt: Any = None
    summary: Any = None


class _Lane(NamedTuple):
    """The agent that was asked, or a sub-agent."""

    run: ClaudeRun
    name: str
    parent_call: str


_line = msgspec.json.Decoder(StreamLine)


def read_stream(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """The traces of a stream: of every session in it the run, then its sub-agents."""
    sessions: dict[str, _StreamedSession] = {}

    def take(record: JsonRecord) -> tuple[()]:
        line = decode_as(_line, record.data)
        name = line.session_id or next(reversed(sessions), "")
        if name not in sessions:
            sessions[name] = _StreamedSession(name, line.uuid or digest(memoryview(record.data)), seen)
        sessions[name].add(record.line, line)
        return ()

    bad = yield from feed(source, take)
    if bad is not None:
        last = next(reversed(sessions.values()), None)
        if last is not None and last.main.run.worked and "truncated" in str(bad.error):
            last.main.run.builder.skip("cut line")
        else:
            yield bad
    for session in sessions.values():
        yield from session.traces()


class _StreamedSession:
    """What has been read of one session. Two streams can be of one session: the first line's id tells them apart."""

    def __init__(self, session: str, first: str, seen: SeenRecords) -> None:
        self._session = session
        self._first = first
        self._seen = seen
        self.main = _Lane(_new_run(), "", "")
        self._lanes: dict[str, _Lane] = {}
        self._lane_of_call: dict[str, _Lane] = {}
        self._cwd: str | None = None
        self._cost: float | None = None
        self._has_messages = False
        self._tasks: dict[str, str] = {}
        self._reports: dict[str, str] = {}

    def add(self, place: int, line: StreamLine) -> None:
        """The next line; an InputError says what is wrong with it."""
        if self._cwd is None and isinstance(line.cwd, str):
            self._cwd = line.cwd
        record = _record(place, line)
        self._has_messages = self._has_messages or record is not None
        if line.type == "result":
            self._end(place, line)
        elif record is None:
            self._task(line)
            kind = line.type or "line without type"
            self.main.run.builder.skip(f"{kind}:{line.subtype}" if line.subtype else kind)
        elif record.uuid is None or self._seen.first(f"claude:{record.uuid}"):
            lane = self._lane(line)
            for item in record.items:
                if isinstance(item, ToolUse) and item.call_id is not None:
                    self._lane_of_call[item.call_id] = lane
            lane.run.add(record)
        else:
            self.main.run.builder.skip("copy")

    def traces(self) -> Iterator[TraceLine]:
        """The run, then its sub-agents."""
        for lane in (self.main, *self._lanes.values()):
            if not lane.run.worked:
                continue
            builder = lane.run.builder
            builder.session = self._session or None
            builder.project = project_name(self._cwd)
            if lane is self.main:
                builder.cost_usd = self._cost
            else:
                builder.agent_id = lane.name
                builder.objective = builder.objective or self._tasks.get(lane.name)
                builder.result = builder.result or self._reports.get(lane.name)
                above = self._lane_of_call.get(lane.parent_call, self.main)
                builder.parent = ":".join(["kp:trace", NAME, *self._id(above)])
            yield TraceLine(lane.run.first_line or 1, lane.run.build(*self._id(lane)))

    def _id(self, lane: _Lane) -> list[str]:
        return [part for part in (self._session, self._first, lane.name) if part]

    def _lane(self, line: StreamLine) -> _Lane:
        if line.parent_tool_use_id is None:
            return self.main
        name = line.agent_id or line.parent_tool_use_id
        if name not in self._lanes:
            self._lanes[name] = _Lane(_new_run(), name, line.parent_tool_use_id)
        return self._lanes[name]

    def _task(self, line: StreamLine) -> None:
        """What a sub-agent was asked and what it reported, which may be in no message of the stream."""
        if line.task_id is not None and isinstance(line.prompt, str):
            self._tasks[line.task_id] = line.prompt
        if line.task_id is not None and isinstance(line.summary, str):
            self._reports[line.task_id] = line.summary

    def _end(self, place: int, line: StreamLine) -> None:
        """The end of a turn. Its usage is that of the turn, its cost that of the session since it began."""
        run, builder = self.main.run, self.main.run.builder
        builder.input_tokens = (builder.input_tokens or 0) + count(line.usage, *INPUT_TOKENS)
        builder.output_tokens = (builder.output_tokens or 0) + count(line.usage, "output_tokens")
        self._cost = _cost_so_far(self._cost, line)
        builder.ended = line.terminal_reason or line.subtype
        if line.is_error is not True and isinstance(line.result, str) and line.result.strip():
            if not self._has_messages:
                # Printed without --verbose, the result is all there is.
                run.add(ClaudeRecord(place, line.uuid, None, [Utterance("say", line.result)]))
            builder.result = line.result


def _new_run() -> ClaudeRun:
    # Messages are printed before the API has counted what it wrote.
    return ClaudeRun(NAME, counted_output=False)


def _record(place: int, line: StreamLine) -> ClaudeRecord | None:
    """What a line holds for a trace; None for bookkeeping."""
    at = line.timestamp if isinstance(line.timestamp, str) else None
    if line.type == "user":
        denial = Denial(_denial_kind(line.tool_result_meta), line.tool_use_result)
        items = user_items(decode_message(line.message), denial, meta=bool(line.is_synthetic))
        return ClaudeRecord(place, line.uuid, at, items)
    if line.type == "assistant":
        message = decode_message(line.message)
        if line.error is not None or message.model == SYNTHETIC:
            return error_record(place, line.uuid, at, line.error, api=line.error is not None)
        return ClaudeRecord(place, line.uuid, at, agent_items(message), answer_of(message, None, line.uuid))
    return None


def _denial_kind(meta: Any) -> str | None:
    entries = meta if isinstance(meta, list) else []
    kinds = [entry.get("non_execution_kind") for entry in entries if isinstance(entry, dict)]
    return next((kind for kind in kinds if isinstance(kind, str)), None)


def _cost_so_far(before: float | None, line: StreamLine) -> float | None:
    """What the run has cost. A resumed session's total includes what was paid before; newer versions tell the share."""
    models = line.model_usage_since_last_result
    if isinstance(models, dict):
        costs = [number(use.get("costUSD")) for use in models.values() if isinstance(use, dict)]
        return (before or 0.0) + sum(cost for cost in costs if cost is not None)
    total = number(line.total_cost_usd)
    return before if total is None else total


def _sniff(head: Head) -> bool:
    return any(_is_stream_line(record) for record in head.records)


def _is_stream_line(record: dict[str, Any]) -> bool:
    if "session_id" not in record or "parentUuid" in record:
        return False
    kind = record.get("type")
    if kind == "result":
        return "num_turns" in record or "total_cost_usd" in record
    return (kind == "system" and "subtype" in record) or (
        kind in ("user", "assistant") and "parent_tool_use_id" in record
    )


READER = Reader(NAME, "Claude Code stream-json", _sniff, read_stream)
