"""A text that was searched before and has new cuts since: only what stands next to one can have become something else.

No rule sees past a mark, so the text between two cuts is searched by itself; where the same stands between several, it
is searched once. Of a long one only the lines near the cuts are.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from karat.redact.plain import MARK, Plain
from karat.redact.view import Cut, View

SHORTEST = 6
"""Nothing that a rule finds is shorter, with what gives it away."""
NEAR = 512
"""What reaches from one line into another, as from a name to its value, is shorter; all but private keys, in which no
cut makes a difference."""
LONG = 2 * NEAR
"""What is no longer than this is searched as a whole."""


class Excerpt(View):
    """What stands next to the cuts that were not there when the text was searched before."""

    __slots__ = ("_at", "_starts")

    def __init__(self, cuts: Sequence[Cut], searched: View) -> None:
        self.plain, self.cuts = searched.plain, cuts
        text, old = self.plain.text, set(searched.cuts)
        # Only the first has no mark before it, and only the last none behind it.
        first, last, between = (0, 0), (0, 0), dict[str, list[int]]()
        for start, end in _next_to(self.plain, cuts, [number for number, cut in enumerate(cuts) if cut not in old]):
            if start == 0:
                first = start, end
            elif end == len(text):
                last = start, end
            else:
                between.setdefault(text[start:end], []).append(start)
        pieces = [text[slice(*first)], *between, text[slice(*last)]]
        self._at = list(accumulate([len(piece) + 1 for piece in pieces[:-1]], initial=0))
        """Where each piece begins here."""
        self._starts = [[first[0]], *between.values(), [last[0]]]
        """Where each piece stands in the text."""
        self._read(MARK.join(pieces))

    def places(self, hits: list[Cut]) -> list[Cut]:
        placed = []
        for start, end, kind in hits:
            number = bisect_right(self._at, start) - 1
            at = self._at[number]
            placed += [(start - at + there, end - at + there, kind) for there in self._starts[number]]
        return self.plain.in_original(placed)


def _next_to(plain: Plain, cuts: Sequence[Cut], new: list[int]) -> Iterator[tuple[int, int]]:
    """All that stands before or behind one of the new cuts."""
    ends, starts = [0, *[end for _, end, _ in cuts]], [*[start for start, _, _ in cuts], len(plain.original)]
    gaps = sorted({*new, *[number + 1 for number in new]})
    for start, end in [(ends[gap], starts[gap]) for gap in gaps if starts[gap] - ends[gap] >= SHORTEST]:
        first, last = plain.in_text(start), plain.in_text(end)
        if last - first <= LONG:
            yield first, last
        else:
            yield from _both_ends(plain.text, first, last)


def _both_ends(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Of a long part of the text the lines near where it starts and ends."""
    head, tail = text.find("\n", start + NEAR, end), text.rfind("\n", start, end - NEAR)
    return [(start, head), (tail, end)] if 0 <= head < tail else [(start, end)]
