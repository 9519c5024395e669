"""Dates in Japanese: 2023年8月19日, 昨日, 先週の金曜日, 今年の5月, 3日前, 令和5年."""

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta

from scalepan.text import days
from scalepan.text.days import SaidDate

_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}
_KANJI = {sign: number for number, sign in enumerate("〇一二三四五六七八九")}
_WEEKDAYS = "月火水木金土日"
_UNITS = {"日": "day", "週": "week", "月": "month", "年": "year", "時": "hour"}
_SEASONS = dict(zip("春夏秋冬", days.SEASONS, strict=True))
_THIRDS = {"上旬": 0, "初旬": 0, "中旬": 1, "下旬": 2, "末": 2}
_DAYS = {
    word: step
    for step, words in {
        -2: ("一昨日", "おととい"),
        -1: ("昨日", "きのう", "昨夜", "昨晩"),
        0: ("今日", "きょう", "本日", "今朝", "今夜", "今晩"),
        1: ("明日", "あした"),
        2: ("明後日", "あさって"),
    }.items()
    for word in words
}
_WEEKS = {"先々週": -2, "先週": -1, "今週": 0, "来週": 1, "再来週": 2}
_MONTHS = {"先々月": -2, "先月": -1, "今月": 0, "来月": 1, "再来月": 2}
_YEARS = {
    word: step
    for step, words in {
        -2: ("一昨年", "おととし"),
        -1: ("去年", "昨年"),
        0: ("今年", "本年"),
        1: ("来年",),
        2: ("再来年",),
    }.items()
    for word in words
}


def _names(*tables: dict[str, int]) -> str:
    return "|".join(sorted((name for table in tables for name in table), key=len, reverse=True))


_N = r"(?P<count>\d{1,4}|[一二三四五六七八九十]{1,3}|半)"
_U = r"(?P<unit>日間?|週間?|[かヶケカヵ箇]月間?|年間?|時間)"
_YEAR = rf"(?:(?P<year>\d{{4}})|(?P<era>{'|'.join(_ERAS)})(?P<nth>\d{{1,2}}|元))年|(?P<rel>{_names(_YEARS)})"
_MONTH = r"(?P<month>1[0-2]|0?[1-9])月(?!間)"
_DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])日(?![間前後])"


def japanese(text: str, now: datetime) -> Iterator[SaidDate]:
    """Every date that a form finds, those of the longer forms first; they may overlap."""
    for form, read in _FORMS:
        for match in form.finditer(text):
            try:
                found = read(match, now)
            except (ValueError, OverflowError):
                continue  # looks like a date, and there is none
            yield found._replace(at=match.start(), end=match.end())


def count_of(word: str) -> float:
    """A number in figures or in kanji; 半 is a half.

    >>> count_of("3"), count_of("十二"), count_of("二十"), count_of("半")
    (3, 12, 20, 0.5)
    """
    if word == "半":
        return 0.5
    if word[0] not in _KANJI and word[0] != "十":
        return int(word)
    tens, ten, ones = word.partition("十")
    if not ten:
        return int("".join(str(_KANJI[sign]) for sign in word))
    return 10 * (_KANJI[tens] if tens else 1) + (_KANJI[ones] if ones else 0)


def _year_of(match: re.Match[str], now: datetime) -> int | None:
    if match["year"]:
        return int(match["year"])
    if match["era"]:
        return _ERAS[match["era"]] + (1 if match["nth"] == "元" else int(match["nth"]))
    return now.year + _YEARS[match["rel"]] if match["rel"] else None


def _dated(match: re.Match[str], now: datetime) -> SaidDate:
    """A year with what of a month and a day stands after it."""
    of = _year_of(match, now) or 0
    if match["season"]:
        return SaidDate(0, 0, days.season(of, _SEASONS[match["season"]]), year=of)
    if not match["month"]:
        return SaidDate(0, 0, days.year(of), year=of)
    number = int(match["month"])
    if match["day"]:
        return SaidDate(0, 0, days.one(date(of, number, int(match["day"]))), year=of)
    if match["third"]:
        return SaidDate(0, 0, days.third(of, number, _THIRDS[match["third"]]), year=of)
    return SaidDate(0, 0, days.month(of, number), year=of)


