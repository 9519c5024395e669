"""Which numbers does a text state? In digits or words, English or Japanese, with unit and scale."""

import re
from collections.abc import Iterator
from math import isclose

import msgspec


class TextNumber(msgspec.Struct, frozen=True, gc=False):
    """A number in its unit. `step` is how finely it was said: 0.1 million for `3.1 million`."""

    value: float
    unit: str
    text: str
    step: float = 0.0

    def agrees(self, source: "TextNumber") -> bool:
        """Whether a source that says `source` carries this number: the same, or rounded as it is here.

        >>> [said, right, wrong] = numbers("$3.1 billion, 3,098 million dollars, $3.2bn")[0]
        >>> said.agrees(right), said.agrees(wrong)
        (True, False)
        """
        if self.unit == "clock" and not source.unit:
            return self.value == source.value % 12 * 60
        if self.unit != source.unit and self.unit and source.unit:
            return False
        if isclose(self.value, source.value, rel_tol=1e-9):
            return True
        # 2 does not stand for 2.3, but 3.1 million does for 3,098,000.
        rounded = self.step < abs(self.value) / 10 and source.step < self.step
        return rounded and abs(self.value - source.value) <= self.step / 2 * (1 + 1e-9)


# Unit: how it is written. A longer spelling comes before one that it begins with.
_UNITS = {
    "percent": ["%", "percentage points?", "percent", "per cent", "パーセント"],
    "tenths": ["割"],
    "basis points": ["basis points?", "bps", "ベーシスポイント"],
    "usd": ["dollars?", "usd", "bucks", "米ドル", "ドル"],
    "eur": ["euros?", "eur", "ユーロ"],
    "gbp": ["gbp", "ポンド"],
    "jpy": ["yen", "jpy", "円"],
    "year": ["years?", "yrs?", "年間", "か年", "ヶ年"],
    "month": ["months?", "か月", "ヶ月", "カ月", "ケ月"],
    "week": ["weeks?", "週間"],
    "day": ["days?", "日間"],
    "hour": ["hours?", "hrs?", "時間"],
    "minute": ["minutes?", "mins?", "分間", "分"],
    "second": ["seconds?", "secs?", "秒間", "秒"],
    "ms": ["milliseconds?", "ms", "ミリ秒"],
    "km": ["kilomet(?:er|re)s?", "km", "キロメートル"],
    "cm": ["centimet(?:er|re)s?", "cm", "センチ"],
    "mm": ["millimet(?:er|re)s?", "mm", "ミリメートル"],
    "m": ["met(?:er|re)s?", "メートル"],
    "mile": ["miles?", "マイル"],
    "kg": ["kilograms?", "kilos?", "kg", "キログラム"],
    "g": ["grams?", "グラム"],
    "tb": ["terabytes?", "tb", "テラバイト"],
    "gb": ["gigabytes?", "gb", "ギガバイト"],
    "mb": ["megabytes?", "mb", "メガバイト"],
    "person": ["人", "名"],
    "times": ["times", "倍", "回"],
    "piece": ["個", "つ", "件", "台", "本", "枚", "冊", "匹", "社", "店舗", "か所", "箇所"],
    "age": ["歳", "才"],
    "quarter": ["四半期"],
}
_SIGNS = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy"}
_SCALES = {"thousand": 1e3, "k": 1e3, "million": 1e6, "mln": 1e6, "mn": 1e6, "m": 1e6, "dozen": 12.0}
_SCALES |= {"billion": 1e9, "bn": 1e9, "b": 1e9, "trillion": 1e12, "hundred": 1e2}
_SCALES |= {"千": 1e3, "万": 1e4, "百万": 1e6, "千万": 1e7, "億": 1e8, "兆": 1e12}
_TO_NINETEEN = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
_TO_NINETY = "twenty thirty forty fifty sixty seventy eighty ninety"
_NTH = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_SMALL = {word: float(value) for value, word in enumerate(_TO_NINETEEN.split())}
_TENS = {word: 10.0 * (at + 2) for at, word in enumerate(_TO_NINETY.split())}
_WORDS = {**_SMALL, **_TENS}
_BIG = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_ORDINALS = {word: float(at + 1) for at, word in enumerate(_NTH.split())}
_HAN = {sign: float(at) for at, sign in enumerate("〇一二三四五六七八九")}
_HAN_TENS = {"十": 10.0, "百": 100.0, "千": 1000.0}
_HAN_BIG = {"万": 1e4, "億": 1e8, "兆": 1e12}


