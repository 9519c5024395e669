"""Where a cut may begin and end: never inside a surrogate pair or a grapheme cluster."""

import re
from collections.abc import Iterable

import regex

_CLUSTER = regex.compile(r"\X")
# Code points of which no two form a cluster: ASCII except CR, Latin, Greek, zero-width space, quotes, dashes, kana and
# kanji without combining marks, full-width forms.
LONE = (
    "\\0-\\x0c\\x0e-\\x7f\u00a0-\u02ff\u0370-\u0482\u048a-\u0590\u200b\u200e\u200f\u2010-\u2027"
    "\u3000-\u3029\u3041-\u3096\u309b-\u30ff\u4e00-\u9fff\uff01-\uff9d"
)
_LONE_ONLY = re.compile(f"[{LONE}]*")
_EMOJI = "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
# Two code points with a cluster boundary between them in any context. Lone surrogates, which a carelessly decoded text
# may contain, form a character only as a pair; a plain letter begins a new cluster after all but a few characters of
# some scripts; and line breaks join only each other.
_PARTED = re.compile(
    f"[{LONE}\ud800-\udfff]{{2}}(?<![\ud800-\udbff][\udc00-\udfff])|[\\s\\S]\r|\r[^\n]"
    f"|[\\0-\u05ff\u2000-\uffff{_EMOJI}][ -~]|[ -~][{_EMOJI}]"
)
_ACCENTS = re.compile(f"[ -~\u00c0-\u024f\u3041-\u3096\u30a1-\u30fa][\u0300-\u036f\u3099\u309a]+(?=[{LONE}]|\\Z)")


def never_joined(text: str) -> bool:
    """Whether every code point is a cluster of its own, so that a cut can be anywhere.

    >>> never_joined("caf\\u00e9"), never_joined("cafe\\u0301"), never_joined("a\\r\\n")
    (True, False, False)
    """
    return (text.isascii() and "\r" not in text) or _LONE_ONLY.fullmatch(text) is not None


def widened(text: str, cuts: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Sorted cuts, each extended to whole clusters."""
    grown = []
    floor = 0
    for start, end, kind in cuts:
        start, floor = widen(text, start, end, floor)
        grown.append((start, floor, kind))
    return grown


def widen(text: str, start: int, end: int, floor: int = 0) -> tuple[int, int]:
    """The part `start:end`, extended to whole clusters. `floor` is a position that is known to be a boundary.

    >>> widen("cafe\\u0301!", 0, 4)
    (0, 5)
    """
    if start > 0 and not _PARTED.match(text, start - 1):
        start = _edges(text, start, floor)[0]
    if end > 0 and not _PARTED.match(text, end - 1):
        accents = _ACCENTS.match(text, end - 1)
        end = accents.end() if accents else _edges(text, end, floor)[1]
    return start, end


def _doubtful(text: str, at: int) -> bool:
    """Whether this position may be inside a cluster."""
    return 0 < at < len(text) and _PARTED.match(text, at - 1) is None


def _edges(text: str, at: int, floor: int) -> tuple[int, int]:
    """The nearest boundaries at or before, and at or after, this position."""
    if not 0 < at < len(text):
        return at, at
    # Between two that never join there is a boundary in any context, so segmentation can start there.
    start = at - 1
    while start > floor and _doubtful(text, start):
        start -= 1
    before, after = start, len(text)
    for cluster in _CLUSTER.finditer(text, start):
        if cluster.end() >= at:
            after = cluster.end()
            before = at if after == at else cluster.start()
            break
    if after == at and _splits_pair(text, at):
        return at - 1, at + 1
    return before, after


def _splits_pair(text: str, at: int) -> bool:
    """Whether this position is between the halves of a surrogate pair, which a carelessly decoded text may contain."""
    return at < len(text) and "\ud800" <= text[at - 1] <= "\udbff" and "\udc00" <= text[at] <= "\udfff"
