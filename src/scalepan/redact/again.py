"""Searches a text again after new cuts: only text next to a new cut can match now and not before.

No rule sees past a cut, so the text between two cuts is searched by itself; equal texts between cuts are searched once,
and of a long text only both ends.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from scalepan.redact.plain import CUT, Plain
from scalepan.redact.view import Cut, View

SHORTEST = 6
"""The shortest match of any rule, with its context."""
NEAR = 512
"""The longest match with spaces that a cut can make possible, with its context; only rows of numbers are longer."""
MARGIN = 128
"""How far before a match a rule looks for a reason to reject it."""
LONG = 3 * NEAR
"""Up to this length a text between two cuts is searched as a whole."""

# A character outside of any row of numbers and extensions, then one that is in no token and no bare value.
_BREAK = re.compile(r"[^0-9\s+./()ーｰ\-ext内線][\s\"',;<>]")

Piece = tuple[int, int, int]
"""A part of the text: start, end, and the length of its margin, in which matches are ignored."""


class Excerpt(View):
    """The text next to cuts that are newer than the last search."""

    __slots__ = ("_at", "_margins", "_starts")

    def __init__(self, cuts: Sequence[Cut], searched: View) -> None:
        self.plain, self.cuts, self.whole = searched.plain, cuts, searched.whole
        text, old = self.plain.text, set(searched.cuts)
        # Only the first piece has no cut before it, and only the last has none after it.
        opening, ending, same = (0, 0, 0), (0, 0, 0), dict[tuple[str, int], list[int]]()
        for piece in _next_to(self.plain, cuts, [number for number, cut in enumerate(cuts) if cut not in old]):
            start, end, margin = piece
            if start == 0:
                opening = piece
            elif end == len(text):
                ending = piece
            else:
                same.setdefault((text[start:end], margin), []).append(start)
        pieces = [text[: opening[1]], *[piece for piece, _ in same], text[ending[0] : ending[1]]]
        self._at = list(accumulate([len(piece) + 1 for piece in pieces[:-1]], initial=0))
        """Where each piece begins in the excerpt."""
        self._starts = [[0], *same.values(), [ending[0]]]
        """Where each piece begins in the text."""
        self._margins = [0, *[margin for _, margin in same], ending[2]]
        self._read(CUT.join(pieces))

    def places(self, hits: list[Cut]) -> list[Cut]:
        placed = []
        for start, end, kind in hits:
            number = bisect_right(self._at, start) - 1
            at = self._at[number]
            if start - at >= self._margins[number]:
                placed += [(start - at + there, end - at + there, kind) for there in self._starts[number]]
        return self.plain.in_original(placed)


def _next_to(plain: Plain, cuts: Sequence[Cut], new: list[int]) -> Iterator[Piece]:
    """The text before and after each new cut."""
    ends, starts = [0, *[end for _, end, _ in cuts]], [*[start for start, _, _ in cuts], len(plain.original)]
    gaps = sorted({*new, *[number + 1 for number in new]})
    for start, end in [(ends[gap], starts[gap]) for gap in gaps if starts[gap] - ends[gap] >= SHORTEST]:
        first, last = plain.in_text(start), plain.in_text(end)
        if last - first <= LONG:
            yield first, last, 0
        else:
            yield from _both_ends(plain.text, first, last)


def _both_ends(text: str, start: int, end: int) -> list[Piece]:
    """Both ends of a long part of the text; no word and no row of numbers is split."""
    first = _BREAK.search(text, start + NEAR, end)
    head = first.end() if first else end
    tail = _last_break(text, start, end - NEAR) - MARGIN
    return [(start, head, 0), (tail, end, MARGIN)] if head < tail else [(start, end, 0)]


def _last_break(text: str, start: int, end: int) -> int:
    """The position after the last break, or the start if there is none."""
    reach = NEAR
    while end - reach > start:
        breaks = [match.end() for match in _BREAK.finditer(text, end - reach, end)]
        if breaks:
            return breaks[-1]
        reach *= 2
    return start
