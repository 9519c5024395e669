"""A text in plain letters: full-width ones and their like become what they stand for, sign for sign."""

import re
import unicodedata
from itertools import islice

from karat.redact.edges import never_joined

MARK = "\ufdd0"
"""Stands for a mark. Unicode keeps this code point for such use inside a program; in a text it is left out."""

# Soft hyphen, zero-width signs, writing direction, variation selectors: copied along from web pages, seen by nobody.
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]+")
_MANY = 32
"""More than one run of variants in so many signs are many."""


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
_FOLDED = re.compile("[\u00a0\u0130\u2007\u2009-\u2015\u202f\u2212\u3000\ufe63\uff01-\uff5e\U0001d400-\U0001d7ff]+")


class Plain:
    """What all views of a text share: the text itself, and with plain letters, sign for sign."""

    __slots__ = ("hidden", "never_joined", "original", "text")

    def __init__(self, original: str) -> None:
        self.original = self.text = original
        self.hidden = False
        """Whether it has signs that nobody sees."""
        self.never_joined = never_joined(original)
        if not original.isascii():
            # What we mark cuts with is no sign of theirs.
            self.text = _folded(original).replace(MARK, "\u200b")
            self.hidden = INVISIBLE.search(self.text) is not None


def _folded(text: str) -> str:
    """The text with plain letters. A few variants are replaced where they stand; many, all in one go."""
    many = len(text) // _MANY + 1
    if sum(1 for _ in islice(_FOLDED.finditer(text), many)) == many:
        return text.translate(_Forms(_PLAIN))
    return _FOLDED.sub(lambda run: run.group().translate(_PLAIN), text)


class _Forms(dict[int, str | int]):
    """The plain form of every code point that it is asked for; most are their own. It grows, so it serves one text."""

    def __missing__(self, point: int) -> int:
        self[point] = point
        return point
