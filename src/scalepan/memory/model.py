"""What memory is made of: claims, where they come from, and who asks for them."""

from datetime import UTC, datetime
from math import exp, log
from typing import Annotated, Any, Literal

import msgspec

from scalepan.check import in_order
from scalepan.policy.boundary import BoundaryClass, Scope

Kind = Literal["fact", "preference", "task", "policy_hint"]
Signal = Literal["helpful", "harmful", "outdated", "duplicate"]
EntityType = Literal["Actor", "Artifact", "Event", "Concept"]
KINDS: tuple[Kind, ...] = ("fact", "preference", "task", "policy_hint")
SIGNALS: tuple[Signal, ...] = ("helpful", "harmful", "outdated", "duplicate")

DEFAULT_TENANT = DEFAULT_PROJECT = "default"
DEFAULT_PURPOSE = "answer:task"
SECONDS_A_DAY = 86400.0

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000_000)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Utility = Annotated[float, msgspec.Meta(ge=-1, le=1)]


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Where a claim comes from."""

    at: str | None = None
    """When, with its time zone."""
    actor: str | None = None
    source: str | None = None
    """A URL or a file."""
    note: str | None = None


class Entity(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a claim is about."""

    name: Name
    type: Annotated[EntityType, in_order(EntityType)] = "Concept"


class NewClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something to remember."""

    text: Text
    kind: Annotated[Kind, in_order(Kind)] = "fact"
    scope: Annotated[Scope, in_order(Scope)] = "project"
    boundary_class: Annotated[BoundaryClass, in_order(BoundaryClass)] = "internal"
    utility: Utility = 0.0
    confidence: Share = 0.5
    quality: Share | None = None
    provenance: Provenance = Provenance()
    entities: list[Entity] = []
    id: Name | None = None
    """Only for claims that come from another store; else one is made."""
    created_at: str | None = None
    updated_at: str | None = None


class Claim(msgspec.Struct, frozen=True, gc=False):
    """Something remembered, as it is now: utility and quality have faded since they were last touched.

    An index holds all of them, and none can be part of a cycle, so that the garbage collector need not look at them.
    """

    id: str
    tenant: str
    project: str | None
    session: str | None
    text: str
    kind: str
    scope: str
    boundary_class: str
    content_hash: str
    utility: float
    confidence: float
    quality: float | None
    created_at: str
    updated_at: str | None
    merged_into: str | None
    provenance: Provenance
    entities: list[Entity] = []


class Who(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who asks, from where, and what for. Claims of others are as if they did not exist."""

    tenant: Name = DEFAULT_TENANT
    project: Name | None = DEFAULT_PROJECT
    session: Name | None = None
    purposes: Annotated[tuple[Annotated[str, msgspec.Meta(pattern=r"^[^*]+$")], ...], msgspec.Meta(min_length=1)] = (
        DEFAULT_PURPOSE,
    )
    """What the answer is for: `answer:task`, `tool:contact-lookup`."""
    actor: str | None = None
    facts: dict[str, Any] = {}
    """What the invariants may ask about, beside what the request itself says."""
    trace_id: str | None = None
    classes: tuple[BoundaryClass, ...] | None = None
    """What the caller's token opens at most; policy may open less. None: there is no token, and policy alone says."""


def faded(value: float, age_days: float, half_life_days: float) -> float:
    """What time has left of a value: half of it after each half-life.

    >>> faded(0.8, 60, half_life_days=30)
    0.2
    """
    return value * exp(-log(2) * max(age_days, 0.0) / half_life_days)


def moment(text: str) -> float:
    """Seconds since 1970 of a time as users write it; without a zone it is UTC.

    >>> moment("2026-01-02T03:04:05+09:00") == moment("2026-01-01 18:04:05")
    True
    """
    parsed = datetime.fromisoformat(text)
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def written(seconds: float) -> str:
    """A time as answers have it.

    >>> written(0)
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat()
