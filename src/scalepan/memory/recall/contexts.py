"""Active contexts end (contract memory.60).

One that has expired is gone for every reader from that moment on. Its rows are deleted in passing: when the next
context is kept, or by the next recall.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.errors import NotFoundError, shorten
from scalepan.memory.claim import written
from scalepan.memory.state import memory_state
from scalepan.store.operation import Operation, commits
from scalepan.store.receipts import read_object
from scalepan.store.request import Who

if TYPE_CHECKING:
    from scalepan.store import Here


def check_context(here: "Here", context: str, who: Who, now: float) -> None:
    """The context must be of the caller's project, as what is learned from its votes is, and not be over."""
    found = here.contexts.get(context, who.tenant, who.project)
    shown = shorten(context)
    if found is None:
        raise NotFoundError(f"no active context '{shown}' here: it has expired or never was; vote without naming it")
    if found.expires_at <= now:
        raise NotFoundError(f"active context '{shown}' expired at {written(found.expires_at)}; vote without naming it")


def recalled_in(here: "Here", context: str, claim: str) -> dict[str, Any] | None:
    """The raw scores that a claim was recalled with, to be kept with a vote: the context will be gone."""
    found = here.contexts.item(context, claim)
    return raw_scores(read_object(found.features)) if found is not None else None


def raw_scores(features: Mapping[str, Any]) -> dict[str, float | None]:
    """What each side of the search gave, among the features that are kept."""
    return {name: None if (raw := features.get(name)) is None else float(raw) for name in ("bm25", "cos")}


class Expire(msgspec.Struct, frozen=True):
    """As of when, in seconds since 1970."""

    now: float


class Expired(msgspec.Struct, frozen=True):
    """It is done."""


def expire_in_passing(here: "Here", now: float) -> None:
    """Have what has expired deleted, if there is any. Nobody waits for that."""
    keep = memory_state(here)
    if now >= keep.next_expiry:
        keep.next_expiry = inf
        here.commit_later(EXPIRE, Expire(now))


EXPIRE = Operation("memory.expire", Expire, Expired, internal=True)


@commits(EXPIRE)
def expire(here: "Here", requests: Sequence[Expire]) -> list[Expired]:
    """Delete contexts that are over, with their items, and look when the next one will be."""
    following = here.contexts.expire(max(request.now for request in requests))
    memory_state(here).next_expiry = inf if following is None else following
    return [Expired()] * len(requests)
