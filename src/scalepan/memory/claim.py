"""What memory is made of: claims, where they come from, and who asks for them."""

from datetime import UTC, datetime
from math import exp, log
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from scalepan.check import in_order, resolved
from scalepan.errors import InputError, quoted
from scalepan.names import Id
from scalepan.policy.boundary import BoundaryClass, Scope
from scalepan.policy.retrieval import Kind

Signal = Literal["helpful", "harmful", "outdated", "duplicate"]
EntityType = Literal["Actor", "Artifact", "Event", "Concept"]
KINDS = ("fact", "preference", "task", "policy_hint")
"""The kinds that have half-lives of their own; any other word is a kind too."""
KIND_WORDS = f"{', '.join(KINDS)}, or a word of your own."
SIGNALS: tuple[Signal, ...] = ("helpful", "harmful", "outdated", "duplicate")

SECONDS_A_DAY = 86400.0
LONGEST_PROVENANCE = {"actor": 200, "source": 2_000, "note": 10_000}

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(min_length=1, max_length=1_000_000)]
Share = Annotated[float, Meta(ge=0, le=1)]
Utility = Annotated[float, Meta(ge=-1, le=1)]


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Where a claim comes from."""

    at: str | None = None
    """When: an ISO 8601 time with its zone, such as 2026-01-31T12:00:00+09:00."""
    actor: str | None = None
    source: Annotated[str | None, Meta(description="Where it comes from: a URL or a file.")] = None
    note: Annotated[str | None, Meta(description="What else is to be said about it.")] = None

    def checked(self) -> "Provenance":
        """The same with its time written in one way; InputError if that is no time, or another field is too long.

        Not a rule of the type: what was kept before there was this rule must still be readable.
        """
        for name, most in LONGEST_PROVENANCE.items():
            length = len(getattr(self, name) or "")
            if length > most:
                raise InputError(f"has {length:,} characters; at most {most:,} are legal", path=f"provenance.{name}")
        if self.at is None:
            return self
        at = zoned(self.at)
        if at is None:
            raise InputError(
                f"{quoted(self.at)} is not a time with a zone, such as 2026-01-31T12:00:00+09:00", path="provenance.at"
            )
        return msgspec.structs.replace(self, at=at)


class Entity(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a claim is about."""

    name: Name
    type: Annotated[EntityType, in_order(EntityType)] = "Concept"


class NewClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something to remember."""

    text: Annotated[Text, Meta(description="One statement that makes sense on its own.")]
    kind: Annotated[Kind, Meta(description=KIND_WORDS)] = "fact"
    scope: Annotated[
        Scope, in_order(Scope), Meta(description="How far it reaches; session needs --session where Scalepan starts.")
    ] = "project"
    boundary_class: Annotated[BoundaryClass, in_order(BoundaryClass), Meta(description="Who may see it.")] = "internal"
    utility: Utility = 0.0
    confidence: Annotated[Share, Meta(description="How certain it is.")] = 0.5
    quality: Share | None = None
    provenance: Provenance = Provenance()
    entities: Annotated[list[Entity], Meta(description="What it is about.")] = []
    id: Id | None = None
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


resolved(NewClaim, Provenance)

Request = TypeVar("Request", bound=msgspec.Struct)


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


def zoned(text: str) -> str | None:
    """A time that has a zone, in the one way that Scalepan writes it; None if it is not one.

    >>> zoned("2026-01-31 12:00Z"), zoned("2026-01-31T12:00:00"), zoned("last week")
    ('2026-01-31T12:00:00+00:00', None, None)
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at.isoformat() if at.tzinfo is not None else None


def written(seconds: float) -> str:
    """A time as answers have it.

    >>> written(0)
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat()
