"""A text that was searched before, and has new cuts since: only what is near them can have become something else.

What was found before is cut now. A word or a number with no new cut in it or near it is what it was.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from karat.redact.plain import MARK
from karat.redact.view import Cut, View

NEAR = 64
"""What `search` is asked for is no longer than this, and no farther from what speaks for it or against it."""
FAR = 256
"""What `search_far` is asked for is no farther from what speaks for it or against it."""
LONGEST_HEAD = 40
"""No token has a longer prefix, edge and all."""
LONGEST_TOKEN = 2100
"""The longest of those tokens that have a longest length, about."""
_IN_NUMBERS = "0123456789 +-./()\n"
_MARK = re.compile(MARK)


class SearchedView(View):
    """The text with more cuts than in the view that was searched before."""

    __slots__ = ("_near", "_new")

    def __init__(self, cuts: Sequence[Cut], searched: View) -> None:
        super().__init__(searched.plain, cuts)
        self.longest, self.numbers = searched.longest, searched.numbers
        old = set(searched.cuts)
        marked = [mark.start() for mark in _MARK.finditer(self.text)]
        self._new = [at for at, cut in zip(marked, cuts, strict=True) if cut not in old] if old else marked
        """Where the new cuts are."""
        self._near = list(self._around())

    def _count(self) -> None:
        """Once is enough: a cut makes no word longer and brings no digits together."""

    def search(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        return self._in(self._near, NEAR, pattern)

    def search_far(self, pattern: re.Pattern[str], reach: int) -> Iterator[re.Match[str]]:
        rows = self._rows(reach + FAR)
        return self._in(((max(0, first - reach), last + FAR) for first, last in rows), reach, pattern)

    def _in(self, parts: Iterable[tuple[int, int]], reach: int, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """What begins in one of the parts."""
        for start, end in parts:
            for match in pattern.finditer(self.text, start, end + reach):
                if match.start() >= end:
                    break
                yield match

    def parts(self, reach: int) -> Iterator[tuple[int, int]]:
        return ((max(0, first - reach), last + NEAR) for first, last in self._rows(reach + NEAR))

    def tokens(self, token: re.Pattern[str], head: re.Pattern[str]) -> Iterator[tuple[re.Match[str], int]]:
        """Every token that a new cut ends, or makes begin."""
        done = 0
        for first, last in self._rows(NEAR):
            # No token reaches across a space.
            floor = max(done, first - LONGEST_TOKEN)
            start = max(floor, self.text.rfind(" ", floor, first), self.text.rfind("\n", floor, first))
            done = last + NEAR
            for begin in head.finditer(self.text, start, done + LONGEST_HEAD):
                if begin.start() >= done:
                    break
                if match := token.match(self.text, begin.start()):
                    yield match, 0

    def _around(self) -> Iterator[tuple[int, int]]:
        """The parts of the text that have a new cut in them or near; what two cuts share comes once."""
        start = end = 0
        for first, last in self._rows(NEAR):
            # A part never begins inside a row of numbers: where one ends says where the next begins.
            begin = end + len(self.text[end : max(end, first - NEAR)].rstrip(_IN_NUMBERS))
            if begin > end:
                yield start, end
                start = begin
            end = last + NEAR
        yield start, end

    def _rows(self, reach: int) -> Iterator[tuple[int, int]]:
        """The new cuts, the first and the last of each row in which one is no farther than `reach` from the next."""
        new = self._new
        if new:
            wide = [number for number in range(1, len(new)) if new[number] - new[number - 1] > reach]
            for first, behind in zip([0, *wide], [*wide, len(new)], strict=True):
                yield new[first], new[behind - 1]
