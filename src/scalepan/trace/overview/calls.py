"""How did the calls of tools in a trace go? Only what the log states: a result that says nothing did not succeed."""

import msgspec

from scalepan.trace.model import ReasoningTrace

_CALLS = ("tool_call", "error_recovery")


class CallCounts(msgspec.Struct, gc=False):
    """What happened to some calls."""

    calls: int = 0
    answered: int = 0
    """Results that say whether the call failed."""
    failed: int = 0
    refused: int = 0
    """Calls that a person refused or interrupted."""
    setbacks: int = 0
    """Failures in a row of one tool within a trace count once."""
    recovered: int = 0
    """Setbacks after which the same tool worked."""

    def add(self, other: "CallCounts") -> None:
        """Add others to these."""
        self.calls += other.calls
        self.answered += other.answered
        self.failed += other.failed
        self.refused += other.refused
        self.setbacks += other.setbacks
        self.recovered += other.recovered

    @property
    def failed_share(self) -> float | None:
        """The share of failures; None if no result says."""
        return self.failed / self.answered if self.answered else None

    @property
    def recovered_share(self) -> float | None:
        """The share of setbacks that were overcome; None without a setback."""
        return self.recovered / self.setbacks if self.setbacks else None


def calls_of(trace: ReasoningTrace) -> dict[str, CallCounts]:
    """The calls of a trace by tool. A result whose call is not known stands under the empty name."""
    tools: dict[str, CallCounts] = {}
    names: dict[str, str] = {}
    failing: set[str] = set()
    for step in trace.steps:
        tool, origin = step.tool, step.origin
        if step.type in _CALLS:
            if tool is not None:
                counts = tools.get(tool.name)
                if counts is None:
                    counts = tools[tool.name] = CallCounts()
                counts.calls += 1
                if origin is not None and origin.call_id is not None:
                    names[origin.call_id] = tool.name
        elif origin is not None and (origin.failed is not None or origin.refused):
            name = tool.name if tool is not None else names.get(origin.call_id or "", "")
            _answer(tools.setdefault(name, CallCounts()), name, origin.failed, bool(origin.refused), failing)
    return tools


def _answer(counts: CallCounts, name: str, failed: bool | None, refused: bool, failing: set[str]) -> None:
    """Count one result; `failing` are the tools whose last call failed."""
    if refused:
        counts.refused += 1
        return
    counts.answered += 1
    if failed:
        counts.failed += 1
        if name not in failing:
            counts.setbacks += 1
            failing.add(name)
    elif name in failing:
        counts.recovered += 1
        failing.discard(name)
