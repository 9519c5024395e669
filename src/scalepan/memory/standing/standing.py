"""What a claim has earned: what a vote makes of it, and what all its votes together do (contract memory.38)."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from scalepan.memory.claim import SECONDS_A_DAY
from scalepan.memory.halflife import faded
from scalepan.policy.retrieval import Change, Feedback
from scalepan.store.receipts import read_object

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BASE, SET = "base", "set"
"""Beside votes: where a claim stood before another was merged into it, and what its confidence was set to by hand."""
IN_ORDER = "ORDER BY rowid"
"""Votes in the order in which they were counted. A clock may go back; the one writer only ever adds rows at the end."""


class Standing(NamedTuple):
    """What a claim has earned, and since when. Times are seconds since 1970."""

    utility: float
    utility_at: float
    confidence: float

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> "Standing":
        """As it was kept with a vote."""
        return cls(*(float(kept[name]) for name in cls._fields))

    def at(self, now: float, policy: Feedback) -> "Standing":
        """The same, faded to now."""
        age = (now - self.utility_at) / SECONDS_A_DAY
        return Standing(faded(self.utility, age, policy.utility_half_life_days), now, self.confidence)

    def after(self, change: Change, now: float, policy: Feedback) -> "Standing":
        """What a vote makes of it: utility stays within -1..1, confidence within 0..1.

        >>> Standing(0.95, 0.0, 0.98).after(Feedback().helpful, 0.0, Feedback())
        Standing(utility=1.0, utility_at=0.0, confidence=1.0)
        """
        faded_ = self.at(now, policy)
        return Standing(
            min(max(faded_.utility + change.utility, -1.0), 1.0),
            now,
            min(max(faded_.confidence + change.confidence, 0.0), 1.0),
        )

    def voted(self, signal: str, now: float, policy: Feedback) -> "Standing":
        """What a vote of any signal makes of it. A duplicate is merged, and keeps a part of its utility."""
        if signal == "duplicate":
            faded_ = self.at(now, policy)
            return faded_._replace(utility=faded_.utility * policy.duplicate_utility)
        return self.after(change_of(signal, policy), now, policy)


def change_of(signal: str, policy: Feedback) -> Change:
    """What a signal adds. A duplicate adds nothing: it is merged."""
    match signal:
        case "helpful":
            return policy.helpful
        case "harmful":
            return policy.harmful
        case "outdated":
            return policy.outdated
        case _:
            return Change()


class Cast(NamedTuple):
    """A vote as it is kept."""

    id: str
    signal: str
    at: float
    body: Mapping[str, Any]

    @property
    def is_note(self) -> bool:
        """Whether it is no vote, and says what was there or set by hand."""
        return self.signal in (BASE, SET) and "policy" not in self.body

    @property
    def policy(self) -> Feedback | None:
        """What votes did when it was cast; older versions of Scalepan did not keep that."""
        return msgspec.convert(self.body["policy"], Feedback) if "policy" in self.body else None

    @property
    def before(self) -> Standing:
        """Where its claim stood."""
        return Standing.of(self.body["before"])


def history(connection: "DuckDBPyConnection", claim: str) -> tuple[Standing | None, list[Cast]]:
    """Where a claim stood before its first vote, and every vote that counts for it now, its own or moved to it."""
    first = connection.execute(
        f"SELECT body::TEXT FROM feedbacks WHERE (body->>'claim') = ? {IN_ORDER} LIMIT 1", [claim]
    ).fetchone()
    rows = connection.execute(
        f"SELECT id, signal, epoch(ts), body::TEXT FROM feedbacks WHERE claim_id = ? AND undone_at IS NULL {IN_ORDER}",
        [claim],
    ).fetchall()
    casts = [Cast(id_, signal, at, read_object(body)) for id_, signal, at, body in rows]
    return Standing.of(read_object(first[0])["before"]) if first else None, casts


def last_note(connection: "DuckDBPyConnection", claim: str) -> str | None:
    """The id of the vote or note that was the last about a claim."""
    row = connection.execute(
        f"SELECT id FROM feedbacks WHERE claim_id = ? AND (body->>'claim') = ? {IN_ORDER} DESC LIMIT 1",
        [claim, claim],
    ).fetchone()
    return row[0] if row else None


def gaps(connection: "DuckDBPyConnection", claim: str) -> list[tuple[str, str]]:
    """Votes and notes about a claim before which one is gone, each with the id of that."""
    return connection.execute(
        "WITH mine AS (SELECT id, body->>'previous' AS previous FROM feedbacks WHERE (body->>'claim') = ?) "
        "SELECT id, previous FROM mine WHERE previous NOT IN (SELECT id FROM mine) ORDER BY id",
        [claim],
    ).fetchall()


def home(connection: "DuckDBPyConnection", claim: str) -> str | None:
    """Where the votes for a claim count: with the one that it was merged into, and that one, and so on."""
    seen: set[str] = set()
    while claim not in seen:
        seen.add(claim)
        row = connection.execute("SELECT merged_into FROM claims WHERE id = ?", [claim]).fetchone()
        if row is None:
            return None
        claim = row[0] or claim
    return claim


def replay(start: Standing, casts: Iterable[Cast], otherwise: Feedback) -> Standing:
    """The votes one after the other, each under the policy that it was cast under, else under `otherwise`."""
    standing = start
    for cast in casts:
        if cast.signal == SET:
            standing = standing._replace(confidence=cast.body["confidence"])
        elif cast.signal != BASE:
            standing = standing.voted(cast.signal, cast.at, cast.policy or otherwise)
    return standing
