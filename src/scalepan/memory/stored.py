"""Stored claims as callers see them: with what they are about, their numbers faded to now."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalepan.errors import NotFoundError
from scalepan.memory.claim import Claim, Fading, claim_of
from scalepan.store.reach import Reach
from scalepan.store.rows import ClaimRow

if TYPE_CHECKING:
    from scalepan.store import Here


def claims_of(here: "Here", rows: Sequence[ClaimRow], fading: Fading) -> list[Claim]:
    """Claims, in the order of their rows."""
    entities = here.entities.of(row.id for row in rows) if rows else {}
    return [claim_of(row, entities.get(row.id, ()), fading) for row in rows]


def reachable(here: "Here", id_: str, reach: Reach) -> ClaimRow:
    """One claim within reach; NotFoundError if it is not there, or not for this caller: the two look the same."""
    found = here.claims.reachable(reach, [id_])
    if not found:
        raise NotFoundError(f"no claim '{id_}' here")
    return found[0]


def claim_within(here: "Here", id_: str, reach: Reach, fading: Fading) -> Claim:
    """The same as callers see it."""
    (claim,) = claims_of(here, [reachable(here, id_, reach)], fading)
    return claim
