"""What does a trace teach? Claims to offer from it, in the agent's own words, without secrets and personal data."""

from collections.abc import Iterator, Sequence

import msgspec

from scalepan.errors import shorten
from scalepan.loop.steps import FAILED, has_failed
from scalepan.memory import NewClaim, Provenance
from scalepan.policy import load_policy
from scalepan.redact import Redactor
from scalepan.trace import ReasoningTrace, Step
from scalepan.trace.redaction import redacted_trace

LONGEST = 400


def claims_from_trace(
    trace: ReasoningTrace,
    refusals: Sequence[str] = (),
    *,
    confidence: float = 0.5,
    note: str | None = None,
    redactor: Redactor | None = None,
) -> list[NewClaim]:
    """What helped after an error, what a person refused, or else the outcome. Nothing if the outcome is unknown.

    They are offers: nothing is stored here. `redactor` is the policy's, by default that of the policy in force; `note`
    goes into their provenance.

    >>> from scalepan.samples import sample_trace
    >>> [claim.kind for claim in claims_from_trace(sample_trace())]
    ['fact', 'fact', 'fact']
    """
    if trace.metadata.success is None:
        return []
    redactor = redactor or Redactor(load_policy().redact)
    trace = redacted_trace(trace, redactor)  # before anything is shortened: half a secret would not be found
    refusals = [redactor.redact(refusal).text for refusal in refusals]
    task = trace.task.objective
    drafts = [("fact", f"{lesson} (task: {_short(task)})") for lesson in _lessons(trace.steps)]
    drafts += [("policy_hint", f"A person refused to {_short(refusal)} (task: {_short(task)})") for refusal in refusals]
    # Each draft names the task, so one more about its outcome would only outrank them when the task comes again.
    if not drafts or not trace.metadata.success:
        ended = trace.outcome.result_summary if trace.metadata.success else f"failed: {trace.outcome.result_summary}"
        drafts.append(("task", f"{_short(task)}: {_short(ended)}"))
    origin = Provenance(at=trace.metadata.created_at, actor=trace.metadata.agent_id, source=trace.id, note=note)
    origin = msgspec.structs.replace(origin, **_redacted(origin, redactor))
    unique = {redactor.redact(text).text: kind for kind, text in drafts}
    plain = {"confidence": confidence, "provenance": msgspec.to_builtins(origin)}
    return [msgspec.convert({"text": text, "kind": kind, **plain}, NewClaim) for text, kind in unique.items()]


def _lessons(steps: Sequence[Step]) -> Iterator[str]:
    """Each recovery with the tool call that it recovered from: the last one that failed, else the last one."""
    last: Step | None = None
    failed: Step | None = None
    for step in steps:
        if step.type == "tool_call":
            last = step
            failed = step if has_failed(step) else failed
        elif step.type == "error_recovery" and step.content:
            yield f"{_failure(failed or last)}what helped: {_short(step.content)}"
            failed = None


def _failure(step: Step | None) -> str:
    if step is None or step.tool is None:
        return ""
    why = (step.output_summary or "").removeprefix(FAILED)
    return f"{step.tool.name} failed{f' ({_short(why)})' if why else ''}; "


def _redacted(origin: Provenance, redactor: Redactor) -> dict[str, str]:
    texts = {name: getattr(origin, name) for name in ("actor", "source", "note")}
    return {name: redactor.redact(text).text for name, text in texts.items() if text}


def _short(text: str) -> str:
    return shorten(" ".join(text.split()), LONGEST)
