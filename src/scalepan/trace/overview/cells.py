"""Traces by domain, project, week, format, model and kind of agent, counted together and added up by each at the end.

One counter per combination that occurs costs one addition per trace instead of one per table.
"""

from collections.abc import Iterator

from scalepan.trace.overview.listing import bounded
from scalepan.trace.overview.tally import Tally, TraceFacts

DIMENSIONS = ("domain", "project", "week", "format", "model", "agent")
MOST_NAMES = 500
"""How many names of each dimension are told apart."""
MOST_CELLS = 4000
OTHERS = "others"
Name = str | None
"""None where the log does not say."""
Key = tuple[Name, Name, Name, Name, Name, Name]


class OtherNames(str):
    """Stands for all names beyond `MOST_NAMES`; no name in a log is equal to it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = str.__hash__


REST = OtherNames(OTHERS)


class Cells:
    """The tallies of every combination."""

    def __init__(self) -> None:
        self._cells: dict[Key, Tally] = {}
        self._names: tuple[set[Name], ...] = tuple(set() for _ in DIMENSIONS)

    def add(self, key: Key, facts: TraceFacts) -> None:
        """Count a trace under its names, in the order of `DIMENSIONS`."""
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cell(key)
        cell.add(facts)

    def by(self, dimension: str) -> dict[Name, Tally]:
        """The tallies of one dimension."""
        place = DIMENSIONS.index(dimension)
        sums: dict[Name, Tally] = {}
        for key, cell in self._cells.items():
            sums.setdefault(key[place], Tally()).merge(cell)
        return sums

    def total(self) -> Tally:
        """All of them."""
        total = Tally()
        for cell in self._cells.values():
            total.merge(cell)
        return total

    def __len__(self) -> int:
        return len(self._cells)

    def _cell(self, key: Key) -> Tally:
        """The counter of a new combination, or of one that stands for it once there are too many."""
        known: Key = tuple(self._known(key))  # type: ignore[assignment]
        if known not in self._cells and len(self._cells) >= MOST_CELLS:
            # Formats and kinds of agents are few: they stay apart. The rest is too much to hold.
            known = (REST, REST, REST, known[3], REST, known[5])
        return self._cells.setdefault(known, Tally())

    def _known(self, key: Key) -> Iterator[Name]:
        for whole, names in zip(key, self._names, strict=True):
            name = bounded(whole) if whole is not None else None
            if name is None or name in names:
                yield name
            elif len(names) < MOST_NAMES:
                names.add(name)
                yield name
            else:
                yield REST
