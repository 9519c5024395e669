"""What an agent does in a session, step by step, from any thread: thoughts, tool calls, observations, recoveries."""

import threading
from collections.abc import Callable
from typing import NamedTuple

from scalepan.errors import shorten
from scalepan.trace import Step, Tool
from scalepan.trace.model import StepType
from scalepan.trace.recording.call import ToolCall
from scalepan.trace.recording.texts import LONGEST_SUMMARY, as_text, error_summary, summary

FAILED = "failed: "
"""How the summary of a failed tool call begins."""


class StepDone(NamedTuple):
    """A snapshot of the steps."""

    steps: tuple[Step, ...]
    calls: tuple[bool, ...]
    """For each tool call, whether it succeeded."""
    outputs: tuple[str, ...]
    """The results of the calls that succeeded."""
    observed: tuple[str, ...]


class Steps:
    """The steps so far, in the order in which they ended. Thread-safe."""

    def __init__(self, redact: Callable[[str], str] = str) -> None:
        """`redact` is the session's: a tool's result is redacted before shortening, or half a secret might stay."""
        self.redact = redact
        self._lock = threading.Lock()
        self._steps: list[Step] = []
        self._calls: list[bool] = []
        self._outputs: list[str] = []
        self._observed: list[str] = []

    def add(self, kind: StepType, content: str, *, source: bool = False) -> None:
        """One step that is not a tool call; `source`: an answer may be based on it."""
        with self._lock:
            self._steps.append(Step(step_id=len(self._steps), type=kind, content=content))
            if source:
                self._observed.append(content)

    def started(self, call: ToolCall) -> None:
        """A step is written when the call ends."""

    def words(self, error: BaseException) -> str:
        """An exception in one line."""
        return error_summary(error, self.redact)

    def ended(self, call: ToolCall, latency_ms: float) -> None:
        """A tool call that succeeded or failed."""
        output = None if call.output is None else shorten(as_text(call.output), LONGEST_SUMMARY)
        told = None if call.output is None else summary(call.output, self.redact)
        with self._lock:
            self._steps.append(
                Step(
                    step_id=len(self._steps),
                    type="tool_call",
                    tool=Tool(name=call.name),
                    input=call.input,
                    output_summary=told if call.error is None else f"{FAILED}{call.error}",
                    latency_ms=latency_ms,
                )
            )
            self._calls.append(call.error is None)
            if output and call.error is None:
                self._outputs.append(output)

    def done(self) -> StepDone:
        """The steps so far."""
        with self._lock:
            return StepDone(tuple(self._steps), tuple(self._calls), tuple(self._outputs), tuple(self._observed))


def has_failed(step: Step) -> bool:
    """Whether a tool call states that it failed. Other tools' logs do not say."""
    return (step.output_summary or "").startswith(FAILED)
