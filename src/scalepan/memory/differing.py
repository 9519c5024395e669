"""Do two texts say different things of the same? One value differs, or one of them denies it, and the rest is alike.

A guess from the words alone, made to be shown to a person: it knows numbers, dates, names and negation, and nothing of
what is true. Texts that differ in anything else, or in several places, are taken for different statements.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple
from unicodedata import normalize

from scalepan.text.dates import dates_in
from scalepan.text.scripts import HAN, HIRAGANA, KATAKANA
from scalepan.text.stops import ENGLISH as STOPS

Value = Literal["number", "date", "name", "negation"]
LONGEST = 1_000
"""Characters: of longer texts no single value is the point."""
ALIKE, ALIKE_OF_ONE = 0.6, 0.5
"""The least share of words that two texts have in common; less, if they are about the same entity."""
MOST_MORE = 2
"""How many words one text may have that the other has not, beside the value."""
SUBJECT = 3
"""The first third of a text says what it is about: if that differs, they are about two things."""

_TOKEN = re.compile(
    rf"\d+(?:[.,:]\d+)*|[^\W\d_{HAN}{HIRAGANA}{KATAKANA}]+(?:['’-][^\W\d_{HAN}{HIRAGANA}{KATAKANA}]+)*"
    rf"|[{HAN}]+|[{KATAKANA}]+|[{HIRAGANA}]+"
)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DAYS = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|[月火水木金土日]曜日?|january|february|march|april|june|july|august"
    r"|september|october|november|december"
)
_NOT = frozenset(["not", "no", "never", "none", "neither", "nor", "without", "cannot", "nobody", "nothing", "longer"])
_CONTRACTED = re.compile(r"\b(?:(?P<odd>can|won|shan)['’]t|(?P<verb>\w{1,12}?)n['’]t)\b", re.IGNORECASE)
_ODD = {"can": "can", "won": "will", "shan": "shall"}
_NAI = re.compile(r"(?:ない|なく|なかっ|ません|ませぬ|ずに?$|ぬ$)")
_PREFIXES = ("un", "in", "im", "dis", "non", "ir", "不", "未", "非", "無")


class Differing(NamedTuple):
    """In what two texts differ: the kind of value, what each says, and how alike they are otherwise, from 0 to 1."""

    kind: Value
    one: str
    other: str
    alike: float


class _Word(NamedTuple):
    key: str
    kind: Literal["number", "date", "name", "word", "not", "stop"]
    text: str


def difference(one: str, other: str, *, same_subject: bool = False) -> Differing | None:
    """The one value in which two texts differ; None if they say the same, or are about different things.

    `same_subject` says that both are about the same entity, whatever their words.

    >>> difference("Refunds above 500 euros need approval", "Refunds above 300 euros need approval")
    Differing(kind='number', one='500', other='300', alike=0.833)
    >>> difference("Refunds above 500 euros need approval", "Plans renew every 12 months")
    """
    if max(len(one), len(other)) > LONGEST:
        return None
    first, second = _words(one), _words(other)
    matcher = SequenceMatcher(None, [word.key for word in first], [word.key for word in second], autojunk=False)
    least = ALIKE_OF_ONE if same_subject else ALIKE
    if matcher.quick_ratio() < least:
        return None
    alike = matcher.ratio()
    if alike < least or alike == 1.0:
        return None
    found = _compared(first, second, matcher.get_opcodes(), same_subject)
    return None if found is None else found._replace(alike=round(alike, 3))


def _compared(
    first: Sequence[_Word], second: Sequence[_Word], steps: Sequence[tuple[str, int, int, int, int]], same_subject: bool
) -> Differing | None:
    more = 0
    values: list[Differing] = []
    denied = ["", ""]
    for step, i, i_end, j, j_end in steps:
        if step == "equal":
            continue
        here, there = first[i:i_end], second[j:j_end]
        _note_denials(here, there, denied)
        mine, theirs = _content(here), _content(there)
        if not mine or not theirs:
            more += len(mine) + len(theirs)
            continue
        value = _value(mine, theirs)
        if value is None or (i * SUBJECT < len(first) and not same_subject):
            return None
        values.append(value)
    if more > MOST_MORE or len(values) + bool(denied[0] or denied[1]) != 1:
        return None
    return values[0] if values else Differing("negation", denied[0] or "-", denied[1] or "-", 0.0)


def _note_denials(here: Sequence[_Word], there: Sequence[_Word], denied: list[str]) -> None:
    """A text that denies what the other does not; two denials in one place say the same."""
    mine, theirs = ([word.text for word in words if word.kind == "not"] for words in (here, there))
    if bool(mine) != bool(theirs):
        denied[0] = denied[0] or " ".join(mine)
        denied[1] = denied[1] or " ".join(theirs)


def _content(words: Sequence[_Word]) -> list[_Word]:
    return [word for word in words if word.kind not in ("not", "stop")]


def _value(mine: Sequence[_Word], theirs: Sequence[_Word]) -> Differing | None:
    said, instead = " ".join(word.text for word in mine), " ".join(word.text for word in theirs)
    kinds: tuple[Value, Value] = ("date", "number")
    for kind in kinds:
        if any(word.kind == kind for word in mine) and any(word.kind == kind for word in theirs):
            return Differing(kind, said, instead, 0.0)
    if len(mine) == len(theirs) == 1 and _denies(mine[0].key, theirs[0].key):
        return Differing("negation", said, instead, 0.0)
    if all(word.kind == "name" for word in (*mine, *theirs)):
        return Differing("name", said, instead, 0.0)
    return None


def _denies(one: str, other: str) -> bool:
    """Whether one word is the other with a prefix that denies it, as in 'enabled' and 'disabled'."""
    long, short = (one, other) if len(one) > len(other) else (other, one)
    bare = short.removeprefix("en")
    return any(long == prefix + stem for prefix in _PREFIXES for stem in {short, bare})


def _spelled_out(found: re.Match[str]) -> str:
    return f"{_ODD[found['odd'].lower()] if found['odd'] else found['verb']} not"


def _words(text: str) -> list[_Word]:
    text = _CONTRACTED.sub(_spelled_out, normalize("NFKC", text))
    words: list[_Word] = []
    at = 0
    for span in dates_in(text, 0.0):
        if span.at < at:
            continue  # another reading of the same
        words += _plain(text[at : span.at])
        words.append(_Word(f"{span.start} {span.end}", "date", text[span.at : span.end_at]))
        at = span.end_at
    return words + _plain(text[at:])


def _plain(text: str) -> list[_Word]:
    return [_word(found[0]) for found in _TOKEN.finditer(text)]


def _word(said: str) -> _Word:
    key = said.lower()
    if key[0].isdigit():
        return _Word(key.replace(",", ""), "number", said)
    if key in _NUMBERS:
        return _Word(str(_NUMBERS.index(key)), "number", said)
    if _DAYS.fullmatch(key):
        return _Word(key, "date", said)
    if key in _NOT or _NAI.search(key):
        return _Word(key, "not", said)
    if key in STOPS or re.fullmatch(f"[{HIRAGANA}]+", key):
        return _Word(key, "stop", said)
    is_name = said[0].isupper() or re.match(f"[{HAN}{KATAKANA}]", said) is not None
    return _Word(key, "name" if is_name else "word", said)
