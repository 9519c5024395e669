"""Files of traces, valued one after the other: the result of each row, and a summary."""

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO, NamedTuple

from scalepan.draw import Bins
from scalepan.score import Score
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers import BadRow, read_jsonl
from scalepan.trace.value import TraceValuer

TOP = 20


class Valued(NamedTuple):
    """A trace and its value."""

    trace: ReasoningTrace
    score: Score

    @property
    def value(self) -> float:
        """The number; a trace that could be read always has one."""
        return float(self.score)


def value_stream(
    stream: BinaryIO, name: str, valuer: TraceValuer, *, strict: bool = False
) -> Iterator[Valued | BadRow]:
    """Every row of a file in its order; with `strict` the first bad one is raised."""
    rows = read_jsonl(stream, name)
    while some := list(islice(rows, valuer.batch_size)):
        scores = valuer.evaluate_many([row.trace for row in some if not isinstance(row, BadRow)])
        for row in some:
            if not isinstance(row, BadRow):
                yield Valued(row.trace, next(scores))
            elif strict:
                raise row.error
            else:
                yield row


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
