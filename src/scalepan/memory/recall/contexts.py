"""Active contexts end (contract memory.60).

One that has expired is gone for every reader from that moment on. Its rows are deleted in passing: when the next
context is kept, or by the next recall.
"""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.errors import NotFoundError, shorten
from scalepan.memory.claim import written
from scalepan.memory.state import memory_state
from scalepan.store.duckdb.values import utc
from scalepan.store.operation import Operation, commits
from scalepan.store.request import Who

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.store import Here


def check_context(here: "Here", context: str, who: Who, now: float) -> None:
    """The context must be of the caller's project, as what is learned from its votes is, and not be over."""
    found = here.connection.execute(
        "SELECT epoch(expires_at) FROM active_contexts WHERE id = ? AND tenant = ? AND project IS NOT DISTINCT FROM ?",
        [context, who.tenant, who.project],
    ).fetchone()
    shown = shorten(context)
    if found is None:
        raise NotFoundError(f"no active context '{shown}' here: it has expired or never was; vote without naming it")
    if found[0] <= now:
        raise NotFoundError(f"active context '{shown}' expired at {written(found[0])}; vote without naming it")


def items_of(connection: "DuckDBPyConnection", context: str) -> set[str]:
    """The claims of a context that are still there."""
    found = connection.execute("SELECT claim_id FROM active_context_items WHERE ac_id = ?", [context]).fetchall()
    return {claim for (claim,) in found}


def recalled_in(connection: "DuckDBPyConnection", context: str, claim: str) -> dict[str, Any] | None:
    """The raw scores that a claim was recalled with, to be kept with a vote: the context will be gone."""
    found = connection.execute(
        "SELECT features->>'bm25', features->>'cos' FROM active_context_items WHERE ac_id = ? AND claim_id = ?",
        [context, claim],
    ).fetchone()
    if found is None:
        return None
    return {name: None if raw is None else float(raw) for name, raw in zip(("bm25", "cos"), found, strict=True)}


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
    connection = here.connection
    over = "(SELECT id FROM active_contexts WHERE expires_at <= ?)"
    now = utc(max(request.now for request in requests))
    connection.execute(f"DELETE FROM active_context_items WHERE ac_id IN {over}", [now])
    connection.execute(f"DELETE FROM active_contexts WHERE id IN {over}", [now])
    row = connection.execute("SELECT epoch(min(expires_at)) FROM active_contexts").fetchone()
    memory_state(here).next_expiry = row[0] if row and row[0] is not None else inf
    return [Expired()] * len(requests)
