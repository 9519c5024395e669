"""Normalizes a text: full-width and similar variants become the ASCII characters that they represent, one for one."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from itertools import accumulate

from scalepan.redact.edges import never_joined
from scalepan.text.invisible import IGNORED, JOINERS, SELECTORS

CUT = "\ufdd0"
"""Represents a placeholder or a cut. A Unicode noncharacter: it is dropped where the original text contains it."""

# Invisible characters, copied from web pages or inserted to hide a value; and noncharacters.
_HIDDEN = f"{IGNORED}{JOINERS}{SELECTORS}{CUT}-\ufdef"
_INVISIBLE = re.compile(f"[{_HIDDEN}]+")


def _plain_forms() -> dict[int, str]:
    """Maps code points to the ASCII character that they are a variant of.

    Superscripts and circled digits are not mapped, unlike in NFKC: 10⁻¹² is not 10-12, and ① is not a 1.
    """
    variants = [*range(0xFF01, 0xFF5F), *range(0x1D400, 0x1D800)]
    forms = {point: unicodedata.normalize("NFKC", chr(point)) for point in variants}
    table = {point: form for point, form in forms.items() if len(form) == 1 and form.isascii()}
    table |= dict.fromkeys(map(ord, "‐‑‒–—―−﹣"), "-")
    table |= dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u3000"), " ")
    # The only letter whose lower case has two characters; lower-case text must have the same length.
    return table | {0x130: "I"}


_PLAIN = _plain_forms()
# Ranges, because a class of a thousand characters is slow to search for.
_FOLDED = "\u00a0\u0130\u2007\u2009-\u2015\u202f\u2212\u3000\ufe63\uff01-\uff5e\U0001d400-\U0001d7ff"
_ODD = re.compile(f"([{_FOLDED}{_HIDDEN}]+)")


class Plain:
    """The normalized text without invisible characters, and the mapping back to the original. All views share it."""

    __slots__ = ("_ends", "_left_out", "_out_at", "_starts", "hidden", "never_joined", "original", "text")

    def __init__(self, original: str) -> None:
        self.original = self.text = original
        self.hidden = False
        """Whether invisible characters were removed."""
        self.never_joined = never_joined(original)
        if not original.isascii():
            # Each distinct run of such characters is translated once.
            pieces = _ODD.split(original)
            forms = {run: run.translate(_PLAIN) for run in set(pieces[1::2])}
            if _INVISIBLE.search("".join(forms)):
                self._leave_out(pieces)
                forms = {run: _INVISIBLE.sub("", form) for run, form in forms.items()}
            pieces[1::2] = map(forms.__getitem__, pieces[1::2])
            self.text = "".join(pieces)

    def _leave_out(self, pieces: list[str]) -> None:
        """Remember where characters are removed; only every other piece can contain them."""
        self.hidden = True
        spans = {run: [match.span() for match in _INVISIBLE.finditer(run)] for run in set(pieces[1::2])}
        begins = list(accumulate(map(len, pieces), initial=0))[1::2]
        hidden = [
            (at + start, at + end) for at, run in zip(begins, pieces[1::2], strict=False) for start, end in spans[run]
        ]
        self._starts, self._ends = [start for start, _ in hidden], [end for _, end in hidden]
        self._left_out = [0, *accumulate(end - start for start, end in hidden)]
        """How many characters are removed before each run of them."""
        self._out_at = [start - out for start, out in zip(self._starts, self._left_out, strict=False)]
        """The position of each run in the normalized text."""

    def in_original(self, parts: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
        """Positions in the original for parts of the normalized text."""
        if not self.hidden:
            return parts
        out, at = self._left_out, self._out_at
        return [
            (start + out[bisect_right(at, start)], end + out[bisect_right(at, end - 1)], kind)
            for start, end, kind in parts
        ]

    def in_text(self, place: int) -> int:
        """The position in the normalized text for a position in the original."""
        if not self.hidden:
            return place
        runs = bisect_left(self._starts, place)
        inside = self._ends[runs - 1] - place if runs else 0
        return place - self._left_out[runs] + max(0, inside)
