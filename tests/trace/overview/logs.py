"""Logs of agents for tests of what is said about them, each step written by hand."""

from collections.abc import Iterable
from typing import Any

from scalepan.policy import Policy
from scalepan.trace import ReasoningTrace, TraceValuer
from scalepan.trace.overview.listing import FOR_SCREEN, ListSizes
from scalepan.trace.summary import Summary
from tests.trace.traces import trace_dict


def call(tool: str, call_id: str = "", *, again: bool = False) -> dict[str, Any]:
    """A call; `again` marks a recovery."""
    step = {"type": "error_recovery" if again else "tool_call", "tool": {"name": tool}}
    return {**step, "scalepan:origin": {"call_id": call_id}} if call_id else step


def result(call_id: str, *, failed: bool | None = None, refused: bool | None = None) -> dict[str, Any]:
    """The result of a call, which may say how it went."""
    return {"type": "observation", "scalepan:origin": {"call_id": call_id, "failed": failed, "refused": refused}}


def thought() -> dict[str, Any]:
    """A thought."""
    return {"type": "thought", "content": "hm"}


def logged(
    steps: Iterable[dict[str, Any]] = (),
    *,
    id: str = "kp:trace:log",  # noqa: A002
    objective: str = "Fix the build",
    domain: str = "code",
    at: str | None = "2026-01-31T12:00:00Z",
    success: bool | None = None,
    confidence: float | None = None,
    **origin: Any,
) -> ReasoningTrace:
    """A trace as a reader makes it of another tool's log."""
    trace = trace_dict(id=id, objective=objective, domain=domain)
    trace["metadata"] |= {"success": success, "quality_score": None, "created_at": at}
    trace["outcome"] |= {"confidence": confidence}
    trace["steps"] = [{"step_id": number, **step} for number, step in enumerate(list(steps) or [thought()])]
    trace["scalepan:origin"] = {"format": "claude-code", **origin}
    return ReasoningTrace.from_dict(trace)


def summed(
    *traces: ReasoningTrace, encoder: Any = None, sizes: ListSizes = FOR_SCREEN, policy: Policy | None = None
) -> Summary:
    """The summary of some traces, each from a line of one file."""
    policy = policy or Policy()
    valuer = TraceValuer(policy, embedder=encoder)
    summary = Summary(policy.value, encoder=encoder is not None, sizes=sizes)
    for line, valued in enumerate(valuer.value_many(traces), 1):
        summary.add(valued, "log.jsonl", line)
    return summary
