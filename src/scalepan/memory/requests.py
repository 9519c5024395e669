"""What memory can be asked to do: requests, responses and operations. Importing this loads no handler and no array."""

from typing import Annotated

import msgspec

from scalepan.check import in_order
from scalepan.memory.claim import Claim, Entity, NewClaim, Provenance, Share, Signal, Text
from scalepan.memory.recall.answers import Recall
from scalepan.names import Id, Label
from scalepan.policy.boundary import BoundaryClass, Scope
from scalepan.policy.retrieval import Kind
from scalepan.store.operation import Operation
from scalepan.store.own import Nothing
from scalepan.store.request import Request

LATEST = 250_000_000_000.0  # in the year 9892: the last that calendars know, with room for what expires later


class Ask(Request, frozen=True):
    """A query, and what the answer may hold."""

    query: Text
    scopes: list[Scope] | None = None
    kinds: list[str] | None = None
    k: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    alpha: Share | None = None
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    diverse: bool | None = None
    """Whether MMR and the entity cap choose; None: they do for an active context, and else as the policy says."""
    why: Id | None = None
    """A claim whose fate is to be told."""
    at: Annotated[float, msgspec.Meta(ge=0, le=LATEST)] | None = None
    """Seconds since 1970 that count as now: to recompute an old answer."""


MOST_AT_ONCE = 1000


class Add(Request, frozen=True):
    """Claims to remember, at most a thousand in one call."""

    claims: list[NewClaim]


class Added(msgspec.Struct, frozen=True):
    """What became of one claim: kept under this id, or known already under it."""

    id: str
    created: bool
    boundary_class: str
    redacted: dict[str, int] = {}
    """What was cut from it, by kind."""


class AllAdded(msgspec.Struct, frozen=True):
    """What became of the claims, in their order."""

    claims: list[Added]


class Update(Request, frozen=True):
    """What is to be different about a claim. What is None stays."""

    claim: Id
    text: Text | None = None
    kind: Kind | None = None
    boundary_class: Annotated[BoundaryClass, in_order(BoundaryClass)] | None = None
    confidence: Share | None = None
    quality: Share | None = None
    provenance: Provenance | None = None
    entities: list[Entity] | None = None


class Updated(msgspec.Struct, frozen=True):
    """The claim as it is now."""

    claim: Claim


class Forget(Request, frozen=True):
    """Claims to forget, each by its id."""

    claims: Annotated[list[Id], msgspec.Meta(min_length=1, max_length=1000)]


class Forgotten(msgspec.Struct, frozen=True):
    """How many claims are gone. Ids are not repeated: they are a trace too."""

    count: int


Note = Annotated[str, msgspec.Meta(max_length=10_000)]


class Vote(Request, frozen=True):
    """What somebody found of a claim."""

    claim: Id
    signal: Annotated[Signal, in_order(Signal)]
    of: Id | None = None
    """For `duplicate`: the claim that it repeats and is merged into."""
    context: Id | None = None
    """The active context that it was recalled in; `scalepan memory calibrate` learns from such votes."""
    note: Note | None = None


class UndoVote(Request, frozen=True):
    """Take a vote back."""

    vote: Id


class Voted(msgspec.Struct, frozen=True):
    """The vote's id, and the claim's numbers now."""

    id: str
    claim: str
    utility: float
    confidence: float
    merged_into: str | None = None


class Get(Request, frozen=True):
    """A claim by its id."""

    claim: Id


class Got(msgspec.Struct, frozen=True):
    """The claim."""

    claim: Claim


class List(Request, frozen=True):
    """Claims in the order they were last changed, newest first."""

    scopes: list[Scope] | None = None
    kinds: list[str] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    after: str | None = None
    """The last id of the page before: pages do not shift while claims come and go."""


class Listed(msgspec.Struct, frozen=True):
    """A page; `more` says whether there are further claims."""

    claims: list[Claim]
    more: bool


class Link(Request, frozen=True):
    """A relation between two claims, or a claim and an entity, by their ids."""

    source: Id
    target: Id
    kind: Label = "related"


class Linked(msgspec.Struct, frozen=True):
    """The relation's id."""

    id: str


class Stats(Request, frozen=True):
    """Whose figures."""


class Figures(msgspec.Struct, frozen=True):
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

    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 500
    after: str | None = None


class Rescan(Request, frozen=True):
    """A page of all claims of a tenant, looked at under the rules of now."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200
    after: str | None = None


class Rescanned(msgspec.Struct, frozen=True):
    """How many were looked at and changed; the last id, or None when all are done."""

    looked_at: int
    changed: int
    last: str | None


class Backfill(Request, frozen=True):
    """Vectors for claims that have none. `anew` first drops those of another model."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 64
    anew: bool = False


class Backfilled(msgspec.Struct, frozen=True):
    """How many got a vector, and how many still have none."""

    done: int
    left: int


class Orphans(msgspec.Struct, frozen=True):
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


class Candidates(msgspec.Struct, frozen=True):
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


CANDIDATES = Operation("memory.candidates", AskCandidates, Candidates)
VOTED_PAIRS = Operation("memory.voted_pairs", AskVotes, VotedPairs)
GET = Operation("memory.get", Get, Got)
LIST = Operation("memory.list", List, Listed)
LINK = Operation("memory.link", Link, Linked)
STATS = Operation("memory.stats", Stats, Figures)
EXPORT = Operation("memory.export", ExportPage, Listed)
AGREE = Operation("memory.agree", Agree, Agreement)
SEARCH = Operation("memory.search", Ask, Recall)
ACTIVATE = Operation("memory.activate", Ask, Recall)
VOTE = Operation("memory.vote", Vote, Voted)
UNDO_VOTE = Operation("memory.undo_vote", UndoVote, Voted)
RESCAN = Operation("memory.rescan", Rescan, Rescanned)
BACKFILL = Operation("memory.backfill", Backfill, Backfilled)
ORPHANS = Operation("memory.orphans", Nothing, Orphans)
SWEEP = Operation("memory.sweep", Sweep, Orphans)
ADD = Operation("memory.add", Add, AllAdded)
FORGET = Operation("memory.forget", Forget, Forgotten)
UPDATE = Operation("memory.update", Update, Updated)
