"""Which names does a text hold? Words with a capital inside a sentence, acronyms, katakana, Latin words in Japanese."""

import re
from collections.abc import Iterable

import msgspec

from scalepan.text.normal import folded
from scalepan.text.scripts import HAN, KANA, KATAKANA

_LETTER = f"[^\\W{HAN}{KANA}]"  # a word of Latin ends where Japanese begins
_WORD = rf"[A-Z](?:{_LETTER}|&)*(?:[-'.]{_LETTER}+)*"
_CAPITALS = re.compile(rf"(?<!{_LETTER})(?<!['’.-]){_WORD}(?:\s(?:(?:of|de|van|von|al|bin)\s)?{_WORD})*")
_TOKEN = re.compile(f"{_LETTER}+")
_PIECE = re.compile(f"[^\\W\\d_{HAN}{KANA}]+")  # of `5G` the G, which is what is left where numbers are taken out
_KATAKANA = re.compile(f"[{KATAKANA}・]{{3,}}")
# A Han name is known by what it is called.
_TITLED = re.compile(f"([{HAN}]{{2,6}})(?:さん|氏|様|くん|ちゃん|先生|教授|社長|大臣|首相|大統領)")
_JAPANESE = re.compile(f"[{HAN}{KANA}]")
# Words with a capital that name nobody: the pronoun, what begins a clause behind a colon or quote, titles.
_NO_NAMES = """
    i i'm i'll i've i'd a an the this that these those it he she they we you there here if when while although though
    however but and or so as in on at by for from with after before since because mr mrs ms dr prof sir ceo no yes not
    its his her their our my your what who which where why how q1 q2 q3 q4 am pm
"""
_NO_NAME = frozenset(_NO_NAMES.split())


class Name(msgspec.Struct, frozen=True, gc=False):
    """A name as it stands, and the words that must be found for it to be known."""

    text: str
    words: tuple[str, ...]


def names(text: str) -> list[Name]:
    """The names of one visible sentence.

    >>> [name.text for name in names("we saw Bob Ross and NASA in a サンフランシスコ hotel")]
    ['Bob Ross', 'NASA', 'サンフランシスコ']
    """
    found = [Name(match.group(), (match.group(),)) for match in _KATAKANA.finditer(text)]
    found += [Name(match[1], (match[1],)) for match in _TITLED.finditer(text)]
    capitals = [(match.start(), match.group()) for match in _CAPITALS.finditer(text)]
    if _is_heading(text, capitals):
        return found
    starts = _JAPANESE.search(text) is None
    known = []
    for at, name in capitals:
        words = _TOKEN.findall(name)
        if starts and not any(sign.isalnum() for sign in text[:at]) and not _sure(words):
            # The first word has its capital from the sentence.
            words = words[1:]
        # Of `Sims-based` only the name counts.
        kept = tuple(plain for word in words if not word[0].islower() and (plain := _plain(word)) not in _NO_NAME)
        if kept:
            known.append(Name(name, kept))
    return known + found


def known_words(sentences: Iterable[str]) -> set[str]:
    """Every word that names may be found by: plain, and the initials of names of several words.

    >>> "raaf" in known_words(["the Royal Australian Air Force"])
    True
    """
    found: set[str] = set()
    for text in sentences:
        found.update(_plain(word) for word in (*_TOKEN.findall(text), *_PIECE.findall(text)))
        found.update(match.group() for match in _KATAKANA.finditer(text))
        for match in _CAPITALS.finditer(text):
            initials = "".join(word[0] for word in _TOKEN.findall(match.group()) if word[0].isupper())
            if len(initials) > 1:
                found.add(folded(initials))
    return found


def _plain(word: str) -> str:
    """Folded and without its plural or possessive s, which names and those who belong to them share."""
    plain = folded(word)
    return plain[:-1] if len(plain) > 3 and plain.endswith("s") and not plain.endswith("ss") else plain


def _sure(words: list[str]) -> bool:
    """Whether a name at the beginning of a sentence shows that it is one: NASA, iPhone."""
    return len(words[0]) > 1 and any(sign.isupper() for sign in words[0][1:])


def _is_heading(text: str, capitals: list[tuple[int, str]]) -> bool:
    """Whether most words have a capital, so that capitals say nothing."""
    words = len(_TOKEN.findall(text))
    return words > 4 and sum(len(_TOKEN.findall(name)) for _, name in capitals) > 0.8 * words
