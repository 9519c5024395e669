"""Tokens: made once, shown once, kept as a hash. A token says whose memory it opens, and which classes of it at most.

A token is 256 random bits, so a plain SHA-256 keeps it: there is no list of likely ones to try, which is what a slow
hash is for, and every request pays for the hash.
"""

import asyncio
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from time import monotonic, time
from typing import NamedTuple

import msgspec

from scalepan.errors import InputError
from scalepan.inforce import as_sent
from scalepan.names import check_label
from scalepan.policy import Policy
from scalepan.policy.boundary import CLASSES, BoundaryClass
from scalepan.serve.operations import KeepToken, RevokeToken, Token, TokenList
from scalepan.store import Store
from scalepan.store.own import Nothing

FRESH_SECONDS = 1.0
"""How late a revocation may be seen by a server that runs."""
ID_LENGTH = 16
_TOKEN = re.compile(r"scalepan_([0-9a-f]{16})_([\w-]{43})", re.ASCII)
_NOBODY = sha256(b"nobody").hexdigest()


class Made(NamedTuple):
    """A new token: the only time that it can be read."""

    value: str
    token: Token


def create(
    store: Store,
    *,
    tenant: str,
    project: str | None = None,
    classes: Sequence[BoundaryClass] = CLASSES,
    seconds: float | None = None,
    note: str | None = None,
    may_answer: bool = False,
    policy: Policy | None = None,
) -> Made:
    """Make a token and keep its hash. `may_answer`: the gate's questions, never those that it asked itself.

    `policy` says how the note is redacted; by default the one in force.
    """
    id_, secret = secrets.token_hex(ID_LENGTH // 2), secrets.token_urlsafe(32)
    unknown = [name for name in classes if name not in CLASSES]
    if unknown or not classes:
        raise InputError(f"classes are {', '.join(CLASSES)}; at least one is needed", path="classes")
    for path, name in (("tenant", tenant), ("project", project)):
        if name is not None:
            check_label(name, path)
    kept = tuple(name for name in CLASSES if name in classes)
    expires_at = None if seconds is None else time() + seconds
    request = KeepToken(
        *(id_, _hash(secret), tenant, project, kept, note, expires_at, may_answer), redact=as_sent(policy)
    )
    made: Token = store.call("serve.keep_token", request)
    return Made(f"scalepan_{id_}_{secret}", made)


def listed(store: Store) -> list[Token]:
    """Every token, revoked and expired ones too."""
    found: TokenList = store.call("serve.tokens", Nothing())
    return found.tokens


def revoke(store: Store, id_: str) -> Token:
    """From now on it opens nothing. Who gives the whole token means its id, and nothing else of it goes further."""
    revoked: Token = store.call("serve.revoke_token", RevokeToken(id_.removeprefix("scalepan_")[:ID_LENGTH]))
    return revoked


class Book:
    """The tokens as a server knows them, read anew when they are a second old. No answer, no entry."""

    def __init__(self, read: Callable[[], Awaitable[Sequence[Token]]]) -> None:
        self._read = read
        self._tokens: dict[str, Token] = {}
        self._read_at = -FRESH_SECONDS
        self._reading = asyncio.Lock()

    async def freshen(self) -> None:
        """Read the tokens, unless they were read just now."""
        if monotonic() - self._read_at < FRESH_SECONDS:
            return
        async with self._reading:
            if monotonic() - self._read_at < FRESH_SECONDS:
                return
            asked_at = monotonic()
            self._tokens = {token.id: token for token in await self._read()}
            self._read_at = asked_at

    @property
    def empty(self) -> bool:
        """Whether there has never been a token: one that was revoked still counts."""
        return not self._tokens

    def find(self, value: str) -> Token | None:
        """The token that this is, if it opens anything now. Takes as long for a wrong one as for a right one."""
        parts = _TOKEN.fullmatch(value)
        id_, secret = (parts[1], parts[2]) if parts else ("", "")
        token = self._tokens.get(id_)
        right = hmac.compare_digest(_hash(secret), token.hash if token is not None else _NOBODY)
        return token if right and token is not None and token.usable(time()) else None


def as_shown(token: Token) -> dict[str, object]:
    """A token for people and programs: everything but its hash."""
    data: dict[str, object] = msgspec.to_builtins(token)
    del data["hash"]
    state = "revoked" if token.revoked_at is not None else "active" if token.usable(time()) else "expired"
    return {**data, "state": state}


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
