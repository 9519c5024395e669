"""What is looked for, and what a level finds."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from scalepan.memory.recall.deadline import Deadline
from scalepan.memory.recall.index import Index
from scalepan.policy.retrieval import Retrieval
from scalepan.store.reach import Reach

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from scalepan.memory.recall.candidates.side import Sides
    from scalepan.store.duckdb.search import Search


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query, ready for every level: what may be read, and what is asked."""

    index: Index
    tables: "Search"
    reach: Reach
    kinds: tuple[str, ...] | None
    query: str
    """Redacted."""
    normal: str
    """In normal form, for ILIKE."""
    terms: list[str]
    vector: "NDArray[np.float32]"
    """Of no length if there is no encoder; then no level looks for it."""
    policy: Retrieval
    deadline: Deadline
    sides: "Sides"

    def mask(self) -> "NDArray[np.bool_]":
        """The rows that may be read. It is true as long as the index's lock is held."""
        return self.index.columns.mask(self.reach, self.kinds)

    def one_state(self) -> AbstractContextManager[object]:
        """Hold this from the first look at the index to the last, so that all of them see the same claims.

        Only where the index does all the work: DuckDB's levels take long, and look at tables that are a moment ahead
        or behind in any case. Who may see a claim is decided once more when it is weighed.
        """
        by_index = self.policy.text.level == self.policy.vectors.level == "index"
        return self.index.lock if by_index else nullcontext()


class Hit(NamedTuple):
    """A claim that a level found: its raw score, and its place there, counted from 1."""

    id: str
    raw: float
    rank: int


def ranked(index: Index, found: list[tuple[int, float]]) -> list[Hit]:
    """Rows and scores, best first, as hits; without those that were removed since they were found."""
    there = [(id_, raw) for row, raw in found if (id_ := index.columns.ids[row])]
    return [Hit(id_, raw, rank) for rank, (id_, raw) in enumerate(there, 1)]
