"""What memory can be asked to do: requests, responses and operations. Importing this loads no handler and no array.

A request is described once, here: methods of Memory, options of the command, HTTP bodies and MCP tools are made from it
(`scalepan.doors`), so the description of a field is what their users read.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from scalepan.check import in_order
from scalepan.memory.claim import (
    KIND_WORDS,
    Claim,
    Conversation,
    Entity,
    NewClaim,
    Position,
    Provenance,
    SaidAt,
    Share,
    Signal,
    Speaker,
    Supersedes,
    Text,
    Turn,
    ValidFrom,
    ValidUntil,
)
from scalepan.memory.recall.answers import Recall
from scalepan.names import Id, Label
from scalepan.policy.boundary import BoundaryClass, Scope
from scalepan.policy.retrieval import Kind
from scalepan.store.operation import Operation
from scalepan.store.own import Nothing
from scalepan.store.request import Request

LATEST = 250_000_000_000.0  # in the year 9892: the last that calendars know, with room for what expires later

Clearable = Literal[
    "quality", "conversation", "turn", "speaker", "position", "said_at", "valid_from", "valid_until", "supersedes"
]
"""What a claim can lose."""

if TYPE_CHECKING:
    AnyScope = str  # for callers, who have it from anywhere: what is no scope is refused when it is called
    AnyClearable = str
else:
    AnyScope = Annotated[Scope, in_order(Scope)]
    AnyClearable = Annotated[Clearable, in_order(Clearable)]

AtMost1000 = Annotated[int, Meta(ge=1, le=1000)]
Scopes = Annotated[Sequence[AnyScope] | None, Meta(description="Only these scopes.")]
Kinds = Annotated[Sequence[Kind] | None, Meta(description="Only these kinds.")]


class _Query(Request, frozen=True):
    """What of a query is given by position."""

    query: Annotated[Text, Meta(description="What it is about, in plain words.")]
    k: Annotated[
        AtMost1000 | None, Meta(description="How many claims at most. Default: the policy's retrieval.hybrid.k_final.")
    ] = None


class Ask(_Query, frozen=True, kw_only=True):
    """A query, and what the answer may hold."""

    alpha: Annotated[Share | None, Meta(description="0: words only; 1: meaning only. Default: by query.")] = None
    max_tokens: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Stop before the texts have more tokens than this.")
    ] = None
    scopes: Scopes = None
    kinds: Kinds = None
    why: Annotated[Id | None, Meta(description="Say what became of this claim: why it was not recalled.")] = None
    diverse: Annotated[
        bool | None,
        Meta(
            description="Spread the answer out as an active context is: MMR, few per entity. Default: the policy's "
            "retrieval.diversity.search."
        ),
    ] = None
    as_of: Annotated[
        str | None,
        Meta(
            description="What was true then: a time such as 2026-01-31, without a zone in UTC. What was replaced since "
            "then comes back, and says by what. Default: now."
        ),
    ] = None
    at: Annotated[
        Annotated[float, Meta(ge=0, le=LATEST)] | None,
        Meta(description="Seconds since 1970 that count as now: to recompute an old answer."),
    ] = None


MOST_AT_ONCE = 1000


class Add(Request, frozen=True):
    """Claims to remember, at most a thousand in one call."""

    claims: list[NewClaim]


class Added(msgspec.Struct, frozen=True):
    """What became of one claim: kept under this id, or known already under it."""

    id: str
    created: Annotated[bool, Meta(description="false: it was already known, under this id.")]
    boundary_class: str
    redacted: Annotated[dict[str, int], Meta(description="What was cut from it, by kind.")] = {}
    superseded_by: Annotated[
        str | None, Meta(description="It was known, and this claim replaced it: it is not recalled.")
    ] = None


class AllAdded(msgspec.Struct, frozen=True):
    """What became of the claims, in their order."""

    claims: list[Added]


class Get(Request, frozen=True):
    """A claim by its id."""

    claim: Annotated[Id, Meta(description="The claim's id.")]


class Got(msgspec.Struct, frozen=True):
    """The claim."""

    claim: Claim


class Update(Get, frozen=True, kw_only=True):
    """What is to be different about a claim. What is None stays."""

    text: Annotated[Text | None, Meta(description="What it says from now on.")] = None
    kind: Annotated[Kind | None, Meta(description=KIND_WORDS)] = None
    boundary_class: Annotated[
        Annotated[BoundaryClass, in_order(BoundaryClass)] | None, Meta(description="Who may see it.")
    ] = None
    confidence: Annotated[Share | None, Meta(description="How certain it is.")] = None
    quality: Annotated[Share | None, Meta(description="How well it is written.")] = None
    provenance: Annotated[Provenance | None, Meta(description="Where it comes from.")] = None
    entities: Annotated[list[Entity] | None, Meta(description="What it is about.")] = None
    conversation: Conversation = None
    turn: Turn = None
    speaker: Speaker = None
    position: Position = None
    said_at: SaidAt = None
    valid_from: ValidFrom = None
    valid_until: ValidUntil = None
    supersedes: Supersedes = None
    clear: Annotated[Sequence[AnyClearable], Meta(description="What it is to lose.")] = ()


class Updated(msgspec.Struct, frozen=True):
    """The claim as it is now."""

    claim: Claim


class Forget(Request, frozen=True):
    """Claims to forget, each by its id."""

    claims: Annotated[list[Id], Meta(min_length=1, max_length=1000, description="The ids of the claims.")]


class Forgotten(msgspec.Struct, frozen=True):
    """How many claims are gone. Ids are not echoed: they would reveal what was deleted."""

    count: int


Note = Annotated[str, Meta(max_length=10_000)]


class _Signal(Get, frozen=True):
    """What of a vote is given by position."""

    signal: Annotated[Signal, in_order(Signal), Meta(description="What it was worth.")]


class Vote(_Signal, frozen=True, kw_only=True):
    """What somebody found of a claim."""

    of: Annotated[Id | None, Meta(description="Only with duplicate: the claim that it repeats and is merged into.")] = (
        None
    )
    context: Annotated[
        Id | None,
        Meta(description="The active_context_id that it was recalled in; calibration learns from such votes."),
    ] = None
    note: Annotated[Note | None, Meta(description="Why.")] = None


class UndoVote(Request, frozen=True):
    """Take a vote back."""

    vote: Annotated[Id, Meta(description="The vote's id.")]


class Voted(msgspec.Struct, frozen=True):
    """The vote's id, and the claim's numbers now."""

    id: str
    claim: str
    utility: float
    confidence: float
    merged_into: str | None = None


class List(Request, frozen=True):
    """Claims in the order they were last changed, newest first."""

    scopes: Scopes = None
    kinds: Kinds = None
    limit: Annotated[AtMost1000, Meta(description="How many claims at most.")] = 100
    after: str | None = None
    """The last id of the page before: pages do not shift while claims come and go."""


class Listed(msgspec.Struct, frozen=True):
    """A page; `more` says whether there are further claims."""

    claims: list[Claim]
    more: bool


class _OfClaim(Request, frozen=True):
    """What of a request is given by position."""

    claim: Annotated[Id | None, Meta(description="Only what contradicts this claim.")] = None


class Contradictions(_OfClaim, frozen=True, kw_only=True):
    """Which claims to compare. Nothing is changed by it."""

    limit: Annotated[AtMost1000, Meta(description="How many pairs at most.")] = 20
    look_at: Annotated[
        AtMost1000, Meta(description="How many claims, those last changed first, are compared with others.")
    ] = 200


class Contradiction(msgspec.Struct, frozen=True):
    """Two claims that may contradict each other, and in what. To accept it, let the newer supersede the older."""

    newer: Claim
    older: Claim
    kind: Literal["number", "date", "name", "negation"]
    says: str
    instead_of: str
    alike: float
    """The share of their words that both have, from 0 to 1."""
    entities: list[str]
    """What both are about."""
    evidence: str


class Contradicting(msgspec.Struct, frozen=True):
    """The pairs, the likest first; how many claims were looked at, and whether that were all that were asked for."""

    pairs: list[Contradiction]
    looked_at: int
    complete: bool


class Link(Request, frozen=True):
    """A relation between two claims, or a claim and an entity, by their ids."""

    source: Annotated[Id, Meta(description="The claim that the relation starts from.")]
    target: Annotated[Id, Meta(description="The claim or entity that it leads to.")]
    kind: Annotated[Label, Meta(description="What the relation is.")] = "related"


class Linked(msgspec.Struct, frozen=True):
    """The relation's id."""

    id: str


