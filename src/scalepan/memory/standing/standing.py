"""What a claim has earned: what a vote makes of it, and what all its votes together do (contract memory.38)."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from scalepan.memory.claim import SECONDS_A_DAY
from scalepan.memory.halflife import faded
from scalepan.policy.retrieval import Change, Feedback
from scalepan.store.receipts import read_object
from scalepan.store.rows import FeedbackRow

if TYPE_CHECKING:
    from scalepan.store import Here

BASE, SET = "base", "set"
"""Beside votes: where a claim stood before another was merged into it, and what its confidence was set to by hand."""


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

    @classmethod
    def of(cls, row: FeedbackRow) -> "Cast":
        """A row of the table."""
        return cls(row.id, row.signal, row.ts, read_object(row.body))

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


def history(here: "Here", claim: str) -> tuple[Standing | None, list[Cast]]:
    """Where a claim stood before its first vote, and every vote that counts for it now, its own or moved to it."""
    first = here.votes.first_about(claim)
    start = Standing.of(read_object(first.body)["before"]) if first is not None else None
    return start, [Cast.of(row) for row in here.votes.counting_for(claim)]


def replay(start: Standing, casts: Iterable[Cast], otherwise: Feedback) -> Standing:
    """The votes one after the other, each under the policy that it was cast under, else under `otherwise`."""
    standing = start
    for cast in casts:
        if cast.signal == SET:
            standing = standing._replace(confidence=cast.body["confidence"])
        elif cast.signal != BASE:
            standing = standing.voted(cast.signal, cast.at, cast.policy or otherwise)
    return standing
