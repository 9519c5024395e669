"""A text in plain letters: full-width ones and their like become what they stand for, sign for sign."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from karat.redact.edges import never_joined
from karat.text.invisible import IGNORED, JOINERS, SELECTORS

MARK = "\ufdd0"
"""Stands for a mark. Unicode keeps this code point for such use inside a program; in a text it is left out."""

# Copied along from web pages, or put there so that nobody finds what they part. So are the signs that Unicode keeps for
# programs.
_INVISIBLE = re.compile(f"[{IGNORED}{JOINERS}{SELECTORS}\ufdd1-\ufdef]+")


def _plain_forms() -> dict[int, str]:
    """Code point to the one ASCII sign that it is a variant of.

    Superscripts and circled digits are left out though NFKC has them: 10⁻¹² is not 10-12, and ① is not a 1.
    """
    variants = [*range(0xFF01, 0xFF5F), *range(0x1D400, 0x1D800)]
    forms = {point: unicodedata.normalize("NFKC", chr(point)) for point in variants}
    table = {point: form for point, form in forms.items() if len(form) == 1 and form.isascii()}
    table |= dict.fromkeys(map(ord, "‐‑‒–—―−﹣"), "-")
    table |= dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u3000"), " ")
    # The only letter that becomes two when lowered; a text in small letters must have the same places.
    return table | {0x130: "I"}


_PLAIN = _plain_forms()
# Written as ranges: a class of a thousand signs is slow to search for.
_FOLDED = re.compile("([\u00a0\u0130\u2007\u2009-\u2015\u202f\u2212\u3000\ufe63\uff01-\uff5e\U0001d400-\U0001d7ff]+)")


class Plain:
    """What all views of a text share: the text in plain letters without what nobody sees, and the way back."""

    __slots__ = ("_hidden", "_left_out", "_out_at", "hidden", "never_joined", "original", "text")

    def __init__(self, original: str) -> None:
        self.original = self.text = original
        self.hidden = False
        """Whether signs are left out."""
        self.never_joined = never_joined(original)
        if not original.isascii():
            # What we mark cuts with is no sign of theirs.
            self.text = _folded(original).replace(MARK, "\u200b")
            self._leave_out([run.span() for run in _INVISIBLE.finditer(self.text)])

    def _leave_out(self, hidden: list[tuple[int, int]]) -> None:
        if hidden:
            self.hidden = True
            self.text = _INVISIBLE.sub("", self.text)
            self._hidden = hidden
            self._left_out = [0, *accumulate(end - start for start, end in hidden)]
            """How many signs are left out up to the first, second, ... run of them."""
            self._out_at = [start - out for (start, _), out in zip(hidden, self._left_out, strict=False)]
            """Where in the text they would be."""

    def in_original(self, start: int, end: int) -> tuple[int, int]:
        """Where in the original a part of the text stands."""
        first, last = bisect_right(self._out_at, start), bisect_right(self._out_at, end - 1)
        return start + self._left_out[first], end + self._left_out[last]

    def seen(self, cuts: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
        """Parts of the original, in places of the text."""
        return [(self._in_text(start), self._in_text(end), kind) for start, end, kind in cuts]

    def _in_text(self, place: int) -> int:
        """How many signs of the text stand before a place of the original."""
        runs = bisect_left(self._hidden, (place, 0))
        inside = max(0, self._hidden[runs - 1][1] - place) if runs else 0
        return place - self._left_out[runs] + inside


def _folded(text: str) -> str:
    """The text with plain letters. Each run of variants is translated once, however often it stands there."""
    pieces = _FOLDED.split(text)
    if len(pieces) > 1:
        forms = {run: run.translate(_PLAIN) for run in set(pieces[1::2])}
        pieces[1::2] = map(forms.__getitem__, pieces[1::2])
    return "".join(pieces)
