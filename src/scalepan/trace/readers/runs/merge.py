"""The runs of one trace as the steps of one agent, each once.

- A model's answer is a thought and its tool calls. Its request repeats the conversation so far: only what no earlier
  run has shown is new.
- A tool run is the same call as the one that the model asked for, and the same result as the tool message after it.
  They are joined by the call's id, else by the tool's name and input. An error of the run is a failure of the call.
- What happens inside a tool run is a sub-agent's work: its steps count once, its answers are thoughts and not the
  trace's result, and the task that it was given is not a request of a person.
"""

import hashlib
from collections import Counter
from typing import Any

import msgspec

from scalepan.trace.readers.build import TraceBuilder
from scalepan.trace.readers.entries import LogEntry, play
from scalepan.trace.readers.runs.payload import answer_of, history_of, requested, tool_input, tool_output
from scalepan.trace.readers.runs.run import LoggedRun, RunTree

_AGENT = frozenset(("say", "call", "think"))
# Shorter ids ("call_0", "1") come again in every conversation.
_TELLING_ID = 8


class _Shown:
    """An entry of the trace. What is learned later may change it."""

    __slots__ = ("entry", "provisional")

    def __init__(self, entry: LogEntry, *, provisional: bool = False) -> None:
        self.entry = entry
        self.provisional = provisional
        """Whether the text is only the error of a run; what the model was told is better."""


class _ToolCall:
    """A call that a model asked for."""

    __slots__ = ("entry", "result", "run")

    def __init__(self, entry: LogEntry) -> None:
        self.entry = entry
        self.run = False
        """Whether a run of the tool belongs to it."""
        self.result: _Shown | None = None


class _Agent:
    """The agent of the trace, or a sub-agent inside one tool run."""

    def __init__(self, *, sub: bool) -> None:
        self.sub = sub
        self.started = False
        self.seen: Counter[bytes] = Counter()
        self.shown: dict[bytes, _Shown] = {}
        self._by_id: dict[str, list[_ToolCall]] = {}
        self._waiting: dict[str | None, list[_ToolCall]] = {}
        """Calls that no run belongs to yet, by the tool's name."""

    def called(self, entry: LogEntry) -> "_ToolCall":
        """One more call."""
        call = _ToolCall(entry)
        if entry.call_id is not None:
            self._by_id.setdefault(entry.call_id, []).append(call)
        self._waiting.setdefault(entry.name, []).append(call)
        return call

    def answered_by(self, result: LogEntry) -> "_ToolCall | None":
        """The call that a tool message answers: the last one with its id."""
        made = self._by_id.get(result.call_id) if result.call_id is not None else None
        return made[-1] if made else None

    def run_of(self, name: str | None, given: Any, call_id: str | None) -> "_ToolCall | None":
        """The call that a tool run is: by its id; without one, a call of the same tool that has no run yet."""
        waiting = self._waiting.get(name, [])
        if call_id is not None:
            found = next((call for call in reversed(self._by_id.get(call_id, [])) if not call.run), None)
        else:
            found = next((call for call in waiting if call.entry.input == given), waiting[0] if waiting else None)
        if found is not None:
            found.run = True
            self._waiting[found.entry.name].remove(found)
        return found