def _alternatives(words: list[str]) -> str:
    return "|".join(word.replace(" ", r"\s") for word in sorted(words, key=len, reverse=True))


_LATIN_UNIT = _alternatives([way for ways in _UNITS.values() for way in ways if way[0].isascii() and way != "%"])
_OTHER_UNIT = _alternatives(["%", *(way for ways in _UNITS.values() for way in ways if not way[0].isascii())])
_UNIT = rf"(?P<unit>(?:[\s-]?(?:{_LATIN_UNIT})(?![A-Za-z]))|\s?(?:{_OTHER_UNIT}))"
_LATIN_SCALE = "thousand|million|billion|trillion|hundred|dozen|mln|bn|mn|[kmb]"
_SMALL_WORD = _alternatives([*_WORDS, *_BIG])
# Looked for from the left; each alternative begins with its own characters and repeats nothing that overlaps.
_NUMBER = re.compile(
    rf"""
      (?P<clock>(?<![\d:.])(?P<hours>[0-2]?\d)(?::(?P<minutes>[0-5]\d)(?!\d)\s?(?:[ap]\.?m\b)?|\s?[ap]\.?m\b))
    | (?P<jclock>(?:午前|午後)?(?P<jhours>[0-2]?\d)時(?!間)(?:(?P<jminutes>[0-5]?\d)分)?)
    | (?P<quarter>\bq(?P<q>[1-4])(?!\w))
    | (?P<nth>(?<![\w.,])(?P<n>\d{{1,9}})(?:st|nd|rd|th)\b(?P<nq>\squarter)?|第(?P<jn>\d{{1,9}}))
    | (?P<ordinal>\b(?P<o>{_alternatives(list(_ORDINALS))})\b(?P<oq>\squarter)?(?!s))
    | (?:
          (?P<sign>[$€£¥]\s?)?(?<![A-Za-z_\d])(?<![A-Za-z]-)(?<!\d[.,])(?P<digits>\d+(?:,\d{{3}}(?!\d))*(?:\.\d+)?)
          (?:[\s-]?(?P<scale>{_LATIN_SCALE})(?![A-Za-z])|(?P<jscale>百万|千万|[千万億兆]))?
        | (?P<words>\b(?:{_SMALL_WORD})(?:[\s-](?:and\s)?(?:{_SMALL_WORD}))*\b)
        | (?P<han>[〇一二三四五六七八九十百千万億兆]+)
      ){_UNIT}?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_UNIT_OF = {way: re.compile(f"(?:{_alternatives(ways)})") for way, ways in _UNITS.items()}
_LONGEST = 30  # more digits are an identifier


def numbers(text: str) -> tuple[list[TextNumber], str]:
    """The numbers of a visible text without its dates, in order, and the text with blanks in their places.

    >>> [(number.value, number.unit) for number in numbers("up 1.5 % to twenty-five million dollars, 三百二十円")[0]]
    [(1.5, 'percent'), (25000000.0, 'usd'), (320.0, 'jpy')]
    """
    found: list[TextNumber] = []

    def take(match: re.Match[str]) -> str:
        before = len(found)
        found.extend(_read(match))
        return " " * len(match.group()) if len(found) > before else match.group()

    return found, _NUMBER.sub(take, text)


def _read(match: re.Match[str]) -> Iterator[TextNumber]:
    text = match.group().strip()
    if match["clock"]:
        yield TextNumber(_minutes(match["hours"], match["minutes"]), "clock", text)
    elif match["jclock"]:
        yield TextNumber(_minutes(match["jhours"], match["jminutes"]), "clock", text)
    elif match["quarter"]:
        yield TextNumber(float(match["q"]), "quarter", text)
    elif match["nth"]:
        unit = "quarter" if match["nq"] else "ordinal"
        yield TextNumber(float(match["n"] or match["jn"]), unit, text)
    elif match["ordinal"]:
        unit = "quarter" if match["oq"] else "ordinal"
        yield TextNumber(_ORDINALS[match["o"].lower()], unit, text)
    elif match["digits"]:
        yield from _of_digits(match, text)
    elif match["words"]:
        yield from _of_words(match["words"].lower(), _unit(match["unit"]), text)
    else:
        yield from _of_han(match["han"], _unit(match["unit"]), text)


def _minutes(hours: str, minutes: str | None) -> float:
    # 17:30 and 5:30 in the afternoon are one time; which half of the day is often left out.
    return float((int(hours) % 12) * 60 + int(minutes or 0))


def _of_digits(match: re.Match[str], text: str) -> Iterator[TextNumber]:
    digits = match["digits"].replace(",", "")
    if len(digits) > _LONGEST:
        return
    decimals = len(digits.partition(".")[2])
    scale = _SCALES[(match["scale"] or match["jscale"]).lower()] if match["scale"] or match["jscale"] else 1.0
    unit = _unit(match["unit"]) or (_SIGNS[match["sign"].strip()] if match["sign"] else "")
    yield _number(float(digits) * scale, unit, text, 10.0**-decimals * scale)


def _of_words(words: str, unit: str, text: str) -> Iterator[TextNumber]:
    """Number words as numbers: `two hundred and five` is one, `one two` are two."""
    total = group = 0.0
    last = 0.0
    for word in re.split(r"[\s-]+", words):
        if word in _BIG:
            if word == "hundred":
                group = max(group, 1.0) * 100
            else:
                total, group = total + max(group, 1.0) * _BIG[word], 0.0
            last = _BIG[word]
        elif word in _WORDS:
            value = _WORDS[word]
            if last and not (last >= 100 or (20 <= last < 100 and value < 10)):
                yield TextNumber(total + group, "", text)
                total = group = 0.0
            group += value
            last = value or 1.0
    # A lone `one` is a pronoun as often as a number.
    if words != "one" or unit:
        yield _number(total + group, unit, text, 1.0 if total + group < 1e3 else (total + group) / 10)


def _of_han(signs: str, unit: str, text: str) -> Iterator[TextNumber]:
    """Only with a unit, or of at least two signs one of which counts places: 一般 and 万一 are no numbers."""
    if signs == "万一" and not unit:
        return
    places = any(sign in _HAN_TENS or sign in _HAN_BIG for sign in signs)
    if not unit and not (places and len(signs) > 1 and any(sign in _HAN for sign in signs)):
        return
    if len(signs) > _LONGEST:
        return
    if not places:
        yield _number(float("".join(str(int(_HAN[sign])) for sign in signs)), unit, text, 1.0)
        return
    total = group = digit = 0.0
    for sign in signs:
        if sign in _HAN:
            digit = digit * 10 + _HAN[sign]
        elif sign in _HAN_TENS:
            group, digit = group + (digit or 1.0) * _HAN_TENS[sign], 0.0
        else:
            total, group, digit = total + ((group + digit) or 1.0) * _HAN_BIG[sign], 0.0, 0.0
    yield _number(total + group + digit, unit, text, 1.0)


def _number(value: float, unit: str, text: str, step: float) -> TextNumber:
    if unit == "tenths":
        return TextNumber(value * 10, "percent", text, step * 10)
    return TextNumber(value, unit, text, step)


def _unit(text: str | None) -> str:
    if not text:
        return ""
    bare = text.strip(" \t\n-\u3000").lower()
    return next((unit for unit, way in _UNIT_OF.items() if way.fullmatch(bare)), "")
