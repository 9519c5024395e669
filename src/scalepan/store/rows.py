"""Every table of a store: its columns, its key, and whose its rows are. Nothing else names a column's type.

A new column is a field here and a migration in `duckdb/schema.py`; a test compares the two.
"""

from typing import Any, NamedTuple

from scalepan.store.table import Generation, Json, Row, Table, Time, Vector


class MetaRow(Row, frozen=True, gc=False):
    """What the store knows of itself: version, identity, last commit, the encoder of its vectors."""

    key: str
    value: str


class RequestRow(Row, frozen=True, gc=False):
    """What a write answered, so that a repeated call gets the same answer and is not applied twice."""

    id: str
    operation: str
    response: str
    ts: Time


class EventRow(Row, frozen=True, gc=False):
    """Something that happened: ids and numbers, no texts."""

    id: str
    ts: Time
    tenant: str | None
    topic: str
    payload: Json
    request_id: str | None
    trace_id: str | None


class PolicyRow(Row, frozen=True, gc=False):
    """One version of what a tenant, or one of its projects, says."""

    id: str
    ts: Time
    tenant: str
    project: str | None
    yaml: str
    version: str
    actor: str | None


class ScoreRow(Row, frozen=True, gc=False):
    """A number with what it was made of, so that it can be recomputed."""

    id: str
    ts: Time
    name: str
    value: float | None
    inputs: Json
    policy_version: str
    model: str | None
    body: Json
    tenant: str | None
    project: str | None
    subject: str | None
    seal: str | None


class DecisionRow(Row, frozen=True, gc=False):
    """A decision of the gate, made or waiting for a person."""

    id: str
    ts: Time
    tenant: str
    score_id: str | None
    level: str
    body: Json


class LabelRow(Row, frozen=True, gc=False):
    """Whether something turned out to be right."""

    id: str
    ts: Time
    tenant: str
    target_id: str
    label: str
    actor: str | None
    body: Json


class ClaimRow(Row, frozen=True, gc=False):
    """Something remembered. `utility_at` and `quality_at` say since when the two numbers fade.

    `conversation` to `said_at` say where it stands, the last three when it is true. All of these may be missing.
    """

    id: str
    tenant: str
    project: str | None
    session: str | None
    text: str
    normalized_text: str
    kind: str
    scope: str
    boundary_class: str
    content_hash: str
    created_at: Time
    utility_at: Time
    provenance: Json
    utility: float = 0.0
    confidence: float = 0.5
    quality: float | None = None
    quality_at: Time | None = None
    updated_at: Time | None = None
    merged_into: str | None = None
    generation: Generation = 0
    """The commit that last changed this claim, its vector or its entities."""
    conversation: str | None = None
    turn: int | None = None
    speaker: str | None = None
    position: int | None = None
    said_at: Time | None = None
    valid_from: Time | None = None
    valid_until: Time | None = None
    supersedes: str | None = None


class Content(NamedTuple):
    """What is unique of a claim: its text, by its hash, within these. A secret's hash is that of its id."""

    tenant: str
    project: str | None
    scope: str
    session: str | None
    content_hash: str

    @classmethod
    def of(cls, row: ClaimRow) -> "Content":
        """A claim's."""
        return cls(row.tenant, row.project, row.scope, row.session, row.content_hash)


class VectorRow(Row, frozen=True, gc=False):
    """What an encoder made of a claim's searchable text."""

    claim_id: str
    embedding: Vector
    model: str


class ContextRow(Row, frozen=True, gc=False):
    """An active context: what was recalled for a task, for a while."""

    id: str
    tenant: str
    project: str | None
    session: str | None
    scope: str | None
    created_at: Time
    expires_at: Time
    policy_version: str
    provenance: Json
    items: int | None


class ContextItemRow(Row, frozen=True, gc=False):
    """A claim in an active context."""

    ac_id: str
    claim_id: str
    rank: int
    score: float
    features: Json
    score_id: str | None


class FeedbackRow(Row, frozen=True, gc=False):
    """A vote on a claim, or a note of what its numbers were."""

    id: str
    ts: Time
    tenant: str
    claim_id: str
    signal: str
    actor: str | None
    note: str | None
    context_id: str | None
    body: Json
    undone_at: Time | None = None


class EntityRow(Row, frozen=True, gc=False):
    """What claims are about, one row per tenant, type and name."""

    id: str
    tenant: str
    type: str
    name: str


class EntityName(NamedTuple):
    """What is unique of an entity."""

    tenant: str
    type: str
    name: str

    @classmethod
    def of(cls, row: EntityRow) -> "EntityName":
        """An entity's."""
        return cls(row.tenant, row.type, row.name)


class ClaimEntityRow(Row, frozen=True, gc=False):
    """A claim is about an entity."""

    claim_id: str
    entity_id: str


class RelationRow(Row, frozen=True, gc=False):
    """A link between claims, or a claim and an entity."""

    id: str
    ts: Time
    tenant: str
    source_id: str
    target_id: str
    kind: str


class TokenRow(Row, frozen=True, gc=False):
    """What opens the HTTP API: a digest of the token, and what it may do."""

    id: str
    ts: Time
    hash: str
    tenant: str
    project: str | None
    classes: Json
    note: str | None
    expires_at: Time | None = None
    revoked_at: Time | None = None
    may_answer: bool = False


META = Table("meta", MetaRow, key="key")
REQUESTS = Table("requests", RequestRow, key="id")
EVENTS = Table("events", EventRow, owner=["tenant"])
POLICIES = Table("policies", PolicyRow, owner=["tenant", "project"])
SCORES = Table("scores", ScoreRow, owner=["tenant", "project"])
DECISIONS = Table("decisions", DecisionRow, owner=["tenant"])
LABELS = Table("labels", LabelRow, owner=["tenant"])
CLAIMS = Table("claims", ClaimRow, key="id", owner=["tenant", "project", "session", "boundary_class"])
VECTORS = Table("claim_vectors", VectorRow)
CONTEXTS = Table("active_contexts", ContextRow, owner=["tenant", "project", "session"])
CONTEXT_ITEMS = Table("active_context_items", ContextItemRow)
FEEDBACKS = Table("feedbacks", FeedbackRow, owner=["tenant"])
ENTITIES = Table("entities", EntityRow, owner=["tenant"])
CLAIM_ENTITIES = Table("claim_entities", ClaimEntityRow)
RELATIONS = Table("relations", RelationRow, owner=["tenant"])
TOKENS = Table("tokens", TokenRow, key="id", owner=["tenant", "project"])

TABLES: tuple[Table[Any], ...] = (
    *(META, REQUESTS, EVENTS, POLICIES, SCORES, DECISIONS, LABELS, CLAIMS, VECTORS, CONTEXTS, CONTEXT_ITEMS),
    *(FEEDBACKS, ENTITIES, CLAIM_ENTITIES, RELATIONS, TOKENS),
)
