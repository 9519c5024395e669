"""Keeps JSON valid: a cut stays inside its string, and a number that is a secret becomes a string.

Strings are also searched in decoded form, so that no escape hides a secret and JSON inside a string stays valid.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from scalepan.redact.view import Cut

DEPTH = 4
"""How deeply JSON may be nested in strings of JSON."""

_BEGINS = re.compile(r"\s*[{\[]")
_SCALAR = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}\[\]:,"]+')
# A character of a string in encoded form; two escapes may be one character.
_WRITTEN = re.compile(
    r"\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\.|[^\\]", re.DOTALL
)
_FAR = 1 << 62
_LITERALS = frozenset(["true", "false", "null"])

Quotes = dict[int, str]
"""The start of each cut that replaces a number, with the quote that its placeholder needs."""
Search = Callable[[str, list[Cut], int], tuple[list[Cut], Quotes]]
"""Searches a text with known cuts at some depth of nesting, and returns all cuts."""


class Scalar(NamedTuple):
    """The position of a number, or of a string without its quotes."""

    start: int
    end: int
    is_string: bool


def documents(text: str) -> list[tuple[int, int]]:
    """The parts of a text that are JSON: all of it, or some of its lines.

    >>> documents('{"a": 1}'), documents('{"a": 1}\\n[2]\\nno\\n'), documents("no")
    ([(0, 8)], [(0, 8), (9, 12)], [])
    """
    if not _BEGINS.match(text):
        return _lines(text) if "\n{" in text or "\n[" in text else []
    return [(0, len(text))] if _is_json(text) else _lines(text)


def _lines(text: str) -> list[tuple[int, int]]:
    found, at = [], 0
    for line in text.split("\n"):
        if line[:1] in ("{", "[") and _is_json(line):
            found.append((at, at + len(line)))
        at += len(line) + 1
    return found


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def inner(
    text: str, parts: list[tuple[int, int]], cuts: list[Cut], search: Search, depth: int
) -> tuple[list[Cut], Quotes]:
    """More cuts in strings with escapes, found in their decoded form."""
    more: list[Cut] = []
    quotes: Quotes = {}
    if depth >= DEPTH or "\\" not in text:
        return more, quotes
    starts = [start for start, _, _ in cuts]
    for start, end, is_string in _scalars(text, parts):
        written = text[start:end]
        if not is_string or "\\" not in written:
            continue
        places = _places(written)
        here = cuts[bisect_left(starts, start) : bisect_left(starts, end)]
        known = [
            (bisect_right(places, first - start) - 1, bisect_left(places, min(last, end) - start), kind)
            for first, last, kind in here
        ]
        found, inside = search(json.loads(f'"{written}"', strict=False), known, depth + 1)
        more += [(start + places[first], start + places[last], kind) for first, last, kind in found]
        quotes |= {start + places[at]: json.dumps(quote)[1:-1] for at, quote in inside.items()}
    return more, quotes


def _places(written: str) -> list[int]:
    """Where the encoded form of each character begins, and where the last one ends."""
    return [0, *(match.end() for match in _WRITTEN.finditer(written))]


def _scalars(text: str, parts: list[tuple[int, int]]) -> Iterator[Scalar]:
    for start, end in parts:
        for match in _SCALAR.finditer(text, start, end):
            if match[0][0] == '"':
                yield Scalar(match.start() + 1, match.end() - 1, is_string=True)
            elif match[0] not in _LITERALS:
                yield Scalar(*match.span(), is_string=False)


def fitted(text: str, parts: list[tuple[int, int]], cuts: list[Cut]) -> tuple[list[Cut], Quotes]:
    """Cuts without quotes, split escapes and structural characters. Outside of JSON they stay as they are."""
    scalars = list(_scalars(text, parts))
    ends = [scalar.end for scalar in scalars]
    kept: list[Cut] = []
    quotes: Quotes = {}
    for start, end, kind in cuts:
        if _part_of(parts, start) is None:
            kept.append((start, end, kind))
            continue
        number = bisect_right(ends, start)
        while number < len(scalars) and scalars[number].start < end:
            scalar = scalars[number]
            number += 1
            if scalar.is_string:
                first, last = _whole(text, scalar, max(start, scalar.start), min(end, scalar.end))
            else:
                first, last = scalar.start, scalar.end
                quotes[first] = '"'
            if first < last:
                kept.append((first, last, kind))
    return kept, quotes


def _part_of(parts: list[tuple[int, int]], at: int) -> tuple[int, int] | None:
    number = bisect_right(parts, (at, _FAR)) - 1
    return parts[number] if number >= 0 and at < parts[number][1] else None


def _whole(text: str, scalar: Scalar, start: int, end: int) -> tuple[int, int]:
    """The part of a string, extended to whole escapes."""
    if text.find("\\", max(scalar.start, start - 12), end + 12) < 0:
        return start, end
    places = [scalar.start + place for place in _places(text[scalar.start : scalar.end])]
    first = places[bisect_right(places, start) - 1]
    last = next((place for place in places[bisect_right(places, end) - 1 :] if place >= end), scalar.end)
    return first, last