class Stats(Request, frozen=True):
    """Whose figures."""


class MemoryFigures(msgspec.Struct, frozen=True):
    """What a caller's part of memory is like."""

    claims: int
    by_kind: dict[str, int]
    by_scope: dict[str, int]
    by_class: dict[str, int]
    merged: int
    without_vector: int
    votes: dict[str, int]
    contexts: int
    model: str | None
    fallback_rate: float | None
    """search_fallback events over search and activate events; None before the first."""


class ExportPage(Request, frozen=True):
    """Everything of a tenant and project, class by class as far as it is kept: the owner's own copy."""

    limit: AtMost1000 = 500
    after: str | None = None


class Rescan(Request, frozen=True):
    """A page of all claims of a tenant, looked at under the rules of now."""

    limit: AtMost1000 = 200
    after: str | None = None


class Rescanned(msgspec.Struct, frozen=True):
    """How many were looked at and changed; the last id, or None when all are done."""

    looked_at: int
    changed: int
    last: str | None


class Backfill(Request, frozen=True):
    """Vectors for claims that have none. `anew` first drops those of another model."""

    limit: AtMost1000 = 64
    anew: bool = False


class Backfilled(msgspec.Struct, frozen=True):
    """How many got a vector, and how many still have none."""

    done: int
    left: int


