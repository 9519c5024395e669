"""Do index and tables agree? Compared between two writes, so that nothing changes meanwhile."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.memory.recall.index import Index, build
from scalepan.memory.requests import AGREE, Agree, Agreement
from scalepan.memory.state import memory_state
from scalepan.store.operation import Operation, changes, commits

if TYPE_CHECKING:
    from scalepan.store import Here

SHOWN = 5
_NUMBERS = ("utility", "utility_at", "confidence", "quality", "quality_at", "ts", "class_", "scope", "kind")


class _Compare(msgspec.Struct, frozen=True):
    index: Any


@changes(AGREE)
def agree(here: "Here", request: Agree) -> Agreement:
    """Compare the index with one that is made anew from the tables."""
    keep = memory_state(here)
    rules = keep.rules(here, request)
    done: Agreement = here.commit(COMPARE, _Compare(keep.index(here, rules.policy)))
    return done


COMPARE = Operation("memory.compare", _Compare, Agreement, alone=True, internal=True)


@commits(COMPARE)
def compare(here: "Here", requests: Sequence[_Compare]) -> list[Agreement]:
    """The comparison itself, between two writes."""
    return [_compared(here, request.index) for request in requests]


def _compared(here: "Here", index: Index) -> Agreement:
    fresh = Index(index.morphology, index.redactor)
    build(here, fresh)
    with index.lock:
        mine, theirs = index.columns.row_of, fresh.columns.row_of
        problems = [f"{id_} is in the index and not in the table" for id_ in sorted(mine.keys() - theirs.keys())]
        problems += [f"{id_} is in the table and not in the index" for id_ in sorted(theirs.keys() - mine.keys())]
        for id_ in sorted(mine.keys() & theirs.keys()):
            problems += _differences(id_, index, mine[id_], fresh, theirs[id_])
    return Agreement(len(theirs), problems[:SHOWN])


def _differences(id_: str, index: Index, row: int, fresh: Index, other: int) -> list[str]:
    found = []
    for name in _NUMBERS:
        one, two = float(index.columns.column(name)[row]), float(fresh.columns.column(name)[other])
        # Times went through microseconds, and NaN stands for none.
        if abs(one - two) > 1e-5 or (one != one) != (two != two):
            found.append(f"{id_}: {name} is {one} in the index and {two} in the table")
    if index.columns.content(row) != fresh.columns.content(other):
        found.append(f"{id_}: its text or entities differ")
    if index.words.bag(row) != fresh.words.bag(other):
        found.append(f"{id_}: its terms differ")
    if index.vectors.has(row) != fresh.vectors.has(other):
        found.append(f"{id_}: the index has {'a' if index.vectors.has(row) else 'no'} vector, the table not so")
    elif index.vectors.has(row) and abs(index.vectors.of([row]) - fresh.vectors.of([other])).max() > 1e-6:
        found.append(f"{id_}: its vectors differ")
    return found
