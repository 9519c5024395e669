"""A text as the rules see it: full-width letters as plain ones, invisible ones gone, what is cut already as one sign.

Rules look at `view.text`; `places` says where in the original a match stands. A mark (`[secret:aws-key]`) and a cut
that is going to be a mark look the same here, each as one MARK. That is why redacting twice changes nothing: the
redacted text has the same view as the original with its cuts, and the search went on until that view had no match.

A rule may see a MARK, but never past it. So what stands between two of them can be searched alone (`again`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from scalepan.redact.plain import MARK, Plain

# Any name, not only the known ones: the mark of a rule that another policy has must stay what it is.
_MARKS = re.compile(r"\[(?:secret|pii):[a-z][a-z0-9-]{0,39}\]")

LONG = 11
"""A word of this length may be a token; the shortest that is looked for has eleven letters."""
_LONG_WORDS = re.compile(rf"[^\s{MARK}]{{{LONG},}}")
_SEVEN_DIGITS = re.compile(r"[0-9](?:[ ().\n-]{0,3}[0-9]){6}")
# Typed for a hyphen in 03ー1234ー5678, and a long vowel everywhere else.
_LONG_VOWEL = re.compile("[ーｰ](?<=[0-9].)(?=[0-9])")

Cut = tuple[int, int, str]
"""A part of the original: start, end, and what is there."""


class View:
    """The text as rules see it, and the way back to places in the original. `cuts` are in order and do not overlap."""

    __slots__ = (
        *("_long", "_long_at", "_out", "_words", "cuts", "long", "longest", "lower", "numbers"),
        *("plain", "text", "whole"),
    )

    def __init__(self, plain: Plain, cuts: Sequence[Cut] = ()) -> None:
        self.plain, self.cuts = plain, cuts
        self._out = [(plain.in_text(start), plain.in_text(end), kind) for start, end, kind in cuts]
        self._read(without(plain.text, self._out) if cuts else plain.text)
        self.whole = self.lower
        """All of the text in small letters, for a word that may stand far away."""

    def _read(self, text: str) -> None:
        if not text.isascii() and ("ー" in text or "ｰ" in text):
            text = _LONG_VOWEL.sub("-", text)
        self.text, self.lower = text, text.lower()
        words = [word for word in text.replace(MARK, " ").split() if len(word) >= LONG]
        self.longest = max(map(len, words), default=0)
        """No word has more letters."""
        self.numbers = _SEVEN_DIGITS.search(text) is not None
        """Whether digits stand close together anywhere, as those of phones and cards do."""
        self._long = " ".join(["", *words])
        self.long = self._long.lower()
        """The long words in lower case."""
        self._long_at: tuple[list[int], list[int]] | None = None
        self._words: tuple[Sequence[str], list[int]] | None = None

    def places_of(self, words: Sequence[str]) -> list[int]:
        """Where in the text in small letters some words begin; remembered, as several rules ask for the same."""
        if self._words is None or self._words[0] is not words:
            self._words = words, sorted({at for word in words if word in self.lower for at in self._places(word)})
        return self._words[1]

    def _places(self, word: str) -> Iterator[int]:
        at = self.lower.find(word)
        while at >= 0:
            yield at
            at = self.lower.find(word, at + len(word))

    def tokens(self, token: re.Pattern[str]) -> Iterator[tuple[re.Match[str], int]]:
        """Every token among the long words, and how far from there it is in the text."""
        for match in token.finditer(self._long):
            if self._long_at is None:
                self._long_at = _long_at(self.text)
            at, origin = self._long_at
            # The edge that a match begins with may be the space before its word.
            word = bisect_right(at, match.end() - 1) - 1
            yield match, origin[word] - at[word]

    def places(self, hits: list[Cut]) -> list[Cut]:
        """The same parts of the text in places of the original."""
        if hits and self.cuts:
            hits = placed(hits, self._out)
        return self.plain.in_original(hits)


def marks(text: str) -> list[tuple[int, int]]:
    """The marks that a text has from an earlier redaction.

    >>> marks("key [secret:aws-key]")
    [(4, 20)]
    """
    return [match.span() for match in _MARKS.finditer(text)] if "[secret:" in text or "[pii:" in text else []


def without(text: str, cuts: Sequence[Cut]) -> str:
    """The text with a MARK for every cut."""
    starts, ends = [start for start, _, _ in cuts], [end for _, end, _ in cuts]
    return MARK.join([text[start:end] for start, end in zip([0, *ends], [*starts, len(text)], strict=True)])


def placed(hits: list[Cut], cuts: Sequence[Cut]) -> list[Cut]:
    """Where parts of a text with a MARK for every cut stand in the text itself."""
    gone = [0, *accumulate([end - start - 1 for start, end, _ in cuts])]
    at = [end - less for (_, end, _), less in zip(cuts, gone[1:], strict=True)]
    placed = []
    for start, end, kind in hits:
        first, last = gone[bisect_right(at, start)], gone[bisect_right(at, end - 1)]
        placed.append((start + first, end + last, kind))
    return placed


def _long_at(text: str) -> tuple[list[int], list[int]]:
    """Where every long word begins: in a text of only those, each behind a space, and in all of it."""
    words = list(_LONG_WORDS.finditer(text))
    return list(accumulate([len(word[0]) + 1 for word in words], initial=1)), [word.start() for word in words]
