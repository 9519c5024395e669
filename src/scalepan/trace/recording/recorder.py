"""The recording of one task: what the agent thinks, says and calls becomes a trace, from any thread or task.

No failure of a recording stops the agent. The agent's own exceptions pass through unchanged.
"""

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from uuid import uuid4

import msgspec

from scalepan import clock
from scalepan.arguments import as_instance, as_path, is_number
from scalepan.errors import InputError, RecordingWarning, ScalepanError, named, quoted
from scalepan.score import Score, not_measured
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers.build import UNKNOWN_DOMAIN, TraceBuilder
from scalepan.trace.recording.call import ToolCall
from scalepan.trace.recording.texts import as_text, error_text

if TYPE_CHECKING:
    from scalepan.redact import Redactor

P = ParamSpec("P")
R = TypeVar("R")

FORMAT = "record"
_active: ContextVar["Recording | None"] = ContextVar("scalepan_recording", default=None)


def active_recording() -> "Recording | None":
    """The innermost recording of this task or thread. Tasks that are started inside a recording have it too."""
    return _active.get()


class Recording:
    """One task of an agent as a trace: `with scalepan.record("Count the lines of a.txt") as t:`.

    >>> with Recording("Count the lines of a.txt") as t:
    ...     t.think("The file first")
    ...     with t.tool("read", {"path": "a.txt"}) as call:
    ...         call.output = "one\\ntwo"
    ...     t.say("Two lines")
    >>> [(step.type, step.content) for step in t.trace.steps]
    [('thought', 'The file first'), ('tool_call', None), ('observation', 'one\\ntwo'), ('thought', 'Two lines')]
    >>> print(t.trace.metadata.success, t.trace.outcome.confidence)
    None None
    """

    def __init__(
        self, objective: str, *, domain: str = UNKNOWN_DOMAIN, file: str | os.PathLike[str] | None = None
    ) -> None:
        """`objective` is what was asked; `domain` is the trace's task domain; `file` gets the trace as a JSON line."""
        if not as_instance("objective", objective, str, "text").strip():
            raise InputError("the objective is empty", path="objective")
        as_instance("domain", domain, str, "text, such as 'code'")
        self.id = f"kp:trace:{FORMAT}:{uuid4().hex[:20]}"
        self.file = as_path("file", file) if file is not None else None
        self._builder = TraceBuilder(FORMAT, domain=domain)
        self._builder.objective = as_text(objective)
        self._lock = threading.Lock()
        self._places: dict[str, int] = {}
        """Where the step of each running call is."""
        self._calls = 0
        self._summary: str | None = None
        self._state = "new"
        self._token: Token[Recording | None] | None = None

    def __enter__(self) -> "Recording":
        outer = active_recording()
        if self.file is not None and self._state == "new":
            check_writable(self.file)
        self.begin(outer.id if outer is not None else None)
        self._token = _active.set(self)
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        self._leave()
        self.finish(error)

    # What the agent does

    def think(self, text: str) -> None:
        """Something the agent considers."""
        with self.building() as builder:
            builder.think(as_text(text), now())

    def say(self, text: str) -> None:
        """Something the agent says to a person; the last of it is the result, unless another is stated."""
        with self.building() as builder:
            builder.say(as_text(text), now())

    def observe(self, text: str) -> None:
        """Something the agent sees that no tool returned, such as what a person says meanwhile."""
        with self.building() as builder:
            builder.observe(as_text(text), at=now())

    def recover(self, text: str) -> None:
        """What helped after a failure. Calling the tool again is a recovery by itself."""
        with self.building() as builder:
            builder.recover(as_text(text), now())

    def tool(self, name: str, input: Any = None) -> ToolCall:  # noqa: A002 - the trace's word for it
        """A tool of any kind: `with t.tool("orders", {"customer": 17}) as call: call.output = …`."""
        return ToolCall(self, name, input)

    def call(self, name: str, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """A function as a tool: `rows = t.call("orders", find_orders, customer=17)`."""
        given = {"args": list(args), **kwargs} if args else dict(kwargs)
        with self.tool(name, given) as call:
            call.output = result = function(*args, **kwargs)
        return result

    # How it ended

    def succeed(self, summary: str = "", *, confidence: float | None = None) -> None:
        """The task was done; `confidence` is how sure the agent is of the result, from 0 to 1."""
        self._end(True, summary, confidence)

    def fail(self, why: str = "", *, confidence: float | None = None) -> None:
        """The task was not done."""
        self._end(False, why, confidence)

    @property
    def trace(self) -> ReasoningTrace:
        """What was recorded so far, redacted as the policy in force says. What nobody stated is left open."""
        return self._whole if self._state == "over" else self._build()

    @property
    def score(self) -> Score:
        """How valuable the trace is, compared with those that this process valued before."""
        if self._state != "over":
            return not_measured("value", "the recording is not over")
        return self._valued

    # For tool calls and adapters

    def begin(self, parent: str | None = None) -> None:
        """Start without becoming the active recording; `parent` is the id of the trace that this is a sub-agent of."""
        if self._state != "new":
            raise InputError("this recording has already started; make a new one for each task", path="recording")
        _ = self._redactor  # a policy that does not fit is said now
        self._builder.parent = parent
        self._builder.created_at = now()
        self._state = "running"

    def finish(self, error: BaseException | None = None) -> None:
        """It is over, by an exception or without one; the trace is written to the file."""
        with self._lock:
            if error is not None:
                self._builder.ended = type(error).__name__
            # Ctrl-C and the like end a run without a known outcome.
            if isinstance(error, Exception) and self._builder.success is None:
                self._builder.success = False
                self._summary = error_text(error)
            self._state = "over"
        if self.file is not None:
            self._write(self.file)

    @contextmanager
    def building(self) -> Iterator[TraceBuilder]:
        """The steps so far, to add to. After the end, what is added is dropped."""
        with self._lock:
            yield self._builder if self._state != "over" else TraceBuilder(FORMAT)

    def started(self, call: ToolCall) -> None:
        """A tool call begins."""
        with self.building() as builder:
            self._calls += 1
            call.id = call.id or f"call_{self._calls}"
            self._places[call.id] = len(builder.steps)
            builder.call(call.name, call.input, call.id, now())

    def ended(self, call: ToolCall, latency_ms: float) -> None:
        """A tool call succeeded or failed."""
        failed = call.error is not None
        text = as_text(call.output) if not failed and call.output is not None else call.error
        with self.building() as builder:
            place = self._places.pop(call.id or "", len(builder.steps))
            if place < len(builder.steps):
                builder.steps[place] = msgspec.structs.replace(builder.steps[place], latency_ms=latency_ms)
            if call.interrupted:
                builder.observe(text, call.id, now(), tool=call.name, refused=True)
            else:
                builder.observe(text, call.id, now(), tool=call.name, failed=failed)

    def words(self, error: BaseException) -> str:
        """An exception as a step has it. All of it: it is redacted at the end."""
        return error_text(error)

    def _end(self, success: bool, summary: str, confidence: float | None) -> None:
        if confidence is not None and not (is_number(confidence) and 0 <= confidence <= 1):
            raise InputError(f"{quoted(confidence)} is not between 0 and 1", path="confidence")
        with self._lock:
            self._builder.success, self._builder.confidence = success, confidence
            self._summary = as_text(summary) or None

    def _leave(self) -> None:
        if self._token is not None:
            try:
                _active.reset(self._token)
            except ValueError:  # left in another context than entered, where it was never active
                return

    @cached_property
    def _redactor(self) -> "Redactor":
        from scalepan.policy import load_policy
        from scalepan.redact import Redactor

        return Redactor(load_policy().redact)

    @cached_property
    def _whole(self) -> ReasoningTrace:
        return self._build()

    @cached_property
    def _valued(self) -> Score:
        from scalepan.trace.value import evaluate_value

        return evaluate_value(self.trace) if self._builder.steps else not_measured("value", "no step was recorded")

    def _build(self) -> ReasoningTrace:
        from scalepan.trace.redaction import redacted_trace

        with self._lock:
            made = self._builder.build(self.id.rpartition(":")[2])
            if self._summary is not None:
                made = msgspec.structs.replace(
                    made, outcome=msgspec.structs.replace(made.outcome, result_summary=self._summary)
                )
            made = msgspec.structs.replace(made, steps=list(made.steps))
        return redacted_trace(made, self._redactor)

    def _write(self, file: Path) -> None:
        from scalepan.files import append_line

        try:
            append_line(file, self.trace.to_json())
        except Exception as error:
            why = error if isinstance(error, ScalepanError) else named(error)
            warnings.warn(f"{file}: the trace was not written: {why}", RecordingWarning, stacklevel=3)


def check_writable(file: Path) -> None:
    """Say now, and not after hours of work, that a file cannot be written."""
    from scalepan.files import open_private

    try:
        os.close(open_private(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(file)) from None


def now() -> str:
    """The time of a step."""
    return datetime.fromtimestamp(clock.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


record = Recording
"""The name to call: `with scalepan.record(objective) as t:`."""
