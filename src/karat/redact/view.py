"""A text as the rules see it: full-width letters as plain ones, invisible ones gone, what is cut already as one sign.

Rules look at `view.text`; `places` says where in the original a match stands. A mark (`[secret:aws-key]`) and a cut
that is going to be a mark look the same here, each as one MARK. That is why redacting twice changes nothing: the
redacted text has the same view as the original with its cuts, and the search went on until that view had no match.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from operator import sub

from karat.redact.plain import INVISIBLE, MARK, Plain

# Any name, not only the known ones: the mark of a rule that another policy has must stay what it is.
_MARKS = re.compile(r"\[(?:secret|pii):[a-z][a-z0-9-]{0,39}\]")

LONG = 11
"""A word of this length may be a token; the shortest that is looked for has eleven letters."""
_MARK = re.compile(MARK)
_SPACE = re.compile(r"\s")
_LONG_WORDS = re.compile(rf"\S{{{LONG},}}")
_SEVEN_DIGITS = re.compile(r"[0-9](?:[ ().\n-]{0,3}[0-9]){6}")
_IN_NUMBERS = "0123456789 +-./()\n"
# Typed for a hyphen in 03ー1234ー5678, and a long vowel everywhere else.
_LONG_VOWEL = re.compile("[ーｰ](?<=[0-9].)(?=[0-9])")
NEAR = 64
"""What `search` is asked for is no longer than this, and no farther from what speaks for it or against it."""
LONGEST_TOKEN = 2100
"""The longest of those tokens that have a longest length, about."""

Cut = tuple[int, int, str]
"""A part of the original: start, end, and what is there."""


class View:
    """The text as rules see it, and the way back to places in the original. `cuts` are in order and do not overlap.

    `searched` is the view that was searched before this one, if any. What was found there is cut now; a word or a
    number with no new cut in it or near it is what it was, and need not be looked at again.
    """

    __slots__ = (
        *("_cuts", "_long", "_long_at", "_near", "_new", "_searched"),
        *("longest", "lower", "numbers", "plain", "text"),
    )

    def __init__(self, plain: Plain, cuts: Sequence[Cut] = (), searched: "View | None" = None) -> None:
        self.plain, self._cuts, self._searched = plain, cuts, searched is not None
        text = _without(plain, cuts)
        self.text = text = _LONG_VOWEL.sub("-", text) if not text.isascii() and ("ー" in text or "ｰ" in text) else text
        self.lower = text.lower()
        self._long_at: tuple[list[int], list[int]] | None = None
        if searched is None:
            words = [word for word in text.split() if len(word) >= LONG]
            self._long = " ".join(words)
            self.longest = max(map(len, words), default=0)
            """No word has more letters."""
            self.numbers = _SEVEN_DIGITS.search(text) is not None
            """Whether digits stand close together anywhere, as those of phones and cards do."""
        else:
            self.longest, self.numbers = searched.longest, searched.numbers
            old = set(searched._cuts)
            marked = [mark.start() for mark in _MARK.finditer(text)]
            self._new = [at for at, cut in zip(marked, cuts, strict=True) if cut not in old] if old else marked
            """Where the new cuts are."""
            self._near = list(self._around())

    def search(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """What a pattern matches, where something is new."""
        return self._near_new(pattern) if self._searched else pattern.finditer(self.text)

    def search_far(self, pattern: re.Pattern[str], ahead: int) -> Iterator[re.Match[str]]:
        """The same for what is no longer than `ahead`."""
        for start, end in self.parts(ahead):
            for match in pattern.finditer(self.text, start, end + ahead):
                if match.start() >= end:
                    break
                yield match

    def _near_new(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        for start, end in self._near:
            for match in pattern.finditer(self.text, start, end + NEAR):
                if match.start() >= end:
                    break
                yield match

    def _around(self) -> Iterator[tuple[int, int]]:
        """The parts of the text that have a new cut in them or near; what two cuts share comes once."""
        start = end = 0
        for first, last in self._rows(NEAR):
            # A part never begins inside a row of numbers: where one ends says where the next begins.
            begin = end + len(self.text[end : max(end, first - NEAR)].rstrip(_IN_NUMBERS))
            if begin > end:
                yield start, end
                start = begin
            end = last + NEAR
        yield start, end

    def _rows(self, reach: int) -> Iterator[tuple[int, int]]:
        """The new cuts, the first and the last of each row in which one is no farther than `reach` from the next."""
        new = self._new
        if new:
            wide = [number for number in range(1, len(new)) if new[number] - new[number - 1] > reach]
            for first, behind in zip([0, *wide], [*wide, len(new)], strict=True):
                yield new[first], new[behind - 1]

    def parts(self, ahead: int, *, word: bool = False) -> Iterator[tuple[int, int]]:
        """Where something may begin that is new: from `ahead` before a new cut to NEAR behind it, or a `word` behind."""
        if not self._searched:
            yield 0, len(self.text)
            return
        done = 0
        for first, last in self._rows(ahead + NEAR):
            start, end = max(done, first - ahead), last + NEAR
            if end <= done:
                continue
            if word:
                space = _SPACE.search(self.text, end)
                end = space.end() if space else len(self.text)
            yield start, end
            done = end

    def tokens(self, token: re.Pattern[str], head: re.Pattern[str]) -> Iterator[tuple[re.Match[str], int]]:
        """Every token where something is new, and how far from there it is in the text. `head` is how one begins."""
        if self._searched:
            for start in self._heads(head):
                if match := token.match(self.text, start):
                    yield match, 0
            return
        for match in token.finditer(self._long):
            if self._long_at is None:
                self._long_at = _long_at(self.text)
            at, origin = self._long_at
            word = bisect_right(at, match.start()) - 1
            yield match, origin[word] - at[word]

    def _heads(self, head: re.Pattern[str]) -> Iterator[int]:
        """Where a token may begin that a new cut ends, or makes begin."""
        done = 0
        for first, last in self._rows(NEAR):
            # No token reaches across a space.
            floor = max(done, first - LONGEST_TOKEN)
            start = max(floor, self.text.rfind(" ", floor, first), self.text.rfind("\n", floor, first))
            done = last + NEAR
            for match in head.finditer(self.text, start, done):
                yield match.start()

    def places(self, hits: list[Cut]) -> list[Cut]:
        """The same parts of the text in places of the original."""
        if not hits or (not self._cuts and not self.plain.hidden):
            return hits
        at, origin = _map(_gone(self.plain, self._cuts))
        placed = []
        for start, end, kind in hits:
            first, last = bisect_right(at, start) - 1, bisect_right(at, end - 1) - 1
            placed.append((origin[first] + start - at[first], origin[last] + end - at[last], kind))
        return placed


def marks(text: str) -> list[tuple[int, int]]:
    """The marks that a text has from an earlier redaction.

    >>> marks("key [secret:aws-key]")
    [(4, 20)]
    """
    return [match.span() for match in _MARKS.finditer(text)] if "[secret:" in text or "[pii:" in text else []


Gone = tuple[int, int, int]
"""A part of the text that is not in the view as it was: start, end, and by how many signs it is seen."""


def _gone(plain: Plain, cuts: Sequence[Cut]) -> list[Gone]:
    """The cuts, each seen as one sign, and between them what nobody sees."""
    if not plain.hidden:
        return [(start, end, 1) for start, end, _ in cuts]
    hidden = [run.span() for run in INVISIBLE.finditer(plain.text)]
    gone: list[Gone] = []
    number = floor = 0
    for start, end in chain(((start, end) for start, end, _ in cuts), [(len(plain.text), -1)]):
        while number < len(hidden) and hidden[number][0] < start:
            first, last = hidden[number]
            if last > floor:
                gone.append((max(first, floor), min(last, start), 0))
            if last > start:
                break  # what is left of it may be behind this cut
            number += 1
        gone.append((start, end, 1))
        floor = end
    return gone[:-1]


def _map(gone: Sequence[Gone]) -> tuple[list[int], list[int]]:
    """Where every piece of the view that is no cut begins: here, and in the original."""
    origin = [0, *[end for _, end, _ in gone]]
    left_out = [end - start - seen for start, end, seen in gone]
    return list(map(sub, origin, accumulate(left_out, initial=0))), origin


def _without(plain: Plain, cuts: Sequence[Cut]) -> str:
    """The text with a MARK for every cut, and without what nobody sees."""
    text = plain.text
    if cuts:
        starts, ends = [start for start, _, _ in cuts], [end for _, end, _ in cuts]
        text = MARK.join([text[start:end] for start, end in zip([0, *ends], [*starts, len(text)], strict=True)])
    return INVISIBLE.sub("", text) if plain.hidden else text


def _long_at(text: str) -> tuple[list[int], list[int]]:
    """Where every long word begins: in a text of only those, and in all of it."""
    words = list(_LONG_WORDS.finditer(text))
    return [0, *accumulate(len(word[0]) + 1 for word in words)], [word.start() for word in words]
