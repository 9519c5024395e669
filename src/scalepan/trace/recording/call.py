"""A tool call while it runs: what it was given, what came of it, and how long it took."""

from time import perf_counter
from types import TracebackType
from typing import Any, Protocol

from scalepan.trace.recording.texts import as_plain, as_text


class KeepsCalls(Protocol):
    """Whoever is told about tool calls: a recording, or a session."""

    def started(self, call: "ToolCall") -> None:
        """A call begins."""

    def ended(self, call: "ToolCall", latency_ms: float) -> None:
        """A call succeeded or failed."""

    def words(self, error: BaseException) -> str:
        """An exception as it is stored."""


class ToolCall:
    """A running tool call: `with t.tool("orders", {"customer": 17}) as call: call.output = …`.

    An exception is a failure, and reaches the caller unchanged.
    """

    def __init__(self, keeper: KeepsCalls, name: str, input: Any = None, call_id: str | None = None) -> None:  # noqa: A002 - the trace's word for it
        self.name = as_text(name)
        self.input = as_plain(input)
        self.id = call_id
        self.output: Any = None
        self.error: str | None = None
        self.interrupted = False
        self._keeper = keeper
        self._start = 0.0

    def fail(self, why: str) -> None:
        """Report that the tool failed, without an exception."""
        self.error = as_text(why)

    def start(self) -> "ToolCall":
        """The tool begins its work."""
        self._keeper.started(self)
        self._start = perf_counter()
        return self

    def end(self, error: BaseException | None = None) -> None:
        """The tool is done, or has raised."""
        took = (perf_counter() - self._start) * 1000.0
        if error is not None:
            self.error = self._keeper.words(error)
            # Ctrl-C is a person's decision, and no fault of the tool.
            self.interrupted = isinstance(error, KeyboardInterrupt)
        self._keeper.ended(self, took)

    def __enter__(self) -> "ToolCall":
        return self.start()

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        self.end(error)
