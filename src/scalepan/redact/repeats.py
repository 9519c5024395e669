"""Repeats: a value that was found once is cut wherever it occurs in that text.

A short or common value would match too much, so it is cut only where it is announced.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

from scalepan.redact.rule import Hit, everywhere
from scalepan.redact.words import COMMON

FEW = 24
"""Up to this number, values are searched for one by one; more are looked up by their first characters."""
HEAD = 4
LONGEST = 256
"""Only this many characters of a value are compared, so that time stays linear."""
STEPS = 8
"""How many values with a common prefix are tried at a position."""

# Distinctive: four characters with a digit and something else, or six characters.
_LONG_ENOUGH = re.compile(r"(?=.*\d)(?=.*\D).{4}|.{6}", re.DOTALL)
_ESCAPE = re.compile(r"(?:\\[nrtbf]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})\Z")
_TELLING = 16


def is_telling(value: str) -> bool:
    """Whether a value is distinctive enough to be cut without an announcement.

    >>> [is_telling(value) for value in ("hunter2", "swordfish", "a1b2", "4821", "default", "cat")]
    [True, True, True, False, False, False]
    """
    return _LONG_ENOUGH.match(value) is not None and value.lower() not in COMMON


def repeats(text: str, values: Mapping[str, str]) -> Iterator[Hit]:
    """Every occurrence of the values, which map to their kinds."""
    if len(values) <= FEW:
        for value, kind in values.items():
            for at in everywhere(text, value):
                if _stands_alone(text, at, at + len(value)):
                    yield at, at + len(value), kind
    else:
        yield from _of_many(text, values)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether this is not part of a longer word or number. A long mixed value may be part of anything."""
    value = text[start:end]
    if end - start >= _TELLING and not value.isalpha() and not value.isdecimal():
        return True
    if _is_plain(text[end : end + 1]) and _is_plain(value[-1]):
        return False
    if start == 0 or not _is_plain(text[start - 1]) or not _is_plain(value[0]):
        return True
    return _ESCAPE.search(text, max(0, start - 6), start) is not None


def _is_plain(character: str) -> bool:
    """Whether this is an ASCII letter or digit; other scripts have no spaces around a value."""
    return character.isascii() and character.isalnum()


class _Alike:
    """Values with a common prefix, to find the longest one at a position."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self.parents: list[int] = []
        """For each value the index of its longest proper prefix among the values, or -1."""
        self._open: list[int] = []

    def add(self, value: str) -> None:
        """Add a value; values must come in sorted order."""
        while self._open and not value.startswith(self.values[self._open[-1]]):
            self._open.pop()
        self.parents.append(self._open[-1] if self._open else -1)
        self._open.append(len(self.values))
        self.values.append(value)

    def at(self, text: str, start: int) -> str | None:
        """The longest value at this position, found in a few steps."""
        number = bisect_right(self.values, text[start : start + LONGEST]) - 1
        for _ in range(STEPS):
            if number < 0:
                break
            if text.startswith(self.values[number], start):
                return self.values[number]
            number = self.parents[number]
        return None


def _of_many(text: str, values: Mapping[str, str]) -> Iterator[Hit]:
    """The same for many values in one pass over the text."""
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
