"""The terms of text with spaces: a plain word gives its stem; a compound name the whole and its parts.

`getUserName` is found by itself, by `user`, `names`; `src/scalepan/value.py` by itself, by `value.py`, by `scalepan`.
"""

import re
import threading
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any
from unicodedata import normalize

from scalepan.text.normal import folded
from scalepan.text.stops import ENGLISH as STOPS

LONGEST_TERM = 200
"""Anything longer is data, not a name: its beginning is enough to tell it apart."""

# Accents and vowel signs that stay separate after composing are not \w, but they are part of words.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
)
_EMOJI = "\u2600-\u27bf\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
_JOINT = r"(?=[-./\\:@{}$~=&?#%+*',])(?:[-./\\:@{}$~=&?#%+*]{1,3}|'|(?<=\d),(?=\d{3}(?!\d)))"
_C = r"(?:\+\+|#)?"  # C++ and C# are not C


def _name_pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"{word}(?:{_JOINT}{word})*{_C}|[{_EMOJI}]")


# Most text is ASCII, and its pattern is the faster one.
_ASCII_NAME = _name_pattern("[0-9A-Za-z_]+")
_NAME = _name_pattern(rf"[\w{_MARKS}]+")
# From the widest: a path is made of files, a file name of dotted names, a dotted name of words.
_LEVELS = [re.compile(r"[/\\:@{}$~=&?#%+*]+"), re.compile(r"\.+"), re.compile("[-_]+")]
_NUMBER = re.compile(r"v?(\d[\d,]*(?:\.\d+)*)", re.IGNORECASE)
_HUMPS = re.compile("[a-z][A-Z]|[A-Z]{2}[a-z]{2}")  # not IDs
_HUMP = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_ACCENT = re.compile("(?<=[a-z])[\u0300-\u036f]+")

_of_thread = threading.local()


def names(text: str) -> list[str]:
    """The words and compound names of a text, as written, without surrounding punctuation.

    >>> names("Call scalepan.memory.rank(query), see https://example.com/a?b=c.")
    ['Call', 'scalepan.memory.rank', 'query', 'see', 'https://example.com/a?b=c']
    """
    return (_ASCII_NAME if text.isascii() else _NAME).findall(text)


def name_terms(name: str) -> tuple[str, ...]:
    """The terms of one name: the whole, then its parts.

    >>> name_terms("subscriptions"), name_terms("getUserName"), name_terms("v1.2.3")
    (('subscript',), ('getusername', 'get', 'user', 'name'), ('v1.2.3', '1.2.3', '1', '2', '3'))
    """
    return _kept(name) if len(name) <= LONGEST_TERM else tuple(_take_apart(name))


@lru_cache(maxsize=1 << 15)
def _kept(name: str) -> tuple[str, ...]:
    # Words recur: most words of a text have been seen a moment ago.
    return tuple(_take_apart(name))


def _take_apart(name: str) -> Iterator[str]:
    if name.isalnum():
        yield from _word_terms(name[:LONGEST_TERM])
        return
    if len(name) <= LONGEST_TERM and (number := _NUMBER.fullmatch(name)):
        yield from _number_terms(name.lower(), number[1])
        return
    for separators in _LEVELS:
        parts = [part for part in separators.split(name) if part]
        if parts != [name]:
            yield folded(name[:LONGEST_TERM])
            for part in parts:
                yield from name_terms(part)
            return
    yield from _word_terms(name[:LONGEST_TERM])


def _number_terms(name: str, number: str) -> Iterator[str]:
    """One term however its digits are grouped; a version has parts too, and is found without its v."""
    yield name.replace(",", "")
    if "." in number and name != number:
        yield number
    if number.count(".") > 1:
        yield from number.split(".")


def _word_terms(word: str) -> Iterator[str]:
    if _HUMPS.search(word) and word.isascii():
        yield word.lower()
        for hump in _HUMP.findall(word):
            if len(hump) > 1:  # the m of mRNA means nothing
                yield from _stem(hump.lower())
    else:
        yield from _stem(folded(word))


def _stem(word: str) -> Iterator[str]:
    if not word.isascii():
        # A search for Zürich may be typed Zurich.
        word = normalize("NFC", _ACCENT.sub("", normalize("NFD", word)))
    if word in STOPS:
        return
    if word.isascii() and word.replace("'", "").isalpha():
        word = _stemmer().stemWord(word)
    yield word


def _stemmer() -> Any:
    """One per thread, as PyStemmer requires."""
    if not hasattr(_of_thread, "stemmer"):
        _of_thread.stemmer = import_module("Stemmer").Stemmer("english", 0)
    return _of_thread.stemmer
