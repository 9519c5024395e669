"""When are two texts the same: as content, and for search? (contract memory.57)"""

import re
from hashlib import sha256
from itertools import groupby
from typing import Literal
from unicodedata import combining, normalize

# Invisible characters: soft hyphen, zero-width spaces and joiners, direction marks, variation selectors, tags.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]+"
)
# A run of combining marks that may be out of order. The half-width voice marks are letters that normalize to marks.
_MARKS = re.compile(r"(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){32,}")
_LONG = 1000  # below this the square is small


def content_hash(text: str) -> str:
    """One hash per content, independent of composition, line endings and spacing.

    >>> content_hash(" one\\r\\n  line ") == content_hash("one line")
    True
    >>> content_hash("One line") == content_hash("one line")
    False
    """
    spaced = " ".join(normalize("NFC", _in_order(text, "NFD")).split())
    # Lone surrogates are not UTF-8, but a text that has one needs a hash too.
    return sha256(spaced.encode("utf-8", "surrogatepass")).hexdigest()


def visible(text: str) -> str:
    """The text in compatibility form with its case: one form for full and half width, nothing invisible.

    >>> visible("ＡＰＩ ｻｰﾊﾞｰ ﬁle sub\\u00adject")
    'API サーバー file subject'
    """
    if text.isascii():
        return text
    # Invisible characters first: one between a letter and its accent would keep them apart.
    seen = _UNSEEN.sub("", text).replace("’", "'")
    return normalize("NFKC", _in_order(seen, "NFKD"))


def folded(text: str) -> str:
    """The visible text without case.

    >>> folded("Straße ＡＰＩ")
    'strasse api'
    """
    if text.isascii():
        return text.lower()
    # Folding can decompose a character, and composing can give one that folds again.
    return normalize("NFKC", normalize("NFKC", visible(text).casefold()).casefold())


def normal_form(text: str) -> str:
    """The text as search compares it: folded, and white space of any kind as one space.

    >>> normal_form("  Ｃａｎｃｅｌ\\u3000the\\nPLAN ")
    'cancel the plan'
    """
    return " ".join(folded(text).split())


def _in_order(text: str, form: Literal["NFD", "NFKD"]) -> str:
    """The same text with long runs of combining marks in canonical order.

    Normalizing sorts them in quadratic time: a megabyte of them would take minutes.
    """
    if len(text) < _LONG:
        return text
    return _MARKS.sub(lambda run: _sorted_marks("".join(normalize(form, mark) for mark in run[0])), text)


def _sorted_marks(run: str) -> str:
    groups = groupby(run, key=lambda mark: combining(mark) > 0)
    return "".join("".join(sorted(group, key=combining) if are_marks else group) for are_marks, group in groups)
