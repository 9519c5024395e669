"""Rows about claims that are gone: found by `scalepan doctor`, removed by `scalepan memory rescan`.

Nothing that this version writes leaves any. A store that was damaged, edited by hand or written by an older version may
have some, and what is left of a forgotten claim is still a trace of it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from scalepan.memory.recall.boundary import check_whole
from scalepan.memory.recall.saved import drop
from scalepan.memory.requests import ORPHANS, SWEEP, OrphanCounts, Sweep
from scalepan.memory.state import memory_state
from scalepan.store.operation import Operation, changes, commits
from scalepan.store.own import AddEvent, Nothing
from scalepan.store.request import Who

if TYPE_CHECKING:
    from scalepan.store import Here


@changes(ORPHANS)
def orphans(here: "Here", _: Nothing) -> OrphanCounts:
    """Count them, in all tenants."""
    with here.snapshot():
        found = here.orphans.count()
    found["index"] = here.commit(COUNT_INDEX, Nothing()).rows.get("index", 0)
    return OrphanCounts({table: count for table, count in found.items() if count})


COUNT_INDEX = Operation("memory.count_index", Nothing, OrphanCounts, internal=True)


@commits(COUNT_INDEX)
def count_index(here: "Here", requests: Sequence[Nothing]) -> list[OrphanCounts]:
    """The same in the index, between two writes: it follows each of them."""
    return [OrphanCounts({"index": len(_astray(here))})] * len(requests)


def _astray(here: "Here") -> set[str]:
    """Claims that are in the index and not in the table, or the other way around."""
    index = memory_state(here).built()
    if index is None:
        return set()
    there = here.claims.indexable_ids()
    with index.lock:
        return index.columns.row_of.keys() ^ there


class _Sweep(msgspec.Struct, frozen=True):
    who: Who
    request_id: str


@changes(SWEEP)
def sweep(here: "Here", request: Sweep) -> OrphanCounts:
    """Remove them, in all tenants: they are nobody's."""
    rules = memory_state(here).rules(here, request)
    check_whole(request.who, "rescan", rules.policy.boundary)
    done: OrphanCounts = here.commit(REMOVE_ORPHANS, _Sweep(request.who, here.id))
    return done


REMOVE_ORPHANS = Operation("memory.remove_orphans", _Sweep, OrphanCounts, alone=True, internal=True)


@commits(REMOVE_ORPHANS)
def remove_orphans(here: "Here", requests: Sequence[_Sweep]) -> list[OrphanCounts]:
    """The removal itself. It shares its transaction with nobody, so that it sees every response that is kept."""
    (request,) = requests
    removed = here.orphans.remove()
    astray = sorted(_astray(here))
    found = {table: count for table, count in {**removed, "index": len(astray)}.items() if count}
    if found:
        here.events.add(
            [
                AddEvent(
                    "ingest",
                    {"orphans": found},
                    request.who.tenant,
                    request.request_id,
                    request.who.trace_id,
                    request.who.project,
                )
            ]
        )
        here.claims.forget_saved_index()
        drop(here.path)  # before the commit, as in forgetting
        here.after_commit(lambda: memory_state(here).follow(here, astray))
    return [OrphanCounts(found)]
