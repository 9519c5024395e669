"""What replaced a claim, and what did it replace? Told only of claims that the caller may read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from scalepan.memory.claim import Claim, seconds_of, written
from scalepan.memory.recall.answers import Recalled
from scalepan.memory.recall.candidates.columns import ClaimColumns
from scalepan.memory.recall.index import Index
from scalepan.store.reach import Reach

if TYPE_CHECKING:
    from scalepan.memory.requests import Ask
    from scalepan.store import Here


def true_at(ask: "Ask", now: float) -> float:
    """The moment at which claims must be true to be recalled."""
    return seconds_of(ask.as_of, "as_of") if ask.as_of is not None else now


def with_successions(index: Index, recalled: list[Recalled], within: Reach) -> list[Recalled]:
    """Recalled claims that say what replaced them, and do not name what the caller may not read."""
    with index.lock:
        if index.columns.always_true:
            return recalled
        return [replace(one, claim=_told(index.columns, one.claim, within)) for one in recalled]


def _told(columns: ClaimColumns, claim: Claim, within: Reach) -> Claim:
    older = columns.row_of.get(claim.supersedes or "")
    readable = older is not None and columns.mask(within._replace(valid_at=None))[older]
    newer = columns.replacing(claim.id, within)
    return replace(claim, supersedes=claim.supersedes if readable else None, superseded_by=newer)


def why_not_in_force(index: Index, row: int, within: Reach) -> str:
    """Why a claim that the caller may read is not recalled at this time. Hold the index's lock."""
    columns, moment = index.columns, within.valid_at or 0.0
    begins, ends = float(columns.column("begins")[row]), float(columns.column("ends")[row])
    if moment < begins:
        return f"it is not true yet: from {written(begins)} on"
    if moment >= ends:
        return f"it is not true any more: until {written(ends)}"
    return f"claim '{columns.replacing(columns.ids[row], within)}' supersedes it"


def told_of(here: "Here", claims: Sequence[Claim], within: Reach) -> list[Claim]:
    """The same for claims from the tables."""
    newer = here.claims.superseding([claim.id for claim in claims], within)
    named = [claim.supersedes for claim in claims if claim.supersedes is not None]
    readable = {row.id for row in here.claims.reachable(within, named)} if named else set()
    return [
        replace(
            claim,
            supersedes=claim.supersedes if claim.supersedes in readable else None,
            superseded_by=newer.get(claim.id),
        )
        for claim in claims
    ]
