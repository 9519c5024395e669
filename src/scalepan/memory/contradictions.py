"""Which claims may contradict each other? Proposed with the evidence, and never acted upon by itself."""

from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from scalepan import clock
from scalepan.errors import NotFoundError
from scalepan.memory.claim import Claim
from scalepan.memory.differing import Differing, difference
from scalepan.memory.recall.boundary import reach
from scalepan.memory.recall.index import Index
from scalepan.memory.redaction import outgoing
from scalepan.memory.requests import CONTRADICTIONS, Contradicting, Contradiction, Contradictions
from scalepan.memory.state import Rules, memory_state
from scalepan.store.operation import reads
from scalepan.store.reach import Reach

if TYPE_CHECKING:
    from scalepan.store import Here

NEAR = 12
"""How many neighbors by words, and by meaning, a claim is compared with."""
OF_ENTITY = 50
"""How many of the latest claims about the same entity."""


@reads(CONTRADICTIONS)
def contradictions(here: "Here", request: Contradictions) -> Contradicting:
    """Compare the latest claims, or a single one, with those that are near or about the same; only what is in force."""
    keep = memory_state(here)
    rules = keep.rules(here, request)
    now = clock.time()
    within = reach(request.who, "search", rules.policy.boundary, at=now, valid_at=now)
    index = keep.index(here, rules.policy)
    neighbors = _Neighbors(index, within, rules)
    rows = neighbors.rows(request.claim, request.look_at)
    until = monotonic() + rules.policy.retrieval.timeout_ms / 1000
    found: dict[frozenset[str], Contradiction] = {}
    looked_at = 0
    for row in rows:
        if monotonic() >= until or len(found) >= request.limit:
            break
        found |= neighbors.contradicting(row)
        looked_at += 1
    pairs = sorted(found.values(), key=lambda pair: (-pair.alike, pair.newer.id, pair.older.id))
    return Contradicting(pairs[: request.limit], looked_at, complete=looked_at == len(rows))


class _Neighbors:
    """Claims near to one, by the index. Its lock is held for one claim at a time: other calls go on in between."""

    def __init__(self, index: Index, within: Reach, rules: Rules) -> None:
        self._index, self._within, self._rules = index, within, rules

    def rows(self, claim: str | None, count: int) -> list[int]:
        """The rows to look at: that of the claim, or those that were changed last."""
        with self._index.lock:
            columns = self._index.columns
            mask = columns.mask(self._within)
            if claim is not None:
                row = columns.row_of.get(claim)
                if row is None or not mask[row]:
                    raise NotFoundError(f"no claim '{claim}' here that is in force")
                return [row]
            rows = np.flatnonzero(mask)
            latest = sorted(rows.tolist(), key=lambda row: (-float(columns.column("ts")[row]), columns.ids[row]))
            return latest[:count]

    def contradicting(self, row: int) -> dict[frozenset[str], Contradiction]:
        """What contradicts a row, by the two ids."""
        with self._index.lock:
            columns = self._index.columns
            mask = columns.mask(self._within)
            if row >= len(mask) or not mask[row]:
                return {}
            near = [other for other in self._near(row, mask) if other != row and mask[other]]
            claim, others = columns.claim(row), [columns.claim(other) for other in near]
        mine = outgoing(claim, self._rules, self._within)
        found = {}
        for theirs in (outgoing(other, self._rules, self._within) for other in others):
            pair = _pair(mine, theirs)
            if pair is not None:
                found[frozenset((mine.id, theirs.id))] = pair
        return found

    def _near(self, row: int, mask: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> list[int]:
        index, policy = self._index, self._rules.policy.retrieval
        newest = index.columns.column("ts")
        near = dict(index.words.search(index.words.bag(row), mask, NEAR + 1, newest, policy.text))
        if index.vectors.has(row):
            near |= dict(index.vectors.search(index.vectors.of([row])[0], mask, NEAR + 1, newest, policy.vectors))
        for entity in index.columns.claim(row).entities:
            about = np.flatnonzero(index.columns.about(entity.name) & mask)
            latest = sorted(about.tolist(), key=lambda one: (-newest[one], index.columns.ids[one]))
            near |= dict.fromkeys(latest[:OF_ENTITY], 0.0)
        return list(near)


def _pair(one: Claim, other: Claim) -> Contradiction | None:
    if one.kind != other.kind or (one.speaker and other.speaker and one.speaker != other.speaker):
        return None
    if (_time(other), other.id) > (_time(one), one.id):
        one, other = other, one
    shared = _shared(one, other)
    found = difference(one.text, other.text, same_subject=bool(shared))
    if found is None:
        return None
    # What they share must be what they are about, not the value in which they differ.
    shared = [name for name in shared if name.lower() not in (found.one.lower(), found.other.lower())]
    return Contradiction(one, other, found.kind, found.one, found.other, found.alike, shared, _evidence(found, shared))


def _time(claim: Claim) -> str:
    """Since when it is said, as far as that is known. All are written alike, so that text compares as time does."""
    return claim.valid_from or claim.said_at or claim.updated_at or claim.created_at


def _shared(one: Claim, other: Claim) -> list[str]:
    theirs = {(entity.type, entity.name) for entity in other.entities}
    return [entity.name for entity in one.entities if (entity.type, entity.name) in theirs]


def _evidence(found: Differing, shared: Sequence[str]) -> str:
    about = f"both about {', '.join(shared)}; " if shared else ""
    return f"{about}{found.alike:.0%} of their words alike; {found.kind}: {found.one} instead of {found.other}"
