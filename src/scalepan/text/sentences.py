"""Where does a sentence end? In English and Japanese, in prose and in lists.

Punctuation that may end one is found by pattern; its surroundings decide: an abbreviation, a list number, a closing
quote, a bracket that is still open.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from scalepan.text.scripts import HAN, KANA


class Sentence(NamedTuple):
    """A sentence and its place: `whole[start:end] == text`."""

    text: str
    start: int
    end: int


_CLOSERS = r"""["'”’)\]}」』）】〉》]"""
# A run of punctuation is tried from its first character only: a megabyte of dots must not take quadratic time.
_END = re.compile(
    rf"(?P<latin>(?<![.!?…])[.!?…]+{_CLOSERS}*(?=\s))"
    rf"|(?P<japanese>(?:[。｡！？]|．(?!\d))+{_CLOSERS}*|(?<![!?])[!?]+{_CLOSERS}*(?=[{HAN}{KANA}]))"
    r"|(?P<line>\n\s*)"
)
_NEXT = re.compile(r"\s*(\S?)")
_PAIRS = {"「": "」", "『": "』", "（": "）", "【": "】", "“": "”", "(": ")", "[": "]"}
_BRACKET = re.compile(r"[「『（【“(\[」』）】”)\]\n]")
# These come before a name, so the capital letter after them does not start a sentence; `I` often ends one.
_BEFORE_NAME = re.compile(r"\b(?:mr|mrs|ms|dr|prof|st|vs|cf|(?!i$)[a-z](?:\.[a-z])*)", re.IGNORECASE)
_BEFORE_NUMBER = re.compile(r"\b(?:no|nos|fig|figs|eq|vol|ch|sec|pp?|ca|approx)", re.IGNORECASE)
_LONGEST_ABBREVIATION = 8
_LIST_MARK = re.compile(r"\s*(?:\d{1,3}|[A-Za-z])")
_GOES_ON = re.compile("[\u3041-\u309f、,]")


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text in order; nothing but white space is left out.

    >>> [sentence.text for sentence in sentences("Dr. Wu paid 3.5 dollars. 「はい。」と答えた。次へ")]
    ['Dr. Wu paid 3.5 dollars.', '「はい。」と答えた。', '次へ']
    """
    found = []
    start = 0
    for end in (*_ends(text), len(text)):
        part = text[start:end]
        if bare := part.strip():
            at = start + len(part) - len(part.lstrip())
            found.append(Sentence(bare, at, at + len(bare)))
        start = end
    return found


def _ends(text: str) -> Iterator[int]:
    closed = iter([*_bracketed(text), (len(text), len(text))])
    opens, closes = next(closed)
    for match in _END.finditer(text):
        while closes < match.end():
            opens, closes = next(closed)
        # Punctuation just before a closing bracket may end the sentence inside the brackets.
        inside = opens < match.start() and match.end() < closes
        if not inside and _ends_here(text, match):
            yield match.end()


def _ends_here(text: str, match: re.Match[str]) -> bool:
    sign = match.group()
    following = _NEXT.match(text, match.end())
    after = following[1] if following else ""
    match match.lastgroup:
        case "line":
            # A line that continues in lower case was wrapped.
            return sign.count("\n") > 1 or not after.islower()
        case "japanese":
            # 「はい。」と goes on: a particle joins the quote to its sentence.
            return sign[-1] in "。｡！？．!?" or not _GOES_ON.match(text, match.end())
        case _ if sign.startswith("."):
            return not after.islower() and not _abbreviates(text, match.start(), after)
        case _:
            return sign[-1] in "!?…" or not after.islower()


def _abbreviates(text: str, dot: int, after: str) -> bool:
    """Whether the dot here belongs to the word before it."""
    first = max(0, dot - _LONGEST_ABBREVIATION)
    before = text[first:dot]
    line = before.rpartition("\n")[2]
    if (len(line) < len(before) or first == 0) and _LIST_MARK.fullmatch(line):
        return True
    word = re.split(r"[^\w.]", before)[-1]
    if _BEFORE_NUMBER.fullmatch(word):
        return after.isdigit()
    return _BEFORE_NAME.fullmatch(word) is not None


def _bracketed(text: str) -> list[tuple[int, int]]:
    """The spans of brackets that close on the same line, outermost only, in order."""
    pairs: list[tuple[int, int]] = []
    waiting: list[tuple[str, int]] = []
    for match in _BRACKET.finditer(text):
        sign = match.group()
        if sign == "\n":
            waiting.clear()
        elif sign in _PAIRS:
            waiting.append((_PAIRS[sign], match.start()))
        elif waiting and waiting[-1][0] == sign:
            opened = waiting.pop()[1]
            # A pair inside this one closed before it.
            while pairs and pairs[-1][0] > opened:
                pairs.pop()
            pairs.append((opened, match.end()))
    return pairs
