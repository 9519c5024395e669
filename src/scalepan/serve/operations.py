"""What the store keeps of tokens: hashes and what each token opens, never the token itself. Each change is an event.

And of keys of requests: which request each belongs to.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from scalepan import clock
from scalepan.errors import ConflictError, NotFoundError, shorten
from scalepan.inforce import redacted, redactor_for
from scalepan.names import Label
from scalepan.policy.boundary import BoundaryClass
from scalepan.store.operation import Operation, commits, reads
from scalepan.store.own import AddEvent, Nothing
from scalepan.store.rows import TokenRow

if TYPE_CHECKING:
    from scalepan.store import Here

TOPIC = "token"
LONGEST_NOTE = 1_000


class Token(msgspec.Struct, frozen=True):
    """A token as it is kept. Times are seconds since 1970."""

    id: str
    hash: str
    tenant: str
    project: str | None
    """None: any project of the tenant."""
    classes: tuple[BoundaryClass, ...]
    note: str | None
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    may_answer: bool | None = None
    """Whether it may answer the gate's questions, though never its own."""

    def usable(self, now: float) -> bool:
        """Whether it opens anything now."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class KeepToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new token, hashed by who made it: its secret does not travel."""

    id: str
    hash: str
    tenant: Label
    project: Label | None
    classes: tuple[BoundaryClass, ...]
    note: str | None = None
    expires_at: float | None = None
    may_answer: bool = False
    redact: bytes = b""
    """How the caller's policy redacts; see `scalepan.inforce`."""


class RevokeToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token by its id."""

    id: str


class TokenList(msgspec.Struct, frozen=True):
    """All tokens, revoked and expired ones too; oldest first."""

    tokens: list[Token]


KEEP_TOKEN = Operation("serve.keep_token", KeepToken, Token)


@commits(KEEP_TOKEN)
def keep_token(here: "Here", requests: Sequence[KeepToken]) -> list[Token]:
    """Keep new tokens."""
    now = clock.time()
    here.tokens.add([_row(here, request, now) for request in requests])
    here.events.add([_event("created", request.id, request.tenant, request.project) for request in requests])
    return [_token(here, request.id) for request in requests]


def _row(here: "Here", request: KeepToken, now: float) -> TokenRow:
    redactor = redactor_for(here, request.redact, request.tenant, request.project)
    return TokenRow(
        id=request.id,
        ts=now,
        hash=request.hash,
        tenant=request.tenant,
        project=request.project,
        classes=msgspec.json.encode(request.classes).decode(),
        note=shorten(redacted(request.note, redactor), LONGEST_NOTE) if request.note else None,
        expires_at=request.expires_at,
        may_answer=request.may_answer,
    )


REVOKE_TOKEN = Operation("serve.revoke_token", RevokeToken, Token)


@commits(REVOKE_TOKEN)
def revoke_token(here: "Here", requests: Sequence[RevokeToken]) -> list[Token]:
    """Revoke tokens for good."""
    revoked = []
    for request in requests:
        found = _token(here, request.id)
        if not here.tokens.revoke(request.id, clock.time()):
            raise ConflictError(f"token '{request.id}' is revoked already")
        here.events.add([_event("revoked", request.id, found.tenant, found.project)])
        revoked.append(_token(here, request.id))
    return revoked


TOKENS = Operation("serve.tokens", Nothing, TokenList)


@reads(TOKENS)
def tokens(here: "Here", _: Nothing) -> TokenList:
    """Every token there is."""
    return TokenList([_read(row) for row in here.tokens.all()])


def _token(here: "Here", id_: str) -> Token:
    row = here.tokens.get(id_)
    if row is None:
        raise NotFoundError(f"no token '{id_}'; 'scalepan serve token list' shows them")
    return _read(row)


def _read(row: TokenRow) -> Token:
    classes = msgspec.json.decode(row.classes, type=tuple[BoundaryClass, ...])
    whose = row.id, row.hash, row.tenant, row.project
    return Token(*whose, classes, row.note, row.ts, row.expires_at, row.revoked_at, row.may_answer)


def _event(what: str, id_: str, tenant: str, project: str | None) -> AddEvent:
    return AddEvent(TOPIC, {"token": id_, "change": what}, tenant, project=project)


class ClaimKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A digest of the request under a key. The call's id represents the key."""

    mark: str


CLAIM_KEY = Operation("serve.claim_key", ClaimKey, ClaimKey)


@commits(CLAIM_KEY)
def claim_key(_: "Here", requests: Sequence[ClaimKey]) -> list[ClaimKey]:
    """The mark of the first request under this key: the store answers a repeated call as the first time."""
    return list(requests)
