"""A text as the rules see it: full-width letters as plain ones, invisible ones gone, what is cut already as one sign.

Rules look at `view.text`; `place` says where in the original a match stands. A mark (`[secret:aws-key]`) and a cut that
is going to be a mark look the same here, each as one MARK. That is why redacting twice changes nothing: the redacted
text has the same view as the original with its cuts, and the search went on until that view had no match.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, chain, count, islice
from operator import add, sub

from karat.redact.edges import never_joined

MARK = "\ufdd0"
"""Stands for a mark. Unicode keeps this code point for such use inside a program; in a text it is left out."""
_NEW = "\ufdd1"
"""For a while the same, where a cut is new."""
_WORD_END = re.compile(r"\s")

# Any name, not only the known ones: the mark of a rule that another policy has must stay what it is.
_MARKS = re.compile(r"\[(?:secret|pii):[a-z][a-z0-9-]{0,39}\]")
# Soft hyphen, zero-width signs, writing direction, variation selectors: copied along from web pages, seen by nobody.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]+")


LONG = 11
"""A word of this length may be a token; the shortest that is looked for has eleven letters."""
_LONG_WORDS = re.compile(rf"\S{{{LONG},}}")
_SEVEN_DIGITS = re.compile(r"[0-9](?:[ ().\n-]{0,3}[0-9]){6}")
_IN_NUMBERS = "0123456789 +-./()\n"
NEAR = 64
"""What `search` is asked for is no longer than this, and no farther from what speaks for it or against it."""


def _plain_forms() -> dict[int, str]:
    """Code point to the one ASCII sign that it is a variant of.

    Superscripts and circled digits are left out though NFKC has them: 10⁻¹² is not 10-12, and ① is not a 1.
    """
    variants = [*range(0xFF01, 0xFF5F), *range(0x1D400, 0x1D800)]
    forms = {point: unicodedata.normalize("NFKC", chr(point)) for point in variants}
    table = {point: form for point, form in forms.items() if len(form) == 1 and form.isascii()}
    table |= dict.fromkeys(map(ord, "‐‑‒–—―−﹣"), "-")
    table |= dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u3000"), " ")
    # The only letter that becomes two when lowered; `lower` must have the same places as `text`.
    return table | {0x130: "I"}


_PLAIN = _plain_forms()
# Written as ranges: a class of a thousand signs is slow to search for.
_FOLDED = re.compile("[\u00a0\u0130\u2007\u2009-\u2015\u202f\u2212\u3000\ufe63\uff01-\uff5e\U0001d400-\U0001d7ff]+")
# Typed for a hyphen in 03ー1234ー5678, and a long vowel everywhere else.
_LONG_VOWEL = re.compile("[ーｰ](?<=[0-9].)(?=[0-9])")

Cut = tuple[int, int, str]
"""A part of the original: start, end, and what is there."""


class Plain:
    """What all views of a text share: the text itself, and with plain letters, sign for sign."""

    __slots__ = ("hidden", "never_joined", "original", "text")

    def __init__(self, original: str) -> None:
        self.original = self.text = original
        self.hidden = False
        """Whether it has signs that nobody sees."""
        self.never_joined = never_joined(original)
        if not original.isascii():
            self.text = _folded(original)
            # What we mark cuts with is no sign of theirs.
            self.text = self.text.replace(MARK, "\u200b").replace(_NEW, "\u200b")
            self.hidden = _INVISIBLE.search(self.text) is not None


class _Forms(dict[int, str | int]):
    """The plain form of every code point that it is asked for; most are their own. It grows, so it serves one text."""

    def __missing__(self, point: int) -> int:
        self[point] = point
        return point


def _folded(text: str) -> str:
    """The text with plain letters. A few variants are replaced where they stand; many, all in one go."""
    many = len(text) // 32 + 1
    if sum(1 for _ in islice(_FOLDED.finditer(text), many)) == many:
        return text.translate(_Forms(_PLAIN))
    return _FOLDED.sub(lambda run: run.group().translate(_PLAIN), text)


class View:
    """The text as rules see it, and the way back to places in the original. `cuts` are in order and do not overlap.

    `searched` are the cuts of the view that was searched before this one, if any. What was found there is cut now; a
    word or a number with no new cut in it or near it is what it was, and need not be looked at again.
    """

    __slots__ = (
        *("_cuts", "_draft", "_fresh", "_gaps", "_long_at", "_searched"),
        *("long", "longest", "lower", "numbers", "plain", "text"),
    )

    def __init__(self, plain: Plain, cuts: Sequence[Cut] = (), searched: Collection[Cut] | None = None) -> None:
        self.plain, self._cuts = plain, cuts
        draft = _without(plain, cuts, searched)
        if not draft.isascii() and ("ー" in draft or "ｰ" in draft):
            draft = _LONG_VOWEL.sub("-", draft)
        self._draft, self._searched = draft, searched is not None
        self.text = text = draft.replace(_NEW, MARK) if self._searched else draft
        self.lower = text.lower()
        words = [word for word in draft.split() if len(word) >= LONG]
        self.longest = max(map(len, words), default=0)
        self._long_at: tuple[list[int], list[int]] | None = None
        self.long = " ".join([word.replace(_NEW, MARK) for word in words if _NEW in word] if self._searched else words)
        """Only the long words, where tokens can be."""
        self.numbers = _SEVEN_DIGITS.search(text) is not None
        """Whether digits stand close together anywhere, as those of phones and cards do."""
        self._gaps = [len(gap) for gap in draft.split(_NEW)] if self._searched else []
        """How far it is to the first new cut, from each to the next, and from the last to the end."""
        self._fresh = list(self._around()) if self._searched else []

    def search(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """What a pattern matches, where something is new."""
        return self._near_new(pattern) if self._searched else pattern.finditer(self.text)

    def _near_new(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        for start, end in self._fresh:
            for match in pattern.finditer(self.text, start, end + NEAR):
                if match.start() >= end:
                    break
                yield match

    def _around(self) -> Iterator[tuple[int, int]]:
        """The parts of the text that have a new cut in them or near; what two cuts share comes once."""
        start = end = 0
        for first, last in self._rows(NEAR):
            # A part never begins inside a row of numbers: where one ends says where the next begins.
            begin = end + len(self._draft[end : max(end, first - NEAR)].rstrip(_IN_NUMBERS))
            if begin > end:
                yield start, end
                start = begin
            end = last + NEAR
        yield start, end

    def _rows(self, reach: int) -> Iterator[tuple[int, int]]:
        """The new cuts, the first and the last of each row in which one is no farther than `reach` from the next."""
        gaps = self._gaps
        before = list(map(add, accumulate(gaps), count()))
        wide = [number for number in range(1, len(gaps) - 1) if gaps[number] > reach]
        if len(gaps) > 1:
            for first, last in zip([0, *wide], [*wide, len(gaps) - 1], strict=True):
                yield before[first], before[last - 1]

    def parts(self, ahead: int) -> list[tuple[int, int]]:
        """Where something may begin that is new: up to `ahead` before a new cut, or behind it in the same word."""
        if not self._searched:
            return [(0, len(self.text))]
        parts: list[tuple[int, int]] = []
        end = 0
        for first, last in self._rows(ahead):
            if last >= end:
                rest = _WORD_END.search(self._draft, last + 1)
                end = rest.end() if rest else len(self._draft)
            start = max(0, first - ahead)
            if parts and start <= parts[-1][1]:
                start = parts.pop()[0]
            parts.append((start, end))
        return parts

    def of_long(self, start: int, end: int) -> tuple[int, int]:
        """Where in `text` a part of `long` stands."""
        if self._long_at is None:
            self._long_at = _long_at(self._draft, only_new=self._searched)
        at, origin = self._long_at
        word = bisect_right(at, start) - 1
        move = origin[word] - at[word]
        return start + move, end + move

    def places(self, hits: list[Cut]) -> list[Cut]:
        """The same parts of the text in places of the original."""
        if not hits or (not self.plain.hidden and not self._cuts):
            return hits
        at, origin = _map(self.plain, self._cuts)
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


def _without(plain: Plain, cuts: Sequence[Cut], searched: Collection[Cut] | None) -> str:
    """The text with a MARK for every cut, or _NEW where it was not `searched` with it, and without what nobody sees."""
    if not cuts:
        draft = plain.text
    elif searched is None:
        draft = MARK.join(_kept(plain.text, cuts))
    elif not searched:
        draft = _NEW.join(_kept(plain.text, cuts))
    else:
        old = set(searched)
        signs = [MARK if cut in old else _NEW for cut in cuts]
        draft = "".join(chain.from_iterable(zip(_kept(plain.text, cuts), [*signs, ""], strict=True)))
    return _INVISIBLE.sub("", draft) if plain.hidden else draft


def _kept(text: str, cuts: Sequence[Cut]) -> list[str]:
    """What stands before, between and behind the cuts."""
    pieces = []
    at = 0
    for start, end, _ in cuts:
        pieces.append(text[at:start])
        at = end
    pieces.append(text[at:])
    return pieces


def _long_at(draft: str, *, only_new: bool) -> tuple[list[int], list[int]]:
    """Where every long word begins: in a text of only those, and in all of it."""
    words = [word for word in _LONG_WORDS.finditer(draft) if not only_new or _NEW in word[0]]
    return [0, *accumulate(len(word[0]) + 1 for word in words)], [word.start() for word in words]


def _map(plain: Plain, cuts: Iterable[Cut]) -> tuple[list[int], list[int]]:
    """Where every piece of the view that is no cut begins: in the view, and in the original."""
    gone = list(_gone(plain, cuts))
    origin = [0, *(end for _, end, _ in gone)]
    shift = [0, *accumulate(end - start - seen for start, end, seen in gone)]
    return list(map(sub, origin, shift)), origin


def _gone(plain: Plain, cuts: Iterable[Cut]) -> Iterator[tuple[int, int, int]]:
    """Every part of the text that is not in the view as it was, and by how many signs it is seen there."""
    at = 0
    for start, end, _ in cuts:
        if plain.hidden:
            yield from _hidden(plain, at, start)
        yield start, end, 1
        at = end
    if plain.hidden:
        yield from _hidden(plain, at, len(plain.text))


def _hidden(plain: Plain, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    for run in _INVISIBLE.finditer(plain.text, start, end):
        yield *run.span(), 0