class OrphanCounts(msgspec.Struct, frozen=True):
    """How many rows of each table, and of the index, are about a claim that is gone; only those that have some."""

    rows: dict[str, int]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.rows.values())


class Sweep(Request, frozen=True):
    """Who asks for it."""


class Agree(Request, frozen=True):
    """Whose policy says how the index is made."""


class Agreement(msgspec.Struct, frozen=True):
    """How many claims were compared, and where index and tables differ."""

    claims: int
    problems: list[str]


class AskCandidates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What single levels find, before anything is fused. An empty level is left out."""

    ask: Ask
    text_level: str = "index"
    vector_level: str = "index"


class LevelCandidates(msgspec.Struct, frozen=True):
    """Ids and raw scores of each side, best first; and what they were made by."""

    text: list[tuple[str, float]]
    vector: list[tuple[str, float]]
    model: str
    terms: str


class AskVotes(Request, frozen=True):
    """Whose votes."""


class VotedPair(msgspec.Struct, frozen=True):
    """A claim that was recalled in a context and voted on there."""

    query: str
    """Stands for the query: the context's id. The query itself is kept nowhere."""
    bm25: float | None
    cos: float | None
    relevant: bool


class VotedPairs(msgspec.Struct, frozen=True):
    """All of them, and what their scores were made by."""

    pairs: list[VotedPair]
    model: str
    terms: str


CANDIDATES = Operation("memory.candidates", AskCandidates, LevelCandidates)
VOTED_PAIRS = Operation("memory.voted_pairs", AskVotes, VotedPairs)
CONTRADICTIONS = Operation("memory.contradictions", Contradictions, Contradicting)
GET = Operation("memory.get", Get, Got)
LIST = Operation("memory.list", List, Listed)
LINK = Operation("memory.link", Link, Linked)
STATS = Operation("memory.stats", Stats, MemoryFigures)
EXPORT = Operation("memory.export", ExportPage, Listed)
AGREE = Operation("memory.agree", Agree, Agreement)
SEARCH = Operation("memory.search", Ask, Recall)
ACTIVATE = Operation("memory.activate", Ask, Recall)
VOTE = Operation("memory.vote", Vote, Voted)
UNDO_VOTE = Operation("memory.undo_vote", UndoVote, Voted)
RESCAN = Operation("memory.rescan", Rescan, Rescanned)
BACKFILL = Operation("memory.backfill", Backfill, Backfilled)
ORPHANS = Operation("memory.orphans", Nothing, OrphanCounts)
SWEEP = Operation("memory.sweep", Sweep, OrphanCounts)
ADD = Operation("memory.add", Add, AllAdded)
FORGET = Operation("memory.forget", Forget, Forgotten)
UPDATE = Operation("memory.update", Update, Updated)
