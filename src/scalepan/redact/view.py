"""A text as the rules see it: normalized, without invisible characters, and with one CUT for every cut.

Rules search `view.text`; `places` maps matches to positions in the original. A placeholder (`[secret:aws-key]`) and a
cut that will become one look the same here: both are one CUT. That is why redacting twice changes nothing: the
redacted text has the same view as the original with its cuts, and the search went on until that view had no match.

A rule may see a CUT, but never past it. So the text between two of them can be searched alone (`again`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from scalepan.redact.plain import CUT, Plain

# Any name, not only known kinds: the placeholder of a rule in another policy must stay.
_PLACEHOLDER = re.compile(r"\[(?:secret|pii):[a-z][a-z0-9-]{0,39}\]")

LONG = 11
"""Minimum length of a long word, that is, of the shortest token."""
_LONG_WORDS = re.compile(rf"[^\s{CUT}]{{{LONG},}}")
_SEVEN_DIGITS = re.compile(r"[0-9](?:[ ().\n-]{0,3}[0-9]){6}")
# A long vowel mark, typed instead of a hyphen in 03ー1234ー5678.
_LONG_VOWEL = re.compile("[ーｰ](?<=[0-9].)(?=[0-9])")

Cut = tuple[int, int, str]
"""A part of the original: start, end, and kind."""


class View:
    """The text as rules see it, and the mapping back to the original. `cuts` are sorted and do not overlap."""

    __slots__ = (
        *("_long", "_long_at", "_out", "_words", "cuts", "long", "longest", "lower", "numbers"),
        *("plain", "text", "whole"),
    )

    def __init__(self, plain: Plain, cuts: Sequence[Cut] = ()) -> None:
        self.plain, self.cuts = plain, cuts
        self._out = [(plain.in_text(start), plain.in_text(end), kind) for start, end, kind in cuts]
        self._read(without(plain.text, self._out) if cuts else plain.text)
        self.whole = self.lower
        """The whole text in lower case, for keywords that may be far away."""

    def _read(self, text: str) -> None:
        if not text.isascii() and ("ー" in text or "ｰ" in text):
            text = _LONG_VOWEL.sub("-", text)
        self.text, self.lower = text, text.lower()
        words = [word for word in text.replace(CUT, " ").split() if len(word) >= LONG]
        self.longest = max(map(len, words), default=0)
        """Length of the longest word."""
        self.numbers = _SEVEN_DIGITS.search(text) is not None
        """Whether seven digits are close together anywhere, as in phone and card numbers."""
        self._long = " ".join(["", *words])
        self.long = self._long.lower()
        """The long words in lower case."""
        self._long_at: tuple[list[int], list[int]] | None = None
        self._words: tuple[Sequence[str], list[int]] | None = None

    def places_of(self, words: Sequence[str]) -> list[int]:
        """The positions of these words in the lower-case text; cached, because several rules need the same ones."""
        if self._words is None or self._words[0] is not words:
            self._words = words, sorted({at for word in words if word in self.lower for at in self._places(word)})
        return self._words[1]

    def _places(self, word: str) -> Iterator[int]:
        at = self.lower.find(word)
        while at >= 0:
            yield at
            at = self.lower.find(word, at + len(word))

    def tokens(self, token: re.Pattern[str]) -> Iterator[tuple[re.Match[str], int]]:
        """Every match of the pattern in the long words, with the offset to its position in the text."""
        for match in token.finditer(self._long):
            if self._long_at is None:
                self._long_at = _long_at(self.text)
            at, origin = self._long_at
            # A match may begin with the space before its word.
            word = bisect_right(at, match.end() - 1) - 1
            yield match, origin[word] - at[word]

    def places(self, hits: list[Cut]) -> list[Cut]:
        """Positions in the original for parts of the view."""
        if hits and self.cuts:
            hits = placed(hits, self._out)
        return self.plain.in_original(hits)


def placeholders(text: str) -> list[tuple[int, int]]:
    """The placeholders of an earlier redaction.

    >>> placeholders("key [secret:aws-key]")
    [(4, 20)]
    """
    return [match.span() for match in _PLACEHOLDER.finditer(text)] if "[secret:" in text or "[pii:" in text else []


def without(text: str, cuts: Sequence[Cut]) -> str:
    """The text with a CUT for every cut."""
    starts, ends = [start for start, _, _ in cuts], [end for _, end, _ in cuts]
    return CUT.join([text[start:end] for start, end in zip([0, *ends], [*starts, len(text)], strict=True)])


def placed(hits: list[Cut], cuts: Sequence[Cut]) -> list[Cut]:
    """Positions in the text for parts of the same text with a CUT for every cut."""
    gone = [0, *accumulate([end - start - 1 for start, end, _ in cuts])]
    at = [end - less for (_, end, _), less in zip(cuts, gone[1:], strict=True)]
    placed = []
    for start, end, kind in hits:
        first, last = gone[bisect_right(at, start)], gone[bisect_right(at, end - 1)]
        placed.append((start + first, end + last, kind))
    return placed


def _long_at(text: str) -> tuple[list[int], list[int]]:
    """The positions of the long words: joined by spaces, and in the whole text."""
    words = list(_LONG_WORDS.finditer(text))
    return list(accumulate([len(word[0]) + 1 for word in words], initial=1)), [word.start() for word in words]
