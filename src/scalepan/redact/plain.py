"""A text in plain letters: full-width ones and their like become what they stand for, sign for sign."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from itertools import accumulate

from scalepan.redact.edges import never_joined
from scalepan.text.invisible import IGNORED, JOINERS, SELECTORS

MARK = "\ufdd0"
"""Stands for a mark. Unicode keeps this code point for such use inside a program; in a text it is left out."""

# Copied along from web pages, or put there so that nobody finds what they part. So are the signs that Unicode keeps for
# programs.
_HIDDEN = f"{IGNORED}{JOINERS}{SELECTORS}{MARK}-\ufdef"
_INVISIBLE = re.compile(f"[{_HIDDEN}]+")


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
_FOLDED = "\u00a0\u0130\u2007\u2009-\u2015\u202f\u2212\u3000\ufe63\uff01-\uff5e\U0001d400-\U0001d7ff"
_ODD = re.compile(f"([{_FOLDED}{_HIDDEN}]+)")


class Plain:
    """What all views of a text share: the text in plain letters without what nobody sees, and the way back."""

    __slots__ = ("_ends", "_left_out", "_out_at", "_starts", "hidden", "never_joined", "original", "text")

    def __init__(self, original: str) -> None:
        self.original = self.text = original
        self.hidden = False
        """Whether signs are left out."""
        self.never_joined = never_joined(original)
        if not original.isascii():
            # Each run of odd signs is looked at once, however often it stands there.
            pieces = _ODD.split(original)
            forms = {run: run.translate(_PLAIN) for run in set(pieces[1::2])}
            if _INVISIBLE.search("".join(forms)):
                self._leave_out(pieces)
                forms = {run: _INVISIBLE.sub("", form) for run, form in forms.items()}
            pieces[1::2] = map(forms.__getitem__, pieces[1::2])
            self.text = "".join(pieces)

    def _leave_out(self, pieces: list[str]) -> None:
        """Remember where signs are left out; every other piece has some that may be."""
        self.hidden = True
        spans = {run: [match.span() for match in _INVISIBLE.finditer(run)] for run in set(pieces[1::2])}
        begins = list(accumulate(map(len, pieces), initial=0))[1::2]
        hidden = [
            (at + start, at + end) for at, run in zip(begins, pieces[1::2], strict=False) for start, end in spans[run]
        ]
        self._starts, self._ends = [start for start, _ in hidden], [end for _, end in hidden]
        self._left_out = [0, *accumulate(end - start for start, end in hidden)]
        """How many signs are left out up to the first, second, ... run of them."""
        self._out_at = [start - out for start, out in zip(self._starts, self._left_out, strict=False)]
        """Where in the text they would be."""

    def in_original(self, parts: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
        """Where in the original some parts of the text stand."""
        if not self.hidden:
            return parts
        out, at = self._left_out, self._out_at
        return [
            (start + out[bisect_right(at, start)], end + out[bisect_right(at, end - 1)], kind)
            for start, end, kind in parts
        ]

    def in_text(self, place: int) -> int:
        """How many signs of the text stand before a place of the original."""
        if not self.hidden:
            return place
        runs = bisect_left(self._starts, place)
        inside = self._ends[runs - 1] - place if runs else 0
        return place - self._left_out[runs] + max(0, inside)
