"""What an agent does in a session, step by step, from any thread: thoughts, tool calls, observations, recoveries."""

import threading
from collections.abc import Callable
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from scalepan.errors import own_words, shorten
from scalepan.trace import Step, Tool
from scalepan.trace.model import StepType

LONGEST_SUMMARY, LONGEST_ERROR, LOOKED_AT = 500, 200, 10_000
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

    def ended(self, call: "ToolCall", latency_ms: float) -> None:
        """A tool call that succeeded or failed."""
        output = None if call.output is None else as_text(call.output)
        told = None if call.output is None else _summary(call.output, self.redact)
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


class ToolCall:
    """A running tool call: `with s.tool("orders", {"customer": 17}) as call: call.output = …`.

    An exception is a failure, and reaches the caller unchanged.
    """

    def __init__(self, steps: Steps, name: str, input: Any = None) -> None:  # noqa: A002 - the trace's word for it
        self.name = name
        self.input = _plain(input)
        self.output: Any = None
        self.error: str | None = None
        self._steps = steps
        self._start = 0.0

    def fail(self, why: str) -> None:
        """Report that the tool failed, without an exception."""
        self.error = why

    def __enter__(self) -> "ToolCall":
        self._start = perf_counter()
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if error is not None:
            self.error = error_text(error, self._steps.redact)
        self._steps.ended(self, (perf_counter() - self._start) * 1000.0)


def has_failed(step: Step) -> bool:
    """Whether a tool call states that it failed. Other tools' logs do not say."""
    return (step.output_summary or "").startswith(FAILED)


def as_text(value: Any) -> str:
    """A tool's result as one short text.

    >>> as_text({"id": 17, "open": True})
    '{"id":17,"open":true}'
    """
    return shorten(_text(value), LONGEST_SUMMARY)


def _summary(value: Any, redact: Callable[[str], str]) -> str:
    """The same, redacted. It looks far enough ahead that no secret is cut in half at the end."""
    text = _text(value)
    seen = text[:LOOKED_AT]
    found = redact(seen)
    if len(seen) < len(text):
        found = found[: max(len(found) - LONGEST_SUMMARY, 0)] + "…"
    return shorten(found, LONGEST_SUMMARY)


def error_text(error: BaseException, redact: Callable[[str], str]) -> str:
    """An exception in one line, redacted before it is shortened."""
    name, said = type(error).__name__, redact(own_words(error, str)[:LOOKED_AT])
    return name if said in ("", name) else f"{name}: {shorten(said, LONGEST_ERROR)}"


def _text(value: Any) -> str:
    plain = _plain(value)
    try:
        return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()
    except Exception:
        return own_words(value)


def _plain(value: Any) -> Any:
    """Plain data; anything else by its repr."""
    try:
        return msgspec.to_builtins(value, enc_hook=own_words)
    except Exception:
        return shorten(value, LONGEST_SUMMARY)