class RunMerge:
    """Collects the entries of one trace."""

    def __init__(self, tree: RunTree, *, continued: bool = False) -> None:
        self._tree = tree
        self._continued = continued
        self._entries: list[_Shown] = []
        self._agents: dict[str | None, _Agent] = {}
        self._running: dict[str, _ToolCall] = {}
        self._objective = requested(tree.root.inputs) if tree.root and tree.root.kind != "model" else None
        self._asked = self._objective is not None

    def entries(self) -> list[LogEntry]:
        """What the trace says."""
        if not any(run.kind == "model" for run in self._tree.runs):
            self._without_models()
        for run in self._tree.runs:
            agent = self._agent(self._tree.tool_above(run))
            if run.kind == "model" and not self._tree.wraps(run):
                self._model(run, agent)
            elif run.kind == "tool":
                self._tool(run, agent)
            elif run.kind == "model":
                self._skip("wrapper of a model call")
            elif run.label:
                self._skip(f"{run.label} run")
            for ended in self._tree.ended_with(run):
                self._end_tool(ended, self._agent(self._tree.tool_above(ended)))
        objective = [LogEntry("request", self._objective)] if self._objective else []
        return [*objective, *(shown.entry for shown in self._entries)]

    def _agent(self, tool: str | None) -> _Agent:
        if tool not in self._agents:
            self._agents[tool] = _Agent(sub=tool is not None)
        return self._agents[tool]

    def _without_models(self) -> None:
        """Where the calls of the model were not logged, the root's output has the conversation, or the answer."""
        root = self._tree.root
        if root is None or root.kind == "tool" or not root.outputs:
            return
        self._talk(answer_of(root.outputs, root.at), [], self._agent(None))

    def _model(self, run: LoggedRun, agent: _Agent) -> None:
        answer = answer_of(run.outputs, run.at)
        if run.error is not None and not any(entry.kind in _AGENT for entry in answer):
            self._skip("failed model call")
            answer = []
        self._talk(history_of(run.inputs, run.at), answer, agent)

    def _talk(self, history: list[LogEntry], answer: list[LogEntry], agent: _Agent) -> None:
        """A model call: what is new in its request, then its answer."""
        counted: Counter[bytes] = Counter()
        earlier = 0 if agent.started else _earlier(history, continued=self._continued)
        thoughts: list[LogEntry] = []
        for index, entry in enumerate(history):
            if entry.kind == "skip":
                if not agent.started:
                    self._skip(entry.text or "unknown")
                continue
            mark = _mark(entry)
            counted[mark] += 1
            if index < earlier:
                self._skip("earlier message")
            elif counted[mark] <= agent.seen[mark]:
                self._known(entry, mark, thoughts, agent)
                thoughts = []
            elif entry.kind == "think":
                thoughts.append(entry)
            else:
                self._add_all([*thoughts, entry], agent)
                thoughts = []
        self._add_all([*thoughts, *answer], agent)
        counted.update(_mark(entry) for entry in answer if entry.kind != "skip")
        agent.seen |= counted
        agent.started = True

    def _known(self, entry: LogEntry, mark: bytes, thoughts: list[LogEntry], agent: _Agent) -> None:
        """An entry that was shown before. Some clients log a thought only when it is sent back: it goes before it."""
        shown = agent.shown.get(mark)
        if thoughts and shown is not None:
            at = self._entries.index(shown)
            self._entries[at:at] = map(_Shown, thoughts)
        if entry.kind == "result" and shown is not None:
            _learn(shown, entry)

    def _add_all(self, entries: list[LogEntry], agent: _Agent) -> None:
        for entry in entries:
            if entry.kind == "request" and agent.sub and self._asked:
                self._skip("request to a sub-agent")
            elif entry.kind == "request" and self._objective is not None and not agent.started:
                # The trace's own input is what was asked; this is what the program made of it.
                if (entry.text or "").strip() != self._objective.strip():
                    self._skip("prompt")
            elif entry.kind == "say" and agent.sub:
                self._add(entry._replace(kind="think"), agent, _mark(entry))
            else:
                self._add(entry, agent, _mark(entry))

    def _add(self, entry: LogEntry, agent: _Agent, mark: bytes) -> _Shown:
        call = agent.answered_by(entry) if entry.kind == "result" else None
        if call is not None and call.result is not None:
            _learn(call.result, entry)
            return call.result
        shown = _Shown(entry)
        self._entries.append(shown)
        agent.shown[mark] = shown
        if call is not None:
            call.result = shown
        elif entry.kind == "call":
            agent.called(entry)
        elif entry.kind == "request":
            self._asked = True
        return shown

    def _tool(self, run: LoggedRun, agent: _Agent) -> None:
        """The beginning of a tool run: the call that a model asked for, or one of its own."""
        call_id, given = run.call_id or tool_output(run.outputs).call_id, tool_input(run.inputs)
        call = agent.run_of(run.name, given, call_id)
        if call is None and agent.sub:
            self._skip("run inside a tool")
            return
        if call is None:
            made = LogEntry("call", name=run.name, input=given, call_id=call_id, at=run.at)
            agent.seen[_mark(made)] += 1
            self._add(made, agent, _mark(made))
            call = agent.run_of(run.name, given, call_id)
        if call is not None:
            self._running[run.id] = call

    def _end_tool(self, run: LoggedRun, agent: _Agent) -> None:
        """Its end, after all that happened inside: the result."""
        call = self._running.pop(run.id, None)
        if call is None:
            return
        said = tool_output(run.outputs)
        failed = True if run.failed or said.failed else said.failed if said.failed is not None else run.failed
        if call.result is not None:
            call.result.entry = call.result.entry._replace(failed=failed)
            return
        text = said.text if said.text is not None else run.error
        result = LogEntry("result", text, name=call.entry.name, call_id=call.entry.call_id, failed=failed, at=run.at)
        mark = _mark(result)
        agent.seen[mark] += 1
        call.result = _Shown(result, provisional=said.text is None)
        agent.shown[mark] = call.result
        self._entries.append(call.result)

    def _skip(self, kind: str) -> None:
        self._entries.append(_Shown(LogEntry("skip", kind)))


