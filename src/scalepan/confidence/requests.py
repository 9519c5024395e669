"""What the store can be asked about decisions: requests, responses and operations."""

import unicodedata
from typing import Annotated, Any

import msgspec

from scalepan.store.operation import Operation

PENDING, APPROVED, DENIED, EXPIRED = "pending", "approved", "denied", "expired"


def folded(name: str) -> str:
    """A name as it is compared: case, width and blanks do not make another person."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


class Decided(msgspec.Struct, frozen=True):
    """A decision as it is kept."""

    id: str
    at: str
    level: str
    action: str
    reason: str
    state: str
    """pending, approved, denied or expired; `approved` too where nobody had to be asked."""
    confidence: float | None
    decided_by: str | None = None
    why: str | None = None
    expires_at: float | None = None
    call: str = ""
    """The action with its arguments, without secrets."""
    because: str = ""
    """Why a person is asked, as a sentence for that person."""
    asked_by: str | None = None
    """Who asked, and therefore cannot answer."""
    asker: str = ""
    """A digest of the same: what is shown may be redacted, and two people must not look like one."""
    process: int | None = None
    """The process that asked, where it asked by itself."""
    project: str | None = None
    label: str | None = None
    """`right` or `wrong`, where somebody said how it turned out; the last label counts."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision, made or still to be made by a person."""

    level: str
    action: str
    reason: str
    state: str
    confidence: float | None
    tenant: str = "default"
    factors: Any = None
    score: Any = None
    policy_version: str = ""
    decided_by: str | None = None
    why: str | None = None
    expires_at: float | None = None
    constants: Any = None
    """Those of the formula, so that the number can be made again."""
    gate: Any = None
    """What the gate asked for beside the score."""
    call: str = ""
    because: str = ""
    asked_by: str | None = None
    process: int | None = None
    project: str | None = None
    redact: bytes = b""
    """How the caller's policy redacts; see `scalepan.inforce`."""


class Recorded(msgspec.Struct, frozen=True):
    """The decision's id."""

    id: str


class AnswerQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person says to a question that waits."""

    id: str
    approve: bool
    tenant: str = "default"
    actor: str | None = None
    why: str | None = None
    expire: bool = False
    """Nobody answered in time: nothing is learned from that."""
    identity: str | None = None
    """By what a door knows who answers, such as a token; beside the name that they give."""
    project: str | None = None
    """The one project that whoever answers may answer for; None: any of the tenant."""
    redact: bytes = b""


class LabelDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether an action, done or not, turned out to be right: for calibration."""

    id: str
    right: bool
    tenant: str = "default"
    actor: str | None = None
    why: str | None = None
    identity: str | None = None
    project: str | None = None
    redact: bytes = b""


class Labelled(msgspec.Struct, frozen=True):
    """The label's id."""

    id: str
    decision: str
    label: str


class AskDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision by its id."""

    id: str
    tenant: str = "default"
    project: str | None = None
    """The one project that whoever asks may see; None: any of the tenant."""


class AskDecisions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Decisions of a tenant, newest first: those that wait, or all."""

    tenant: str = "default"
    pending: bool = True
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    project: str | None = None
    """None: of every project."""


class DecisionList(msgspec.Struct, frozen=True):
    """A list of them."""

    decisions: list[Decided]


RECORD = Operation("confidence.record", Record, Recorded)
ANSWER = Operation("confidence.answer", AnswerQuestion, Decided)
LABEL = Operation("confidence.label", LabelDecision, Labelled)
DECISION = Operation("confidence.decision", AskDecision, Decided)
DECISIONS = Operation("confidence.decisions", AskDecisions, DecisionList)
