"""Which facts does a text state that its sources do not? Numbers, dates, names, addresses, quotations, identifiers.

This is about form, not meaning: a fact in plain lowercase words ("the shop is bankrupt") is not seen. At the start of
an English sentence a name looks like any other word, so only common names are recognized there (`NAMES`).
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from scalepan.evals.fact_words import DIGITS, MONTHS, NAMES, NUMBERS, SHOUTED, SMALL, WEEKDAYS

KINDS = {
    "quoted": "quotation", "curly": "quotation", "corner": "quotation", "code": "identifier", "time": "number",
    "acronym": "name", "honored": "name", "company": "name",
}  # fmt: skip
"""The kind of fact that a group finds, if its name is not the kind."""


class Fact(NamedTuple):
    """One fact as the text has it."""

    kind: str
    text: str


KANJI = r"\u4e00-\u9fff々〇"
_MONTH = "|".join(MONTHS)
_NUMBER = r"\d{1,40}(?:,\d{3}){0,12}(?:\.\d{1,40})?"

# In this order: a part of an address is not also a number, and so on. Every repeat is bounded, or cannot start in the
# middle of what it repeats, so the time is linear in the text. Each line is searched only if its first pattern, a cheap
# one, is found.
_COUNTED = "一二三四五六七八九十百千万億〇"
_DATE = rf"""\b\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}\b | (?:\d{{1,4}}年)?\d{{1,2}}月\d{{1,2}}日
    | (?:[{KANJI}]{{1,6}}年)?[一二三四五六七八九十]{{1,3}}月[一二三四五六七八九十]{{1,4}}日
    | \b(?:{_MONTH})\.?\ \d{{1,2}}(?:st|nd|rd|th)?(?:,?\ \d{{4}})?\b
    | \b\d{{1,2}}(?:st|nd|rd|th)?\ (?:{_MONTH})(?:\ \d{{4}})?\b"""
_LINES = [
    (
        r"@|://|www\.|\.\w",
        r"""(?P<address>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}
            | (?:https?://|www\.)[^\s<>"'）」]{1,2000} | (?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])
            | (?<![\w.-])(?:[\w-]{1,63}\.){1,8}(?:com|org|net|io|dev|jp|de|uk|edu|gov|app)\b)""",
    ),
    (
        '["“「『`]',
        r""""(?P<quoted>[^"\n]{2,200})" | “(?P<curly>[^”\n]{2,200})” | [「『](?P<corner>[^」』\n]{2,200})[」』]
            | `(?P<code>[^`\n]{1,200})`""",
    ),
    (rf"\d[-/.]\d|月|\b(?:{_MONTH})", f"(?P<date>{_DATE})"),
    (r"\d:\d", r"(?P<time>\b\d{1,2}:\d{2}\b)"),
    (
        r"[_@#/-]\w|[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]",
        r"""(?P<identifier>(?<![\w-])--?[a-zA-Z][\w-]{1,60} | (?<!\w)[@\#]\w{1,60} | (?<![\w/])(?:/[\w.-]{1,60}){2,12}
            | \b[a-zA-Z][a-zA-Z0-9]{0,40}(?:_[a-zA-Z0-9]{1,40}){1,8}
            | \b[a-zA-Z]{1,40}(?:-[a-zA-Z]{1,40}){0,3}-?\d[\w-]{0,60}(?:\.\w{1,20}){0,4}
            | \b\d{1,8}(?:-\d{1,8}){2,6}\b | \b\d{1,20}-?[A-Z][a-zA-Z]{0,20}-?\d[\w-]{0,60}
            | \b[a-z]{1,40}[A-Z]\w{0,60} | \b[A-Z][a-z]{1,40}[A-Z]\w{0,60})""",
    ),
    (
        rf"[\d{_COUNTED}]|\b(?:{'|'.join(NUMBERS)})\b",
        rf"""(?P<number>(?<![\w.]){_NUMBER}
            | (?<![{_COUNTED}])[{_COUNTED}]{{1,12}}
              (?=[年月日時秒人名個件回円割倍週階歳本冊枚台章版社行%]|ヶ月|か月|つの|分(?:間|後|前))
            | \b(?:{"|".join(NUMBERS)})\b)""",
    ),
    (r"[A-Z][A-Z&]", r"(?P<acronym>\b[A-Z][A-Z&]{1,20}(?:s\b|\b))"),
    (
        "さん|様|氏|[社部課会]長|先生|教授",
        rf"(?P<honored>[{KANJI}]{{1,4}}|[ァ-ヶー・]{{2,12}})(?=さん|様|氏|社長|部長|課長|会長|先生|教授)",
    ),
    (
        "株式会社|・|[都道府県市区町村]",
        rf"""(?P<company>株式会社[{KANJI}ァ-ヶーA-Za-z]{{1,12}} | [ァ-ヶー]{{2,15}}(?:・[ァ-ヶー]{{2,15}}){{1,4}}
            | [{KANJI}]{{1,3}}[都道府県市区町村](?=[の内にでへはが、。]))""",
    ),
    (r"[A-ZÀ-Þ][a-zà-ÿ]", r"(?P<name>\b[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]{1,40}(?:[-'][A-Za-z][a-z]{1,40}){0,4})"),
]
_SIGNS = [re.compile(sign).search for sign, _ in _LINES]
_DATES = re.compile(_DATE, re.VERBOSE)


@lru_cache(maxsize=1024)
def _pattern(signs: tuple[bool, ...]) -> re.Pattern[str]:
    """Only the patterns whose cheap test matches the text."""
    return re.compile("|".join(line for (_, line), has in zip(_LINES, signs, strict=True) if has), re.VERBOSE)


_WORDS = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
LOOK_BACK = 24
LONGEST_TITLE = 200
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？…\n])[\"'“”‘’»)\]*_#>\-–—•\s(\[]*(?:\d{1,2}[.)]\s+)?$")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Inc|Ltd|Co|vs|No|e\.g|i\.e)\.\s*$")
_LIST_NUMBER = re.compile(r"(?:^|\n)\s*$")
_NOT_HONORED = ("客", "皆", "各", "神", "王", "同", "別", "模", "仕", "有")

_PHONE = re.compile(r"\b(?!\d{4}-\d\d?-\d\d?\b)\d{1,8}(?:-\d{1,8}){2,6}\b")
"""Digits in groups: a telephone number that contains 03 does not state the number 3."""
_NUMBERS = re.compile(rf"{_NUMBER}|[{_COUNTED}]{{1,12}}")
_CAPITALIZED = re.compile(r"(?:[A-Z][a-z]+(?:[ -](?:of|the|and|for) )?[ -]?){2,}")
_INSIDE = re.compile(r"(?<=[a-zà-ÿ,] )[^\W\d_]{2,}")
"""Words after which a capital letter does not start a sentence."""
FEW_WORDS, NOUNS = 20, 0.3
"""If more than this share of words inside sentences is capitalized, all nouns are, as in German."""


def facts(text: str, *, is_title: bool = False) -> Iterator[Fact]:
    """The facts of a text, in its order.

    >>> [*facts("alpha2. Also, the CEO resigned on May 5.")]
    [Fact(kind='identifier', text='alpha2'), Fact(kind='name', text='CEO'), Fact(kind='date', text='May 5')]
    """
    text = normalize("NFKC", text)
    signs = tuple(has(text) is not None for has in _SIGNS)
    if not any(signs):
        return
    for match in _pattern(signs).finditer(text):
        group = match.lastgroup or ""
        if group != "name":
            if not _is_none(group, text, match):
                yield Fact(KINDS.get(group, group), match[group])
        elif _is_always_one(match[0]) or (not is_title and _is_name(text, match) and not _in_title(text, match)):
            is_date = match[0] in MONTHS or match[0].rstrip("s") in WEEKDAYS
            yield Fact("date" if is_date else "name", match[0])


def _is_none(group: str, text: str, match: re.Match[str]) -> bool:
    """Whether a match is not a fact: the number of a list item, an emphasized word, `お客様`."""
    if group == "number":
        return _is_list_number(text, match)
    if group == "acronym":
        return match[0].lower() in SHOUTED
    return group == "honored" and match[0].endswith(_NOT_HONORED)


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Whether a word is capitalized because it is a name, and not because a sentence starts with it."""
    start = match.start()
    if text[match.end() : match.end() + 1] > "\u3000":
        return True  # Japanese text follows directly, and has no capital letters
    before = max(0, start - LOOK_BACK)
    return _SENTENCE_START.search(text, before, start) is None or _TITLE.search(text, before, start) is not None


def _is_always_one(word: str) -> bool:
    return word in NAMES or word.rstrip("s") in WEEKDAYS


def _in_title(text: str, match: re.Match[str]) -> bool:
    """Whether all words of its line are capitalized, so that a capital letter means nothing."""
    start = text.rfind("\n", max(0, match.start() - LONGEST_TITLE), match.start()) + 1
    end = text.find("\n", match.end(), match.end() + LONGEST_TITLE)
    line = text[start : end if end >= 0 else len(text)]
    if len(line) > LONGEST_TITLE:
        return False
    words = [word for word in _WORDS.findall(line) if word.lower() not in SMALL]
    return len(words) > 2 and not line.rstrip().endswith((".", "!", "?")) and all(word[0].isupper() for word in words)


def _is_list_number(text: str, match: re.Match[str]) -> bool:
    return (
        len(match[0]) <= 2
        and text[match.end() : match.end() + 1] in (".", ")")
        and text[match.end() + 1 : match.end() + 2] in (" ", "")
        and _LIST_NUMBER.search(text, max(0, match.start() - LOOK_BACK), match.start()) is not None
    )


class Known:
    """The facts of the sources, recognized in other forms too: `two` for 2, `十月` for 10月."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.text = ""
        self._unread: list[str] = []
        self.words: set[str] = set()
        self.numbers: set[str] = set()
        self.dates: set[tuple[str, str, str]] = set()
        self.initials: set[str] = set()
        self.capitalizes_nouns = False
        self.add("\n".join(texts))

    def add(self, text: str) -> None:
        """Add a source."""
        text = normalize("NFKC", text)
        self.text += "\n" + _folded(text)
        self._unread.append(text)

    def has(self, fact: Fact) -> bool:
        """Whether the sources state it: literally, as is most common, or in another form."""
        kind, text = fact
        if self._has_text(text):
            return True
        self._read()
        if kind == "number":
            hour, _, minute = text.partition(":")
            return _value(hour) in self.numbers and minute in ("", "00")
        if kind == "date":
            return self._has_date(text)
        if kind != "name":
            return False
        if self.capitalizes_nouns and text.istitle() and text not in NAMES:
            return True
        return text in self.initials or all(_stem(word) in self.words for word in _WORDS.findall(text))

    def _read(self) -> None:
        """Index the sources added since the last call."""
        for text in self._unread:
            words = _WORDS.findall(text)
            self.words.update(map(_stem, words))
            self.numbers.update(_value(word) for word in words if word.lower() in NUMBERS)
            self.numbers.update(map(_value, _NUMBERS.findall(_PHONE.sub(" ", text))))
            self.dates.update(map(_date, _DATES.findall(text)))
            for row in _CAPITALIZED.findall(text):
                self.initials.add("".join(one for one in row if one.isupper()))
            inside = _INSIDE.findall(text)
            if len(inside) > FEW_WORDS:
                self.capitalizes_nouns = sum(word[0].isupper() for word in inside) > len(inside) * NOUNS
        self._unread = []

    def _has_date(self, text: str) -> bool:
        year, month, day = _date(text)
        if not day:
            return _stem(text) in self.words or any(month and month == known[1] for known in self.dates)
        return any((month, day) == known[1:] and (year == known[0] or not year or not known[0]) for known in self.dates)

    def _has_text(self, text: str) -> bool:
        wanted = _folded(text).strip(" .,;:!?/。、")
        at = self.text.find(wanted) if wanted else -1
        while at >= 0:
            if _stands_alone(self.text, at, at + len(wanted)):
                return True
            at = self.text.find(wanted, at + 1)
        return False


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether it is not part of a longer number or Latin word; Japanese has no spaces to go by."""
    before, after, next_ = text[start - 1 : start], text[end : end + 1], text[end + 1 : end + 2]
    if any(side.isascii() and side.isalnum() for side in (before, after) if side):
        return False
    if text[start].isdigit() and before and before in ".,-":
        return False
    return not (text[end - 1].isdigit() and after and after in ".,-" and next_.isdigit())


def _folded(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    """The word without plural and possessive endings: `Sundays`, `cart's`.

    >>> _stem("Sundays"), _stem("Boxes"), _stem("Ann's")
    ('sunday', 'box', 'ann')
    """
    word = word.casefold().removesuffix("'s")
    for ending, rest in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("s", "")):
        if word.endswith(ending) and len(word) > len(ending) + 1 and not word.endswith("ss"):
            return word[: -len(ending)] + rest
    return word


def _value(text: str) -> str:
    """A number by its value, however it is written.

    >>> _value("1,250.50"), _value("twelve"), _value("二十三"), _value("二〇二六")
    ('1250.5', '12', '23', '2026')
    """
    if text.lower() in NUMBERS:
        return str(NUMBERS[text.lower()])
    if text[:1].isdigit() and text[0].isascii():
        whole, _, rest = text.replace(",", "").partition(".")
        rest = rest.rstrip("0")
        return (whole.lstrip("0") or "0") + (f".{rest}" if rest else "")
    return _kanji(text)


def _kanji(text: str) -> str:
    if all(one in DIGITS for one in text) and len(text) > 1:
        return "".join(str(DIGITS[one]) for one in text)
    total = part = digit = 0
    for one in text:
        if one in DIGITS:
            digit = DIGITS[one]
        elif one in "万億":
            total += (part + digit or 1) * (10**4 if one == "万" else 10**8)
            part = digit = 0
        elif one in "十百千":
            part += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[one]
            digit = 0
        else:
            return text
    return str(total + part + digit)


def _date(text: str) -> tuple[str, str, str]:
    """Year, month and day as far as they are given."""
    found = re.fullmatch(rf"(\d{{4}})[-/.](\d+)[-/.](\d+)|(?:([\d{KANJI}]+)年)?([\d{KANJI}]+)月([\d{KANJI}]+)日", text)
    if found:
        year, month, day = (found[1], found[2], found[3]) if found[2] else (found[4], found[5], found[6])
        return (_value(year) if year else "", _value(month), _value(day))
    month = next((str(MONTHS[word]) for word in re.findall(r"[A-Za-z]+", text) if word in MONTHS), "")
    numbers = re.findall(r"\d+", text)
    year = next((one for one in numbers if len(one) == 4), "")
    day = next((_value(one) for one in numbers if len(one) < 3), "")
    return (year, month, day)
