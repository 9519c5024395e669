"""Where a cut may begin and end: never inside a surrogate pair, never inside what a reader sees as one character."""

import re
from collections.abc import Iterable

import regex

_CLUSTER = regex.compile(r"\X")
# Signs of which no two make one character: ASCII but for CR, Latin and Greek, zero-width space, quotes and dashes, kana
# and kanji without marks, full-width.
LONE = (
    "\\0-\\x0c\\x0e-\\x7f\u00a0-\u02ff\u0370-\u0482\u048a-\u0590\u200b\u200e\u200f\u2010-\u2027"
    "\u3000-\u3029\u3041-\u3096\u309b-\u30ff\u4e00-\u9fff\uff01-\uff9d"
)
_LONE_ONLY = re.compile(f"[{LONE}]*")
_EMOJI = "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
# Two signs with an edge between them, whatever stands around. Halves of surrogate pairs, which a text decoded in a
# hurry may hold, make one only as a pair; a plain letter begins anew behind all but a few signs of some scripts; and
# line breaks join nothing but each other.
_PARTED = re.compile(
    f"[{LONE}\ud800-\udfff]{{2}}(?<![\ud800-\udbff][\udc00-\udfff])|[\\s\\S]\r|\r[^\n]"
    f"|[\\0-\u05ff\u2000-\uffff{_EMOJI}][ -~]|[ -~][{_EMOJI}]"
)
_ACCENTS = re.compile(f"[ -~\u00c0-\u024f\u3041-\u3096\u30a1-\u30fa][\u0300-\u036f\u3099\u309a]+(?=[{LONE}]|\\Z)")


def never_joined(text: str) -> bool:
    """Whether every sign is a character of its own, so that any cut is one between characters.

    >>> never_joined("caf\\u00e9"), never_joined("cafe\\u0301"), never_joined("a\\r\\n")
    (True, False, False)
    """
    return (text.isascii() and "\r" not in text) or _LONE_ONLY.fullmatch(text) is not None


def widened(text: str, cuts: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Cuts that are in order, each grown until it holds whole characters only."""
    grown = []
    floor = 0
    for start, end, kind in cuts:
        start, floor = widen(text, start, end, floor)
        grown.append((start, floor, kind))
    return grown


def widen(text: str, start: int, end: int, floor: int = 0) -> tuple[int, int]:
    """The part `start:end`, grown until it holds whole characters only. `floor` is a place that is known to be an edge.

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
    """Whether an edge here may stand inside a character."""
    return 0 < at < len(text) and _PARTED.match(text, at - 1) is None


def _edges(text: str, at: int, floor: int) -> tuple[int, int]:
    """The nearest edges at or before, and at or after, this place."""
    if not 0 < at < len(text):
        return at, at
    # Between two that never join there is an edge whatever stands before them, so counting may begin there.
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
    """Two halves of a surrogate pair, which a text decoded in a hurry may hold as two signs."""
    return at < len(text) and "\ud800" <= text[at - 1] <= "\udbff" and "\udc00" <= text[at] <= "\udfff"
