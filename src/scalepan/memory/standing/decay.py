"""Decay, told: time halves utility and quality without anybody writing; once a day an event says what it did.

The numbers are computed from time whenever they are read (contract memory.42), so the event is a report:
what they were worth on average when the last one was written, and now. A day on which nobody
recalls anything has none; the next one covers it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.memory.claim import moment, written
from scalepan.memory.state import memory_state
from scalepan.policy.retrieval import Feedback
from scalepan.store.operation import Operation, commits
from scalepan.store.own import AddEvent
from scalepan.store.request import Who

if TYPE_CHECKING:
    from scalepan.store import Here


MOST_TOLD = 10_000
"""How many are remembered; one that is asked for again finds its event in the table."""


class TellDecay(msgspec.Struct, frozen=True):
    """Whose claims, as of when, and how fast they fade."""

    who: Who
    now: float
    feedback: Feedback
    request_id: str


class Told(msgspec.Struct, frozen=True):
    """It is done."""


def tell_decay_in_passing(here: "Here", who: Who, now: float, feedback: Feedback) -> None:
    """Have today's event written, if this owner has not seen to that. Nobody waits for it."""
    told, key = memory_state(here).decay_told, (who.tenant, who.project, written(now)[:10])
    if key not in told:
        if len(told) >= MOST_TOLD:
            told.clear()
        told.add(key)
        here.commit_later(TELL_DECAY, TellDecay(who, now, feedback, here.id))


TELL_DECAY = Operation("memory.tell_decay", TellDecay, Told, internal=True)


@commits(TELL_DECAY)
def tell_decay(here: "Here", requests: Sequence[TellDecay]) -> list[Told]:
    """Write the events of today that are not there yet."""
    for request in requests:
        who, day = request.who, written(request.now)[:10]
        last = here.events.last_decay(who.tenant, who.project)
        if last is None or last[:10] < day:
            payload = {"decay": day, "project": who.project, "at": written(request.now), "since": last}
            payload |= _fading(here, request, last)
            here.events.add([AddEvent("critic", payload, who.tenant, request.request_id, who.trace_id)])
    return [Told()] * len(requests)


def _fading(here: "Here", request: TellDecay, last: str | None) -> dict[str, Any]:
    """How many claims have something to lose, and the mean size of that before and now. Harm fades as use does."""
    half_lives = {
        "utility": request.feedback.utility_half_life_days,
        "quality": request.feedback.quality_half_life_days,
    }
    since = moment(last) if last is not None else None
    who, now = request.who, request.now
    utility = here.claims.decayed("utility", half_lives["utility"], since, now, who.tenant, who.project)
    quality = here.claims.decayed("quality", half_lives["quality"], since, now, who.tenant, who.project)
    return {"half_life_days": half_lives, "utility": utility._asdict(), "quality": quality._asdict()}