def _earlier(history: list[LogEntry], *, continued: bool) -> int:
    """How many entries of a trace's first request are from before it: those of earlier turns, up to the last request.

    Of a trace whose beginning was read elsewhere, all of it.
    """
    if continued and any(entry.kind in _AGENT for entry in history):
        return len(history)
    asked = [index for index, entry in enumerate(history) if entry.kind == "request"]
    last = asked[-1] if asked else 0
    return last if any(entry.kind in _AGENT for entry in history[:last]) else 0


def _learn(shown: _Shown, entry: LogEntry) -> None:
    """The same result again, in another place."""
    if shown.provisional and entry.text is not None:
        shown.entry = shown.entry._replace(text=entry.text)
        shown.provisional = False
    if shown.entry.failed is None and entry.failed is not None:
        shown.entry = shown.entry._replace(failed=entry.failed)


def _mark(entry: LogEntry) -> bytes:
    """An entry as it is sent back: the id of a call says all, if it is long enough to be the only one."""
    told = entry.call_id is not None and len(entry.call_id) >= _TELLING_ID
    said: Any = None
    if entry.kind == "call" and not told:
        said = [entry.name, entry.input]
    elif entry.kind != "call" and entry.call_id is None:
        said = (entry.text or "").strip()
    raw = msgspec.json.encode([entry.kind, entry.call_id, said], order="sorted")
    return hashlib.blake2b(raw, digest_size=16).digest()


def merge_runs(runs: list[LoggedRun], builder: TraceBuilder, *, continued: bool = False) -> RunTree:
    """Adds the runs of one trace to a builder, with the tokens and the cost of the model calls.

    `continued` says that its beginning was read before: then what the first request repeats is not new.
    """
    tree = RunTree(runs)
    play(RunMerge(tree, continued=continued).entries(), builder)
    called = [run for run in tree.runs if run.kind == "model" and not tree.wraps(run)]
    for key in ("input_tokens", "output_tokens", "cost_usd"):
        stated = [count for run in called if (count := getattr(run, key)) is not None]
        setattr(builder, key, sum(stated) if stated else None)
    builder.model = next((run.model for run in reversed(called) if run.model), None)
    if tree.root is not None:
        builder.created_at = tree.root.at or builder.created_at
    return tree
