"""How did the calls of tools in a trace go? Only what the log states: a result that says nothing did not succeed."""

from typing import NamedTuple

import msgspec

from scalepan.trace.model import ReasoningTrace


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
        if other.answered or other.refused:  # many logs say nothing of either
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


class TraceWork(NamedTuple):
    """What an agent did in one trace."""

    tools: dict[str, CallCounts]
    """Its calls by tool. A result whose call is not known stands under the empty name."""
    sequence: tuple[str, ...]
    """The tools in the order of the calls."""
    recoveries: int
    """Steps that are a recovery."""


def work_of(trace: ReasoningTrace) -> TraceWork:
    """What happened in a trace, in one pass: this is done for every trace of a run."""
    tools: dict[str, CallCounts] = {}
    sequence: list[str] = []
    names: dict[str, str] = {}
    failing: set[str] = set()
    recoveries = 0
    for step in trace.steps:
        kind = step.type
        if kind == "thought":
            continue
        tool, origin = step.tool, step.origin
        if kind == "observation":
            if origin is not None and (origin.failed is not None or origin.refused):
                name = tool.name if tool is not None else names.get(origin.call_id or "", "")
                _answer(tools.setdefault(name, CallCounts()), name, origin.failed, bool(origin.refused), failing)
            continue
        if kind == "error_recovery":
            recoveries += 1
        if tool is not None:
            name = tool.name
            sequence.append(name)
            if (counts := tools.get(name)) is None:
                tools[name] = CallCounts(1)
            else:
                counts.calls += 1
            if origin is not None and origin.call_id is not None:
                names[origin.call_id] = name
    return TraceWork(tools, tuple(sequence), recoveries)


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
