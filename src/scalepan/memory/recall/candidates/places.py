"""Where do the index's rows stand? Conversation, turn, speaker, source, position and time, as arrays by row number.

Nothing is held until a claim says something of it, and what needs sorting is sorted when it is first asked for.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from scalepan.memory.claim import Claim

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]
    Rows = NDArray[np.int64]

Group = Literal["conversation", "source", "speaker"]
Line = Literal["conversation", "source"]
"""What has an order: turns of a conversation, positions in a source."""
NOWHERE = -1
"""Stands for none in every column but `said_at`, which has NaN."""
_COLUMNS: dict[str, tuple[Any, float]] = {
    "conversation": (np.int32, NOWHERE),
    "turn": (np.int32, NOWHERE),
    "speaker": (np.int32, NOWHERE),
    "source": (np.int32, NOWHERE),
    "position": (np.int32, NOWHERE),
    "said_at": (np.float64, np.nan),
}
_NUMBERED_BY = {"conversation": "turn", "source": "position"}


class ClaimPlaces:
    """Rows are those of the claim columns. Rows that were removed keep what they had: masks leave them out."""

    def __init__(self) -> None:
        self.known = False
        """Whether any row ever said where it stands. If not, every column is NOWHERE."""
        self._rows = 0
        self._columns = {name: np.zeros(0, dtype) for name, (dtype, _) in _COLUMNS.items()}
        self._codes: dict[tuple[str, ...], int] = {}
        self._speakers: dict[str, int] = {}
        self._order: dict[Line, Rows] = {}
        self._rank: dict[Line, Rows] = {}

    def add(self, claims: Sequence[Claim], said_at: Sequence[float | None]) -> None:
        """Take in claims on new rows."""
        start, self._rows = self._rows, self._rows + len(claims)
        self._order.clear()
        here = [i for i, claim in enumerate(claims) if _has_place(claim)]
        if not here:
            return
        self.known = True
        self._reserve()
        rows = [start + i for i in here]
        placed = [claims[i] for i in here]
        self._columns["conversation"][rows] = [self._code("c", claim, claim.conversation) for claim in placed]
        self._columns["source"][rows] = [self._code("s", claim, claim.provenance.source) for claim in placed]
        self._columns["speaker"][rows] = [self._speaker(claim.speaker) for claim in placed]
        self._columns["turn"][rows] = [NOWHERE if claim.turn is None else claim.turn for claim in placed]
        self._columns["position"][rows] = [NOWHERE if claim.position is None else claim.position for claim in placed]
        times = [said_at[i] for i in here]
        self._columns["said_at"][rows] = [np.nan if time is None else time for time in times]

    def column(self, name: str) -> "NDArray[Any]":
        """One column, all rows. Equal codes of `conversation` and `source` belong together; never across projects."""
        self._reserve()
        return self._columns[name][: self._rows]

    @property
    def speakers(self) -> dict[str, int]:
        """The code of each speaker in the column, by its name in lower case. All tenants': look only at own rows."""
        return self._speakers

    def beside(self, line: Line, rows: "Rows", step: int, alive: "NDArray[np.bool_]", ids: Sequence[str]) -> "Rows":
        """The rows `step` turns on (back, if below 0) in their conversation, or positions in their source; or NOWHERE.

        `ids` decide between equal numbers, so that the order in which claims were added does not. Whether the caller
        may read a row that comes back is for the caller to ask.
        """
        nowhere = np.full(len(rows), NOWHERE, dtype=np.int64)
        if not self.known:
            return nowhere
        if line not in self._order:
            self._sort(line, alive, ids)
        order, group = self._order[line], self.column(line)
        rows = np.asarray(rows, dtype=np.int64)
        at = np.where(rows >= 0, self._rank[line][rows], NOWHERE)
        there = at + step
        asked = np.flatnonzero((at >= 0) & (there >= 0) & (there < len(order)))
        found = order[there[asked]]
        fits = group[found] == group[rows[asked]]
        nowhere[asked[fits]] = found[fits]
        return nowhere

    def _sort(self, line: Line, alive: "NDArray[np.bool_]", ids: Sequence[str]) -> None:
        """By number; without numbers, or between equal ones, by time; then by id."""
        group, number, time = self.column(line), self.column(_NUMBERED_BY[line]), self.column("said_at")
        placed = np.flatnonzero(alive & (group >= 0) & ((number >= 0) | ~np.isnan(time)))
        keys = (np.nan_to_num(time[placed], nan=-np.inf), number[placed], group[placed])
        order = np.lexsort(keys)
        alike = np.ones(max(len(order) - 1, 0), dtype=bool)
        for key in keys:
            alike &= key[order[1:]] == key[order[:-1]]
        if alike.any():
            tied = np.union1d(order[1:][alike], order[:-1][alike])
            names = {i: ids[int(placed[i])] for i in tied.tolist()}
            by_id = sorted(names, key=names.__getitem__)
            turn = np.zeros(len(placed), dtype=np.int64)
            turn[by_id] = np.arange(len(by_id))
            order = np.lexsort((turn, *keys))
        self._order[line] = placed[order]
        self._rank[line] = np.full(self._rows, NOWHERE, dtype=np.int64)
        self._rank[line][self._order[line]] = np.arange(len(order))

    def changed(self) -> None:
        """Rows were removed: the next look sorts again."""
        self._order.clear()

    def _code(self, sort: str, claim: Claim, name: str | None) -> int:
        if name is None:
            return NOWHERE
        key = (sort, claim.tenant, claim.project or "", claim.session or "", name)
        return self._codes.setdefault(key, len(self._codes))

    def _speaker(self, name: str | None) -> int:
        return NOWHERE if name is None else self._speakers.setdefault(name.casefold(), len(self._speakers))

    def _reserve(self) -> None:
        have = len(self._columns["turn"])
        if self._rows > have:
            more = max(self._rows, 2 * have if self.known else 0) - have
            for name, (dtype, empty) in _COLUMNS.items():
                self._columns[name] = np.concatenate([self._columns[name], np.full(more, empty, dtype)])


def _has_place(claim: Claim) -> bool:
    return (
        claim.conversation is not None
        or claim.provenance.source is not None
        or claim.said_at is not None
        or claim.speaker is not None
    )
