"""Forgetting: a claim leaves no trace in any table, nor in the index. Ids in events and requests go too."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.errors import NotFoundError
from scalepan.memory.recall.boundary import reach_to_change
from scalepan.memory.recall.candidates.side import Sides
from scalepan.memory.recall.index import refresh
from scalepan.memory.recall.saved import drop
from scalepan.memory.requests import FORGET, Forget, Forgotten
from scalepan.memory.state import memory_state
from scalepan.store.ids import FORGOTTEN
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.own import AddEvent
from scalepan.store.reach import Reach
from scalepan.store.request import Who

if TYPE_CHECKING:
    from scalepan.store import Here

_RECALLED = ("claims", "below_threshold")
"""Lists of ids in the event about a recall."""


class _Forget(msgspec.Struct, frozen=True):
    claims: list[str]
    within: Reach
    who: Who
    request_id: str


@changes(FORGET)
def forget(here: "Here", request: Forget) -> Forgotten:
    """Forget claims. Ids that are not there are passed over; if none is, that is an error."""
    rules = memory_state(here).rules(here, request)
    within = reach_to_change(request.who, "forget", rules.policy.boundary)
    # What is there is looked up by the writer: a call that is repeated after its owner died finds the claims gone.
    done: Forgotten = here.commit(ERASE, _Forget(request.claims, within, request.who, here.id))
    return done


ERASE = Operation("memory.erase", _Forget, Forgotten, alone=True, internal=True)


@commits(ERASE)
def erase(here: "Here", requests: Sequence[_Forget]) -> list[Forgotten]:
    """Take claims out of every table, and out of the index when that is committed.

    Alone in its transaction: what other writes of it answered is kept at its end, and would name the claims again.
    """
    ids: list[str] = []
    replacing: list[str] = []
    answers = []
    for request in requests:
        found = _found(here, request)
        replacing += here.claims.erase(found)
        payload = {"forgotten": len(found)}
        here.events.add(
            [
                AddEvent(
                    "ingest", payload, request.who.tenant, request.request_id, request.who.trace_id, request.who.project
                )
            ]
        )
        answers.append(Forgotten(len(found)))
        ids += found

    def out_of_index() -> None:
        keep = memory_state(here)
        index = keep.built()
        if index is not None:
            index.remove(ids)
            refresh(here, index, replacing)
        keep.sides = Sides()  # after that: nobody copies them aside any more

    here.after_commit(out_of_index)
    drop(here.path)  # before the commit: whoever dies between the two leaves no text behind
    return answers


def _found(here: "Here", request: _Forget) -> list[str]:
    found = here.claims.reachable(request.within, request.claims)
    if not found:
        raise NotFoundError(
            f"no claim '{request.claims[0]}' here" if len(request.claims) == 1 else "none of them is here"
        )
    return [row.id for row in found]


def without_gone(here: "Here", payloads: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is about to be kept about recalled claims, without the ids of those that were forgotten meanwhile."""
    there = here.claims.existing(
        sorted({id_ for payload in payloads for key in _RECALLED for id_ in payload.get(key, ())})
    )
    return [
        {
            key: [id_ if id_ in there else FORGOTTEN for id_ in value] if key in _RECALLED else value
            for key, value in payload.items()
        }
        for payload in payloads
    ]
