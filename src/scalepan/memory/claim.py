"""What memory is made of: claims, where they come from, and who asks for them."""

from collections.abc import Iterable
from datetime import UTC, datetime
from operator import attrgetter
from typing import Annotated, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from scalepan.check import in_order, resolved
from scalepan.errors import InputError, quoted
from scalepan.memory.halflife import faded
from scalepan.names import Id, Label
from scalepan.policy.boundary import BoundaryClass, Scope
from scalepan.policy.retrieval import Feedback, Kind
from scalepan.store.rows import ClaimRow, EntityName
from scalepan.store.table import to_microsecond

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
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]

# Where a claim stands. Its source document is that of its provenance: a thing is named once.
Conversation = Annotated[Label | None, Meta(description="The conversation that it was said in.")]
Turn = Annotated[Count | None, Meta(description="Its number in the conversation; numbers rise as it goes on.")]
Speaker = Annotated[Name | None, Meta(description="Who said it.")]
Position = Annotated[Count | None, Meta(description="Its number in the source; numbers rise through the document.")]
SaidAt = Annotated[
    str | None, Meta(description="When it was said or seen, such as 2026-01-31T12:00:00+09:00; without a zone, UTC.")
]
ValidFrom = Annotated[str | None, Meta(description="Since when it is true; before that it is not recalled.")]
ValidUntil = Annotated[str | None, Meta(description="When it stops being true; from then on it is not recalled.")]
Supersedes = Annotated[Id | None, Meta(description="The claim that it replaces, which is then not recalled any more.")]
PLACE = ("conversation", "turn", "speaker", "position", "said_at")
"""The fields that say where a claim stands."""
PERIOD = ("valid_from", "valid_until")
TIMES = ("said_at", *PERIOD)
"""Fields of a claim that are times: text in answers, seconds in the table."""


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
    conversation: Conversation = None
    turn: Turn = None
    speaker: Speaker = None
    position: Position = None
    said_at: SaidAt = None
    valid_from: ValidFrom = None
    valid_until: ValidUntil = None
    supersedes: Supersedes = None
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
    conversation: str | None = None
    turn: int | None = None
    speaker: str | None = None
    position: int | None = None
    said_at: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    """Of those that the caller may read, the claim that replaced it."""

    def place(self) -> dict[str, str | int]:
        """Where it stands, as far as it is known."""
        return self._known(*PLACE)

    def validity(self) -> dict[str, str | int]:
        """When it is true, what it replaces and what replaced it, as far as it is known."""
        return self._known(*PERIOD, "supersedes", "superseded_by")

    def _known(self, *names: str) -> dict[str, str | int]:
        return {name: value for name in names if (value := getattr(self, name)) is not None}


resolved(NewClaim, Provenance)

Request = TypeVar("Request", bound=msgspec.Struct)

_CONVERTED = {"utility", "quality", "created_at", "updated_at", "provenance", *TIMES}
_AS_STORED = tuple(
    name for name in Claim.__struct_fields__ if name in ClaimRow.__struct_fields__ and name not in _CONVERTED
)
_stored = attrgetter(*_AS_STORED)
_decode_provenance = msgspec.json.Decoder(Provenance).decode


class Fading(NamedTuple):
    """As of when the numbers of a claim are wanted, and how fast they fade."""

    now: float
    policy: Feedback


def claim_of(row: ClaimRow, entities: Iterable[EntityName] = (), fading: Fading | None = None) -> Claim:
    """A stored claim as callers see it. Without `fading`, its numbers are as they were last set: for the index, which
    fades those of all claims at once.
    """
    utility, quality = row.utility, row.quality
    if fading is not None:
        now, policy = fading
        utility = faded(utility, (now - row.utility_at) / SECONDS_A_DAY, policy.utility_half_life_days)
        if quality:
            since = now if row.quality_at is None else row.quality_at
            quality = faded(quality, (now - since) / SECONDS_A_DAY, policy.quality_half_life_days)
    return Claim(
        **dict(zip(_AS_STORED, _stored(row), strict=True)),
        utility=utility,
        quality=quality,
        created_at=written(row.created_at),
        updated_at=None if row.updated_at is None else written(row.updated_at),
        provenance=_decode_provenance(row.provenance or "{}"),
        said_at=None if row.said_at is None else written(row.said_at),
        valid_from=None if row.valid_from is None else written(row.valid_from),
        valid_until=None if row.valid_until is None else written(row.valid_until),
        entities=[Entity(entity.name, entity.type) for entity in entities],  # type: ignore[arg-type]
    )


def moment(text: str) -> float:
    """Seconds since 1970 of a time as users write it; without a zone it is UTC.

    >>> moment("2026-01-02T03:04:05+09:00") == moment("2026-01-01 18:04:05")
    True
    """
    parsed = datetime.fromisoformat(text)
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def seconds_of(text: str, path: str) -> float:
    """The same, to the microsecond as it is kept; InputError names `path` if it is no time."""
    try:
        seconds = to_microsecond(moment(text))
        written(seconds)  # in UTC it may be before the year 1, or after 9999
        return seconds
    except (ValueError, OverflowError):
        raise InputError(f"{quoted(text)} is not a time such as 2026-01-31T12:00:00+00:00", path=path) from None


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
