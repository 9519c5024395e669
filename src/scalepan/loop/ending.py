"""A session that is over, as a trace."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

from scalepan.inforce import redacted
from scalepan.redact import Redactor
from scalepan.trace import Metadata, Outcome, ReasoningTrace, Step, Task

Ending = Literal["succeeded", "failed", "unknown"]


def trace_of(
    id_: str,
    query: str,
    steps: Sequence[Step],
    ending: Ending,
    summary: str,
    *,
    domain: str,
    confidence: float | None,
    actor: str | None,
) -> ReasoningTrace:
    """What was asked, done and achieved. What is not known is left open, and the value gives its range."""
    return ReasoningTrace(
        context="https://openknowledgepulse.org/schema/v1",
        kind="ReasoningTrace",
        id=id_,
        metadata=Metadata(
            created_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            task_domain=domain,
            success=None if ending == "unknown" else ending == "succeeded",
            quality_score=0.0,
            visibility="private",
            privacy_level="private",
            agent_id=actor,
            framework="scalepan",
        ),
        task=Task(objective=query),
        steps=list(steps),
        outcome=Outcome(result_summary=summary or ending, confidence=confidence),
    )


def redacted_trace(trace: ReasoningTrace, redactor: Redactor) -> ReasoningTrace:
    """The same trace as it may be stored: the texts of the agent, its tools and its task, redacted."""
    replace = msgspec.structs.replace
    return replace(
        trace,
        metadata=replace(trace.metadata, agent_id=redacted(trace.metadata.agent_id, redactor)),
        task=replace(trace.task, objective=redacted(trace.task.objective, redactor)),
        steps=[_redacted_step(step, redactor) for step in trace.steps],
        outcome=replace(trace.outcome, result_summary=redacted(trace.outcome.result_summary, redactor)),
    )


def _redacted_step(step: Step, redactor: Redactor) -> Step:
    tool = step.tool
    if tool is not None:
        tool = msgspec.structs.replace(tool, name=redacted(tool.name, redactor))
    texts = {name: redacted(getattr(step, name), redactor) for name in ("content", "input", "output_summary")}
    return msgspec.structs.replace(step, tool=tool, **texts)


def with_quality(trace: ReasoningTrace, quality: float) -> ReasoningTrace:
    """The same trace, with its value as quality_score."""
    metadata = msgspec.structs.replace(trace.metadata, quality_score=quality)
    return msgspec.structs.replace(trace, metadata=metadata)
