"""One run of a framework's agent, as steps of a recording: what every adapter does the same way.

Inside `with scalepan.record(...)` the run's steps join that recording. Otherwise the run gets a recording of its own.
A sub-agent always gets one, with its parent's id: its parent has the call and the answer, so nothing counts twice.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from scalepan.arguments import as_callable, as_instance, as_path
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import UNKNOWN_DOMAIN, TraceBuilder
from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.recording.adapters.quiet import quietly
from scalepan.trace.recording.recorder import Recording, active_recording, check_writable, now
from scalepan.trace.recording.texts import as_plain, as_text, error_text

OnTrace = Callable[[ReasoningTrace], object]


class Destination(NamedTuple):
    """Where finished traces go: a file, a function, or both."""

    domain: str
    file: Path | None
    on_trace: OnTrace | None


def destination(domain: str, file: str | os.PathLike[str] | None, on_trace: OnTrace | None) -> Destination:
    """What the user gave an adapter, checked before any agent runs."""
    as_instance("domain", domain, str, "text, such as 'code'")
    path = as_path("file", file) if file is not None else None
    if path is not None:
        check_writable(path)
    if on_trace is not None:
        as_callable("on_trace", on_trace, "a function that takes a trace")
    return Destination(domain or UNKNOWN_DOMAIN, path, on_trace)


class RunningCall(NamedTuple):
    """A call that has no result yet."""

    name: str
    input: Any
    place: int
    """Which step it is."""


_waiting: "WeakKeyDictionary[Recording, dict[str, RunningCall]]" = WeakKeyDictionary()


class AgentRun:
    """A run while it goes on. Whatever is told to it after the end is dropped."""

    def __init__(self, to: Destination, framework: str, *, name: str | None = None, parent: "AgentRun | None" = None):
        self._to = to
        self._asked: set[str] = set()
        outer: Recording | None = parent.recording if parent is not None else active_recording()
        self.joined = parent is None and outer is not None
        """Whether the steps join the user's own recording."""
        self.recording: Recording = outer if outer is not None and self.joined else _recording(to, outer)
        # In the user's recording, a call that one run made may be answered in the next.
        self.waiting = _waiting.setdefault(self.recording, {}) if self.joined else {}
        """Calls without a result, by id, in order."""
        self._stated = False
        """Whether the objective was stated apart from what the model is shown; the first request only repeats it."""
        with self.recording.building() as builder:
            builder.framework = builder.framework or framework
        self.name(name)

    def name(self, name: object) -> None:
        """The agent's name. The first agent of a run gives it its name."""
        with self.recording.building() as builder:
            if builder.agent_id is None and isinstance(name, str):
                builder.agent_id = name

    # What happens in it

    def play(self, entries: Iterable[LogEntry]) -> None:
        """What a model said, or what it was shown, in order."""
        for entry in entries:
            match entry.kind:
                case "request":
                    self.request(entry.text or "")
                case "think":
                    self.think(entry.text or "")
                case "say":
                    self.say(entry.text or "")
                case "call":
                    self.call(entry.name or "unknown", entry.input, entry.call_id, server=entry.server)
                case "result":
                    self.result(entry.call_id, entry.text, failed=entry.failed, refused=entry.refused)
                case "skip":
                    with self.recording.building() as builder:
                        builder.skip(entry.text or "unknown")

    def request(self, text: str) -> None:
        """What a person asks. Histories are shown to a model again and again, so each text counts once."""
        text = as_text(text)
        if not text or text in self._asked:
            return
        repeats = self._stated and not self._asked
        self._asked.add(text)
        with self.recording.building() as builder:
            # A user who records has stated the objective too.
            if not repeats and text != builder.objective and not (self.joined and not builder.steps):
                builder.request(text, now())

    def state(self, objective: str | None) -> None:
        """What the run is about, where its caller says so and the model may be shown something else."""
        if objective and not self.joined:
            self._stated = True
            with self.recording.building() as builder:
                builder.objective = as_text(objective)

    def resume(self, asked: str | None) -> None:
        """What a person asked before the run, if that is all there is: a run that goes on where another stopped."""
        with self.recording.building() as builder:
            if asked and builder.objective is None:
                builder.objective = as_text(asked)

    def think(self, text: str) -> None:
        """What the agent reasons."""
        if text:
            self.recording.think(text)

    def say(self, text: str) -> None:
        """What the agent says; the last of it is the result."""
        if text:
            self.recording.say(text)

    def observe(self, text: str) -> None:
        """What the agent is shown that answers no call."""
        self.recording.observe(text)

    def call(self, name: str, input_: Any, call_id: str | None, *, server: str | None = None) -> str:
        """A call of a tool; its id, made up if it has none."""
        plain = as_plain(input_)
        with self.recording.building() as builder:
            id_ = call_id or f"call_{len(builder.steps)}"
            self.waiting[id_] = RunningCall(name, plain, len(builder.steps))
            builder.call(as_text(name), plain, id_, now(), server=server)
        return id_

    def result(
        self,
        call_id: str | None,
        output: Any,
        *,
        failed: bool | None = None,
        refused: bool | None = None,
        latency_ms: float | None = None,
    ) -> None:
        """What came of a call. A result that is already there is not added again."""
        call = self.waiting.pop(call_id or "", None)
        if call is None:
            return
        text = as_text(output) if output is not None else None
        with self.recording.building() as builder:
            _set_latency(builder, call, latency_ms)
            builder.observe(text, call_id, now(), tool=call.name, failed=failed, refused=refused)

    def took(self, call_id: str, latency_ms: float) -> None:
        """How long a tool worked on a call whose result comes later."""
        call = self.waiting.get(call_id)
        if call is not None:
            with self.recording.building() as builder:
                _set_latency(builder, call, latency_ms)

    def used(self, model: object, input_tokens: object, output_tokens: object) -> None:
        """Which model answered, and what that took."""
        with self.recording.building() as builder:
            if isinstance(model, str):
                builder.model = model
            if type(input_tokens) is int:
                builder.input_tokens = (builder.input_tokens or 0) + input_tokens
            if type(output_tokens) is int:
                builder.output_tokens = (builder.output_tokens or 0) + output_tokens

    # How it ends

    def end(self, error: BaseException | str | None = None, *, ended: str | None = None) -> None:
        """It is over. In a recording of the user's, the user says how it ended."""
        if self.joined:
            return
        if isinstance(error, (str, Exception)):
            self.recording.fail(error if isinstance(error, str) else error_text(error))
        with self.recording.building() as builder:
            empty = not builder.steps
            builder.ended = ended or (type(error).__name__ if isinstance(error, BaseException) else None)
        if empty:
            self.recording.file = None  # nothing to write: the model never answered
        self.recording.finish()
        if not empty and self._to.on_trace is not None:
            with quietly("on_trace"):
                self._to.on_trace(self.recording.trace)


def start_run(
    to: Destination, framework: str, *, name: str | None = None, parent: AgentRun | None = None
) -> AgentRun | None:
    """A run, or None with a warning where none can be recorded, such as under a policy that does not fit."""
    with quietly(framework):
        return AgentRun(to, framework, name=name, parent=parent)
    return None


def _recording(to: Destination, outer: Recording | None) -> Recording:
    """A recording for a run of its own. Where `outer` is its parent's, the trace goes where that one goes."""
    domain, file = to.domain, to.file
    if outer is not None:
        with outer.building() as builder:
            domain = to.domain if to.domain != UNKNOWN_DOMAIN else builder.domain
        file = outer.file if to.file is None and to.on_trace is None else to.file
    made = Recording("(not known yet)", domain=domain, file=file)
    made.begin(outer.id if outer is not None else None)
    with made.building() as builder:
        builder.objective = None
    return made


def _set_latency(builder: TraceBuilder, call: RunningCall, latency_ms: float | None) -> None:
    if latency_ms is not None and call.place < len(builder.steps):
        made = msgspec.structs.replace(builder.steps[call.place], latency_ms=max(latency_ms, 0.0))
        builder.steps[call.place] = made