def _yearless(match: re.Match[str], now: datetime) -> SaidDate:
    number, day = int(match["month"]), int(match["day"]) if match["day"] else None
    found = days.recent(now.date(), number, day)
    if match["third"]:
        return SaidDate(0, 0, days.third(found[0].year, number, _THIRDS[match["third"]]))
    return SaidDate(0, 0, found, month=number, day=day)


def _of_month(match: re.Match[str], now: datetime) -> SaidDate:
    first, after = days.calendar(now.date(), "month", _MONTHS[match["rel"]])
    if match["day"]:
        return SaidDate(0, 0, days.one(first.replace(day=int(match["day"]))))
    if match["third"]:
        return SaidDate(0, 0, days.third(first.year, first.month, _THIRDS[match["third"]]))
    return SaidDate(0, 0, (first, after))


def _of_week(match: re.Match[str], now: datetime) -> SaidDate:
    first, after = days.calendar(now.date(), "week", _WEEKS[match["rel"]])
    if match["end"]:
        return SaidDate(0, 0, days.weekend(first))
    if match["weekday"]:
        return SaidDate(0, 0, days.one(first + timedelta(_WEEKDAYS.index(match["weekday"]))))
    return SaidDate(0, 0, (first, after))


def _named(match: re.Match[str], now: datetime) -> SaidDate:
    return SaidDate(0, 0, days.calendar(now.date(), "day", _DAYS[match["name"]]))


def _unit_of(match: re.Match[str]) -> tuple[str, float]:
    unit = next(unit for sign, unit in _UNITS.items() if sign in match["unit"])
    count = count_of(match["count"])
    return ("month", 6) if (unit, count) == ("year", 0.5) else (unit, count)


def _away(match: re.Match[str], now: datetime) -> SaidDate:
    unit, count = _unit_of(match)
    return SaidDate(0, 0, days.shifted(now, unit, count if match["way"] == "後" else -count))


def _stretch(match: re.Match[str], now: datetime) -> SaidDate:
    unit, count = _unit_of(match)
    tomorrow = now.date() + timedelta(1)
    return SaidDate(0, 0, (days.running(tomorrow, unit, -count), tomorrow))


_Read = Callable[[re.Match[str], datetime], SaidDate]


def _form(pattern: str, read: _Read) -> tuple[re.Pattern[str], _Read]:
    return re.compile(pattern, re.ASCII), read


_THIRD = rf"(?P<third>{'|'.join(_THIRDS)})"
_FORMS = (
    _form(rf"(?:ここ|この|過去|直近|最近の?){_N}{_U}", _stretch),
    _form(rf"(?<!\d){_N}{_U}(?:ほど|くらい|ぐらい)?(?P<way>前|後)", _away),
    _form(rf"(?<!\d)(?:{_YEAR})(?![前後間])の?(?:{_MONTH}(?:の?(?:{_DAY}|{_THIRD}))?|(?P<season>[春夏秋冬]))?", _dated),
    _form(rf"(?P<rel>{_names(_MONTHS)})(?:の?(?:{_DAY}|{_THIRD}))?", _of_month),
    _form(rf"(?P<rel>{_names(_WEEKS)})(?:の?(?:(?P<weekday>[月火水木金土日])曜日?|(?P<end>末|週末)))?", _of_week),
    _form(rf"(?<!\d){_MONTH}(?:{_DAY}|の?{_THIRD})?", _yearless),
    _form(rf"(?P<name>{_names(_DAYS)})", _named),
)
"""The longer first: what one has taken, the others leave alone."""
