"""Random values near the word password: `ID/PW (ann/Kq7xR2mZ)`, `Kq7xR2mZ is the password`.

No syntax announces the value here, so it must look random: upper and lower case and digits that form no words.
"""

import re
from collections.abc import Iterator
from string import ascii_letters

from scalepan.redact.judged import is_listed
from scalepan.redact.names import KINDS, STEMS, eastern_words
from scalepan.redact.pairs import name_kind
from scalepan.redact.plain import CUT
from scalepan.redact.plausible import looks_random, stand_in
from scalepan.redact.rule import Hit, RedactionRule, everywhere
from scalepan.redact.view import View

FAR = 48
"""How far after a word a value may end."""
_DIGIT, _CAPITAL_OR_SYMBOL = re.compile("[0-9]"), re.compile("[A-Z!#$%^*@+~?]")
_NAME_LETTERS = ascii_letters + "_"
_LINE = re.compile(f"[\n{CUT}]")
_NAME = re.compile(r"[A-Za-z_]{0,12}")
_CJK_STEMS = tuple(word for word in STEMS if not word.isascii())
_TOKEN = re.compile(r"[0-9A-Za-z!#$%^*@+~?][0-9A-Za-z!#$%^*@+~?_-]{7,39}")


# パスワード(hunter2), a bracket of either width.
_IN_BRACKETS = re.compile(rf"\((?P<value>[^\s(){CUT}]{{4,64}})\)")


def _bracketed(view: View) -> Iterator[Hit]:
    if view.text.isascii() or "(" not in view.text:
        return
    for word in (*_CJK_STEMS, *eastern_words(view.lower)):
        for at in everywhere(view.lower, word):
            match = _IN_BRACKETS.match(view.text, at + len(word))
            if match and is_listed("password", match["value"]):
                yield (*match.span("value"), KINDS.get(word, "password"))


def _nearby(view: View) -> Iterator[Hit]:
    """The first random value after each word, on the same line."""
    text = view.text
    words = [*view.places_of(STEMS)]
    if not view.text.isascii():
        words += [at for word in eastern_words(view.lower) for at in everywhere(view.lower, word)]
    for at in words:
        if not _DIGIT.search(text, at, at + FAR) or not _CAPITAL_OR_SYMBOL.search(text, at + 2, at + FAR):
            continue
        line = _LINE.split(text[at : at + FAR], 1)[0]
        for token in _TOKEN.finditer(line, len(line) - len(line.lstrip(_NAME_LETTERS))):
            # A token at the end of the window may be incomplete.
            if token.end() < FAR and looks_random(token[0]) and not stand_in(token[0]):
                kind = _kind(view, at, line[: token.start()])
                if kind:
                    yield at + token.start(), at + token.end(), kind
                break


def _kind(view: View, at: int, said: str) -> str | None:
    """The kind of secret that the word announces."""
    name = _NAME.match(said)
    named = name_kind(view.text[max(0, at - 12) : at].rpartition(" ")[2] + name[0]) if name and name[0] else None
    if named is None:
        return "password" if said and not said[0].isascii() else None
    return named[0]


_REVERSED = re.compile(
    rf"(?P<value>[^\s\"'`,;:()<>{CUT}]{{6,64}})[\"'`]?\s{{1,2}}(?:is|was)\s{{1,2}}(?:the|my|our|your)\s{{1,2}}(?:\w{{1,16}}\s)?\Z"
)


_REVERSED_WORDS = (" is the ", " is my ", " is our ", " is your ", " was the ", " was my ")


def _reversed(view: View) -> Iterator[Hit]:
    places = view.places_of(STEMS)
    if not places or not any(said in view.lower for said in _REVERSED_WORDS):
        return
    for at in places:
        floor = max(0, at - 110)
        match = _REVERSED.search(view.text, floor, at) if view.text[at - 1 : at] == " " else None
        if match and looks_random(match["value"]) and not stand_in(match["value"]):
            yield (*match.span("value"), "password")


NEARBY = [
    RedactionRule(frozenset(["password", "secret", "token", "api-key", "aws-secret-key"]), _nearby),
    RedactionRule(frozenset(["password"]), _reversed),
    RedactionRule(frozenset(["password", "token", "api-key"]), _bracketed),
]
