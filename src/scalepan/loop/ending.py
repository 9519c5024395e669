"""A session that is over, as a trace."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

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


def with_quality(trace: ReasoningTrace, quality: float) -> ReasoningTrace:
    """The same trace, with its value as quality_score."""
    metadata = msgspec.structs.replace(trace.metadata, quality_score=quality)
    return msgspec.structs.replace(trace, metadata=metadata)
