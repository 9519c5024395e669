"""What a run of valued traces comes to: counts, spread, the first rows and the best, in constant memory."""

import heapq
from typing import NamedTuple

from scalepan.draw import Bins
from scalepan.score import Score
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers import BadRow

TOP = 20


class Valued(NamedTuple):
    """A trace and its value."""

    trace: ReasoningTrace
    score: Score

    @property
    def value(self) -> float:
        """The number; a trace that could be read always has one."""
        return float(self.score)


class Summary:
    """The summary of a run of any length: counts, spread, the first rows and the best."""

    def __init__(self) -> None:
        self.bins = Bins()
        self.count = 0
        self.shared = 0
        self.bad = 0
        self.unmeasured: dict[str, int] = {}
        """How many traces had a part that was not measured, by part."""
        self.first: list[Valued] = []
        self._top: list[tuple[float, int, Valued]] = []

    def add(self, row: Valued | BadRow) -> None:
        """Add one row."""
        if isinstance(row, BadRow):
            self.bad += 1
            return
        self.count += 1
        self.shared += row.score.details.gate.verdict == "share"
        self.bins.add(row.value)
        for part in row.score.parts:
            if part.source != "measured":
                self.unmeasured[part.name] = self.unmeasured.get(part.name, 0) + 1
        if len(self.first) < 2 * TOP:
            self.first.append(row)
        # The count breaks ties, so that rows themselves are never compared; the earlier of two equals stays.
        heapq.heappush(self._top, (row.value, -self.count, row))
        if len(self._top) > TOP:
            heapq.heappop(self._top)

    @property
    def top(self) -> list[Valued]:
        """The best rows, best first."""
        return [row for _, _, row in sorted(self._top, key=lambda item: item[:2], reverse=True)]
