"""Traces for tests: a valid one to change, and Hypothesis strategies for any valid one."""

from collections.abc import Sequence
from typing import Any

from scalepan.trace import ReasoningTrace


def trace_dict(
    types: Sequence[str] = ("thought", "tool_call", "observation"),
    tools: Sequence[str] = ("search",),
    *,
    confidence: float = 0.9,
    success: bool = True,
    domain: str = "default",
    id: str = "kp:trace:1",  # noqa: A002
    objective: str = "Find out why the build is slow",
) -> dict[str, Any]:
    """A native trace; `tools` are handed to the tool_call steps in turn, or to the first steps if there are none."""
    steps: list[dict[str, Any]] = [
        {"step_id": number, "type": type_, "content": f"step {number} of {type_}"} for number, type_ in enumerate(types)
    ]
    holders = [step for step in steps if step["type"] == "tool_call"] or steps
    for step, tool in zip(holders, tools, strict=False):
        step["tool"] = {"name": tool}
    return {
        "@context": "https://openknowledgepulse.org/schema/v1",
        "@type": "ReasoningTrace",
        "id": id,
        "metadata": {
            "created_at": "2026-01-31T12:00:00Z",
            "task_domain": domain,
            "success": success,
            "quality_score": 0.5,
            "visibility": "private",
            "privacy_level": "private",
        },
        "task": {"objective": objective},
        "steps": steps,
        "outcome": {"result_summary": "Found it", "confidence": confidence},
    }


def trace(*args: Any, **kwargs: Any) -> ReasoningTrace:
    """The same as a ReasoningTrace."""
    return ReasoningTrace.from_dict(trace_dict(*args, **kwargs))
