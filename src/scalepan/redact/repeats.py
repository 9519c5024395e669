"""The same value elsewhere: what was found at one place is cut wherever it stands in that text.

A short or common value would take half of the text along, so it goes only where something announces it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

from scalepan.redact.rule import Hit, everywhere
from scalepan.redact.words import COMMON

FEW = 24
"""So many values are searched for one by one; more are looked up by their first characters."""
HEAD = 4
LONGEST = 256
"""A value is compared by so many characters, so that time stays linear."""
STEPS = 8
"""How many shorter values are tried at a place, where many begin alike."""

# A value of its own: four characters with a letter or symbol and a digit, or six.
_LONG_ENOUGH = re.compile(r"(?=.*\d)(?=.*\D).{4}|.{6}", re.DOTALL)
_ESCAPE = re.compile(r"(?:\\[nrtbf]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})\Z")
_TELLING = 16


def is_telling(value: str) -> bool:
    """Whether a value says enough to be recognized anywhere.

    >>> [is_telling(value) for value in ("hunter2", "swordfish", "a1b2", "4821", "default", "cat")]
    [True, True, True, False, False, False]
    """
    return _LONG_ENOUGH.match(value) is not None and value.lower() not in COMMON


def repeats(text: str, values: Mapping[str, str]) -> Iterator[Hit]:
    """Every place of the text where one of the values stands; `values` has the kind of each."""
    if len(values) <= FEW:
        for value, kind in values.items():
            for at in everywhere(text, value):
                if _stands_alone(text, at, at + len(value)):
                    yield at, at + len(value), kind
    else:
        yield from _of_many(text, values)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether this is not a piece of a longer word or number. A long mixed value may stand in anything."""
    value = text[start:end]
    if end - start >= _TELLING and not value.isalpha() and not value.isdecimal():
        return True
    if _is_plain(text[end : end + 1]) and _is_plain(value[-1]):
        return False
    if start == 0 or not _is_plain(text[start - 1]) or not _is_plain(value[0]):
        return True
    return _ESCAPE.search(text, max(0, start - 6), start) is not None


def _is_plain(character: str) -> bool:
    """An ASCII letter or digit; other scripts write no spaces around a value."""
    return character.isascii() and character.isalnum()


class _Alike:
    """Values that begin with the same characters, to find the longest that stands at a place."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self.parents: list[int] = []
        """For each value the longest other one that it begins with, or -1."""
        self._open: list[int] = []

    def add(self, value: str) -> None:
        """Values come in order."""
        while self._open and not value.startswith(self.values[self._open[-1]]):
            self._open.pop()
        self.parents.append(self._open[-1] if self._open else -1)
        self._open.append(len(self.values))
        self.values.append(value)

    def at(self, text: str, start: int) -> str | None:
        """The longest value that stands here, as far as a few steps tell."""
        number = bisect_right(self.values, text[start : start + LONGEST]) - 1
        for _ in range(STEPS):
            if number < 0:
                break
            if text.startswith(self.values[number], start):
                return self.values[number]
            number = self.parents[number]
        return None


def _of_many(text: str, values: Mapping[str, str]) -> Iterator[Hit]:
    """The same for many values in one reading of the text."""
    whole: dict[str, str] = {}
    for value in values:
        whole.setdefault(value[:LONGEST], value)
    heads: dict[str, _Alike] = {}
    for value in sorted(whole):
        heads.setdefault(value[:HEAD], _Alike()).add(value)
    done = 0
    for start in [at for at in range(len(text) - HEAD + 1) if text[at : at + HEAD] in heads]:
        found = heads[text[start : start + HEAD]].at(text, start) if start >= done else None
        if found is None:
            continue
        value = whole[found]
        end = start + (len(value) if text.startswith(value, start) else len(found))
        if _stands_alone(text, start, end):
            done = end
            yield start, end, values[value]
