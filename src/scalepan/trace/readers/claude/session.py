"""Claude Code's sessions: `~/.claude/projects/<folder>/<session>.jsonl`, sub-agents in `<session>/subagents/`.

One session is one trace. A sub-agent is a trace of its own, and so is a branch that a person went back from. What a
resumed or forked session copied from another file counts where it was read first.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from scalepan.check import resolved
from scalepan.trace.readers.build import digest, project_name
from scalepan.trace.readers.claude.branches import MessageTree
from scalepan.trace.readers.claude.lines import SessionLine, decode_line, record_of
from scalepan.trace.readers.claude.messages import Item, ToolReturn, ToolUse, Utterance
from scalepan.trace.readers.claude.run import ClaudeRecord, ClaudeRun
from scalepan.trace.readers.feed import feed
from scalepan.trace.readers.lenient import number
from scalepan.trace.readers.source import BadRow, Head, JsonRecord, Source, TraceLine
from scalepan.trace.readers.table import Reader, SeenRecords

NAME = "claude-code"

# Lines without a place in the tree. A file may begin with them, or have nothing else.
_BOOKKEEPING = frozenset(
    (
        "summary",
        "file-history-snapshot",
        "queue-operation",
        "permission-mode",
        "mode",
        "last-prompt",
        "ai-title",
        "custom-title",
        "agent-name",
        "atis-latch",
        "tools-used",
        "cost-state",
        "api-request",
        "api-request-shape",
        "api-request-blob",
    )
)
# Agents that Claude Code starts for itself: to compact a conversation, to propose a prompt.
_OWN_AGENTS = ("acompact-", "aprompt_suggestion-")
_META_BYTES = 1 << 16


class _AgentMeta(Struct, rename="camel"):
    parent_agent_id: str | None = None


resolved(_AgentMeta)


def read_session(source: Source, seen: SeenRecords) -> Iterator[TraceLine | BadRow]:
    """The traces of a session file: the session, branches that were left, sub-agents."""
    log = _SessionLog(seen)
    bad = yield from feed(source, log.take)
    if bad is not None:
        if log.worked and "truncated" in str(bad.error):
            log.unmapped["cut line"] += 1
        else:
            yield bad
    yield from log.traces(source)


class _SessionLog:
    """What has been read of a file."""

    def __init__(self, seen: SeenRecords) -> None:
        self.unmapped: Counter[str] = Counter()
        self.worked = False
        self._seen = seen
        self._first: str | None = None
        self._session: str | None = None
        self._cwd: str | None = None
        self._cost: float | None = None
        self._copied = False
        self._calls: set[str | None] = set()
        self._copied_calls: set[str | None] = set()
        self._main: list[ClaudeRecord] = []
        self._sidechains: dict[str, list[ClaudeRecord]] = {}
        self._chain_of: dict[str, str] = {}
        self._tree = MessageTree()

    def take(self, record: JsonRecord) -> tuple[()]:
        """The next record; nothing comes of it before the end."""
        self.add(record.line, record.data)
        return ()

    def add(self, place: int, data: bytes | memoryview | Raw) -> None:
        """The next line; an InputError says what is wrong with it."""
        line = decode_line(data)
        if self._first is None:
            self._first = digest(memoryview(data))
        self._session = line.session_id or self._session
        if self._cwd is None and isinstance(line.cwd, str):
            self._cwd = line.cwd
        if line.type == "cost-state":
            self._cost = number(line.total_cost)
        parent = line.parent_uuid or line.logical_parent_uuid
        chain = self._sidechain(line, parent) if line.is_sidechain else None
        record = record_of(place, line)
        if isinstance(record, str):
            self.unmapped[record] += 1
        elif self._is_new(record, line):
            self.worked = self.worked or record.answer is not None
            (self._main if chain is None else self._sidechains.setdefault(chain, [])).append(record)
        if chain is None and line.uuid is not None:
            kinds = () if isinstance(record, str) else [getattr(item, "kind", "tool") for item in record.items]
            if all(kind == "skip" for kind in kinds):
                self._tree.pass_over(line.uuid, parent)
            else:
                self._tree.add(line.uuid, parent, prompt="request" in kinds or "command" in kinds)

    def traces(self, source: Source) -> Iterator[TraceLine]:
        """All that was found, the session itself first."""
        session = self._session or self._first or ""
        id_ = f"kp:trace:{NAME}:{session}"
        left = self._tree.left_branches()
        branches: dict[str, list[ClaudeRecord]] = {}
        ending: list[ClaudeRecord] = []
        for record in self._main:
            branch = left.get(record.uuid) if record.uuid is not None else None
            (ending if branch is None else branches.setdefault(branch, [])).append(record)
        self._main = []
        runs: list[tuple[ClaudeRun, str, str | None]] = [(_run(ending), "", None)]
        runs += [(_run(records), branch, None) for branch, records in branches.items()]
        for chain, records in self._sidechains.items():
            if chain.startswith(_OWN_AGENTS):
                self.unmapped["agent of Claude Code itself"] += 1
                continue
            above = _agent_above(source)
            runs.append((_run(records), chain, f"{id_}:{above}" if above is not None else id_))
        self._sidechains = {}
        self.unmapped.update("prompt without an answer" for run, name, _ in runs if name and not run.worked)
        for run, name, parent in runs:
            if run.worked:
                yield TraceLine(run.first_line or 1, self._built(run, session, name, parent))

    def _built(self, run: ClaudeRun, session: str, name: str, parent: str | None) -> Any:
        builder = run.builder
        builder.session = session
        builder.project = project_name(self._cwd)
        builder.parent = parent
        if parent is not None:
            builder.agent_id = name
        elif not name and not self._copied:
            # The cost of a fork includes what the copied part had cost.
            builder.cost_usd = self._cost
        builder.unmapped.update(self.unmapped)
        self.unmapped = Counter()
        return run.build(session, *([name] if name else []))

    def _sidechain(self, line: SessionLine, parent: str | None) -> str:
        """The sub-agent that a line belongs to. Versions without ids wrote them into the session, each a tree."""
        chain = line.agent_id or self._chain_of.get(parent or "") or line.uuid or "sidechain"
        if line.uuid is not None and line.agent_id is None:
            self._chain_of[line.uuid] = chain
        return chain

    def _is_new(self, record: ClaudeRecord, line: SessionLine) -> bool:
        """Whether a record, or something of it, was not read before. What is a copy is removed from it."""
        if record.uuid is not None and not self._seen.first(f"claude:{record.uuid}"):
            # A compaction writes copies into the same file; a fork takes them into another one.
            self._copied = self._copied or record.uuid not in self._tree
            for item in record.items:
                self._drop(item)
            return False
        request = line.request_id or line.request_ref
        fresh = [item for item in record.items if self._is_new_item(item, request)]
        if len(fresh) < len(record.items):
            record.items[:] = fresh
            return bool(fresh)
        return True

    def _is_new_item(self, item: Item, request: str | None) -> bool:
        """A copy that was given another uuid is known by the API's request that it came from."""
        if isinstance(item, ToolReturn):
            return item.call_id is None or item.call_id not in self._copied_calls
        what = hash(item) if isinstance(item, Utterance) else item.call_id
        if request is not None and what is not None and not self._seen.first(f"{request}:{what}"):
            self._drop(item)
            return False
        if isinstance(item, ToolUse):
            self._calls.add(item.call_id)
            self._copied_calls.discard(item.call_id)
        return True

    def _drop(self, item: Item) -> None:
        self.unmapped["copy"] += 1
        # The result of a call that counts elsewhere counts there too.
        if isinstance(item, ToolUse) and item.call_id not in self._calls:
            self._copied_calls.add(item.call_id)


def _run(records: list[ClaudeRecord]) -> ClaudeRun:
    """Records are let go as they become steps: a session can be large."""
    run = ClaudeRun(NAME)
    records.reverse()
    while records:
        run.add(records.pop())
    return run


def _agent_above(source: Source) -> str | None:
    """The sub-agent that started this one, which only the file beside it tells; None for the session."""
    if source.path is None:
        return None
    path = source.path.with_name(source.head.name.removesuffix(".jsonl") + ".meta.json")
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_META_BYTES), type=_AgentMeta).parent_agent_id
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return None


def _sniff(head: Head) -> bool:
    return any(_is_session_line(record) for record in head.records)


def _is_session_line(record: dict[str, Any]) -> bool:
    if "parentUuid" in record:
        return "isSidechain" in record or ("uuid" in record and "type" in record)
    kind = record.get("type")
    named = "sessionId" in record or "leafUuid" in record or "messageId" in record
    return isinstance(kind, str) and kind in _BOOKKEEPING and named


READER = Reader(NAME, "Claude Code session", _sniff, read_session)
