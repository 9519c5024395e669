"""Which of the index's rows are true at a moment, and not replaced by another?"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]


class Validity(NamedTuple):
    """From when to when a claim is true, in seconds since 1970, and which one it replaces."""

    begins: float = -inf
    ends: float = inf
    supersedes: str | None = None


ALWAYS = Validity()


class Successions:
    """Which rows replace which claims. Rows are those of the claim columns."""

    def __init__(self) -> None:
        self._replaces: dict[int, str] = {}
        self._replacing: dict[str, set[int]] = {}

    def add(self, start: int, claims: Sequence[Validity]) -> None:
        """Take in claims on new rows."""
        for row, one in enumerate(claims, start):
            if one.supersedes is not None:
                self._replaces[row] = one.supersedes
                self._replacing.setdefault(one.supersedes, set()).add(row)

    def remove(self, rows: Iterable[int]) -> None:
        """Let go of rows."""
        for row in rows:
            older = self._replaces.pop(row, None)
            if older is not None:
                self._replacing[older].discard(row)
                if not self._replacing[older]:
                    del self._replacing[older]

    def replaced_by(self, row: int) -> str | None:
        """The claim that a row replaces."""
        return self._replaces.get(row)

    def replacing(self, id_: str) -> Collection[int]:
        """The rows that replace a claim."""
        return self._replacing.get(id_, ())

    def replaced(self, reached: "Mask", begun: "Mask", row_of: Mapping[str, int]) -> list[int]:
        """The rows that others replaced, of those that a caller may read and that have begun to be true.

        That is for good: it stays so when the newer one ends, or is replaced itself.
        """
        return [
            row_of[older] for row, older in self._replaces.items() if older in row_of and reached[row] and begun[row]
        ]
