"""Which traces of a long run are kept to be shown? All of a short one; else the best, the worst and a random sample."""

import heapq
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import msgspec

from scalepan.score import Score

HELD_TEXT = 4000
"""How much of an objective is held, in characters."""


class HeldText(NamedTuple):
    """The beginning of a text that may be very long, and whether there was more."""

    text: str
    cut: bool


def held(text: str) -> HeldText:
    """A text within bounds. It is redacted when it is shown, which needs more of it than is shown."""
    return HeldText(text[:HELD_TEXT], len(text) > HELD_TEXT)


def bounded(name: str) -> str:
    """A name that a log gives to something; a very long one without its end, and still long enough to show that."""
    return name if len(name) <= HELD_TEXT else name[: HELD_TEXT + 1]


class ListedTrace(msgspec.Struct, frozen=True, kw_only=True):
    """A trace that may be shown: its score and what it was about, without its steps."""

    number: int
    """In the order of the run, from 1."""
    id: str
    score: Score
    value: float
    passed: bool
    objective: HeldText
    domain: str
    format: str
    project: str | None
    model: str | None
    sub_agent: bool
    day: str | None
    steps: int
    calls: int
    answered: int
    failed: int
    recoveries: int
    file: str
    line: int


class ListSizes(NamedTuple):
    """How many traces are kept: `whole` of a run that has no more than that, else so many of each."""

    whole: int
    best: int
    worst: int
    sample: int


FOR_SCREEN = ListSizes(whole=40, best=20, worst=20, sample=0)
FOR_PAGE = ListSizes(whole=2000, best=800, worst=400, sample=800)


class Listing:
    """The traces to show, of a run of any length."""

    def __init__(self, sizes: ListSizes) -> None:
        self.sizes = sizes
        self.count = 0
        self._whole: list[ListedTrace] = []
        # The number breaks ties, so that traces are never compared; the earlier of two equals stays.
        self._best: list[tuple[float, int, ListedTrace]] = []
        self._worst: list[tuple[float, int, ListedTrace]] = []
        self._sample: list[ListedTrace] = []
        self._random = Random(0)  # noqa: S311 - the same run shows the same sample

    def add(self, value: float, make: Callable[[], ListedTrace]) -> None:
        """Offer a trace; it is made into a row only if it is kept."""
        self.count += 1
        if self.count <= self.sizes.whole:
            self._whole.append(make())
            return
        if self._whole:
            self._split()
        row: ListedTrace | None = None
        if len(self._best) < self.sizes.best or value > self._best[0][0]:
            row = make()
            _push(self._best, (value, -self.count, row), self.sizes.best)
        if len(self._worst) < self.sizes.worst or -value > self._worst[0][0]:
            row = row or make()
            _push(self._worst, (-value, -self.count, row), self.sizes.worst)
        place = self._random.randrange(self.count) if self.sizes.sample else 0
        if place < self.sizes.sample:
            self._sample[place] = row or make()

    @property
    def complete(self) -> bool:
        """Whether every trace is among `rows`."""
        return self.count <= self.sizes.whole

    @property
    def rows(self) -> list[ListedTrace]:
        """Every row that is kept, once, in the order of the run."""
        kept = [*self._whole, *self._sample, *(item[2] for item in (*self._best, *self._worst))]
        return sorted({row.number: row for row in kept}.values(), key=lambda row: row.number)

    def best(self, count: int) -> list[ListedTrace]:
        """The best, best first; of equals the earlier."""
        return sorted(self.rows, key=lambda row: (-row.value, row.number))[:count]

    def worst(self, count: int) -> list[ListedTrace]:
        """The worst, worst first; of equals the earlier."""
        return sorted(self.rows, key=lambda row: (row.value, row.number))[:count]

    def _split(self) -> None:
        """The run turns out to be long: what was kept whole becomes the first of the best, the worst and the sample."""
        for row in self._whole:
            _push(self._best, (row.value, -row.number, row), self.sizes.best)
            _push(self._worst, (-row.value, -row.number, row), self.sizes.worst)
        self._sample = self._random.sample(self._whole, self.sizes.sample)
        self._whole = []


def _push(heap: list[tuple[float, int, ListedTrace]], item: tuple[float, int, ListedTrace], most: int) -> None:
    if len(heap) < most:
        heapq.heappush(heap, item)
    elif heap:
        heapq.heappushpop(heap, item)
