"""What comes back from a tool that gives more, or less, than its operation. Every answer is an Envelope."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from scalepan.serve.envelope import Envelope


class RecalledClaim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A claim, its text between the marks of this answer's fence."""

    id: str
    rank: int
    score_final: float
    kind: str
    scope: str
    boundary_class: str
    created_at: str
    updated_at: str | None = None
    below_threshold: bool = False
    p_useful: Annotated[float, Meta(description="How likely it is to help; none in profile spec.")] | None = None
    text: Annotated[str, Meta(description="Fenced; missing where the server gives metadata only.")] | None = None
    provenance: dict[str, str | None] = {}
    entities: list[dict[str, str]] = []
    conversation: str | None = None
    turn: int | None = None
    speaker: Annotated[str, Meta(description="Who said it, where that is known.")] | None = None
    position: int | None = None
    said_at: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    supersedes: str | None = None
    superseded_by: Annotated[str, Meta(description="The claim that replaced it since then.")] | None = None
    features: Annotated[dict[str, Any], Meta(description="s_text, s_vec, S and g; with breakdown.")] | None = None
    reason: str | None = None


class RejectedClaim(msgspec.Struct, frozen=True):
    """A candidate that was not taken, and why."""

    id: str
    score_final: float
    reason: str


class RecallAnswer(Envelope, frozen=True, kw_only=True, omit_defaults=True):
    """Claims, best first."""

    claims: list[RecalledClaim]
    notice: str
    fence: str
    active_context_id: str | None = None
    expires_at: str | None = None
    notes: list[str] = msgspec.field(default_factory=list)
    alpha: float | None = None
    why_alpha: str | None = None
    rejected: list[RejectedClaim] | None = None


class ValueAnswer(Envelope, frozen=True, kw_only=True, omit_defaults=True):
    """What a trace is worth."""

    id: str
    value: float
    verdict: Literal["share", "keep"]
    why: str
    breakdown: dict[str, Any] | None = None


class OutputAnswer(Envelope, frozen=True, kw_only=True, omit_defaults=True):
    """Whether an output is right."""

    id: str
    passed: bool
    weighted_average: float | None
    scores: dict[str, Any]
    diagnosis: (
        Annotated[dict[str, Any], Meta(description="What broke, where it did not pass: by key, causes with evidence.")]
        | None
    ) = None
    breakdown: dict[str, Any] | None = None


class ConfidenceAnswer(Envelope, frozen=True, kw_only=True, omit_defaults=True):
    """How sure to be, and what that calls for."""

    confidence: float | None
    level: Annotated[str, Meta(description="silent, notify, confirm or escalate.")]
    suggested_action: str
    why: str
    breakdown: dict[str, Any] | None = None


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A question that waits."""

    decision_id: str
    question: str
    level: str
    confidence: float | None
    asked_by: str | None
    asked_at: str


class Decision(Envelope, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the action may be done. Without `allowed` true it may not."""

    decision_id: str
    allowed: bool
    state: Annotated[str, Meta(description="approved, denied, pending or expired.")]
    level: str
    confidence: float | None
    why: str
    decided_by: str | None = None
    call: Annotated[str, Meta(description="The action with its arguments, without secrets.")] | None = None
    question: Annotated[str, Meta(description="To put to a person, where none could be asked from here.")] | None = None
    how_to_answer: str | None = None


class DecisionsAnswer(Envelope, frozen=True, kw_only=True):
    """The questions that wait for a person, newest first."""

    decisions: list[Waiting]


Found = Literal["equal", "changed", "unknown"]


class ExplainedNumber(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number that was kept, and what it comes to now."""

    id: str
    name: str
    status: Found
    value: float | None
    recomputed: Annotated[float, Meta(description="Missing if it cannot be recomputed.")] | None = None
    differences: Annotated[list[str], Meta(description="What differs from what was stored.")] = []
    why: Annotated[str, Meta(description="Why it cannot be recomputed.")] | None = None
    about: Annotated[str, Meta(description="The decision, claim, trace or case that it is about.")] | None = None
    kept_at: str
    made_under: Annotated[str, Meta(description="The version of the policy section that it was made under.")] | None = (
        None
    )
    breakdown: str | None = None


class ExplainAnswer(Envelope, frozen=True, kw_only=True):
    """Every number that an id stands for, made again from what was kept with it."""

    id: str
    kind: Annotated[str, Meta(description="number, decision, context, claim or vote.")]
    status: Annotated[Found, Meta(description="The worst of the numbers: changed, then unknown, then equal.")]
    numbers: list[ExplainedNumber]
