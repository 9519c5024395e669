"""Dates in English, and in figures: '19 August 2023', '2023-08-19', 'last May', 'two weeks ago', 'in 2022'."""

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta

from scalepan.text import days
from scalepan.text.days import Days, SaidDate

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TO_TWELVE = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: number for number, word in enumerate(_TO_TWELVE, 1)} | {"a": 1, "an": 1}
_NUMBERS |= {"couple of": 2, "a couple of": 2}
_FEW = ("a few", "few", "several")
FEWEST, MOST = 2, 5
"""What 'a few' spans."""
_ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": -1}
_VERBS = ("may", "march")
"""Months that are also words: in small letters they count only where a date is plainly meant."""
_MEANT = re.compile(r"\b(?:on|since|until|till|before|after|by|from|to|in|the)\s+$", re.IGNORECASE)

_M = (
    r"(?P<month>january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
_Y = r"(?P<year>(?:1[5-9]|20|21)\d\d)(?!\d)"
_D = r"(?P<day>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_D2 = r"(?:\s?(?:-|–|to|through)\s?(?P<day2>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?)?"
_W = r"(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_N = (
    r"(?P<count>\d{1,4}|(?:a\s)?couple\sof|(?:a\s)?few|several|an?|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve)"
)
_U = r"(?P<unit>hour|day|week|month|year)"
_OPEN = r"in|during|since|until|till|before|after|early|mid|late|throughout"
_CLOSED = r"of|by|to|and|from|between|through"
STEPS = {"last": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_SURE = ("in", "during", "since", "last", "previous", "next", "early", "mid", "late")
"""Words before a month that stand before no verb."""
_STEP = r"(?P<step>last|previous|this|current|next|coming)"


def english(text: str, now: datetime) -> Iterator[SaidDate]:
    """Every date that a form finds, those of the longer forms first; they may overlap."""
    for form, read in _FORMS:
        for match in form.finditer(text):
            try:
                for found in read(match, now):
                    at = match.start("at") if "at" in form.groupindex else match.start()
                    yield found._replace(at=at, end=match.end())
            except (ValueError, OverflowError):
                continue  # looks like a date, and there is none


def count_of(word: str) -> int:
    """How many a word or figure means; 0 for 'a few'.

    >>> count_of("two"), count_of("14"), count_of("a few")
    (2, 14, 0)
    """
    plain = " ".join(word.lower().split())
    return 0 if plain in _FEW else _NUMBERS[plain] if plain in _NUMBERS else int(plain)


def _said(found: Days, month: int | None = None, day: int | None = None, year: int | None = None) -> list[SaidDate]:
    return [SaidDate(0, 0, found, month, day, year)]


def _month_of(match: re.Match[str]) -> int:
    start = match["month"][:3].lower()
    return next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(start))


def _iso(match: re.Match[str], _: datetime) -> list[SaidDate]:
    of = int(match["year"])
    return _said(days.one(date(of, int(match["m"]), int(match["d"]))), year=of)


def _iso_month(match: re.Match[str], _: datetime) -> list[SaidDate]:
    of = int(match["year"])
    return _said(days.month(of, int(match["m"])), year=of)


def _figures(match: re.Match[str], _: datetime) -> list[SaidDate]:
    """With slashes, month first or day first: nobody can tell, so both are meant where both are dates."""
    of = int(match["year"]) + (2000 if len(match["year"]) == 2 else 0)
    one, other = int(match["a"]), int(match["b"])
    orders = [(other, one)] if match["sign"] == "." else [(one, other), (other, one)]
    firsts = {date(of, month, day) for month, day in orders if month <= 12 and day <= days.length(of, month)}
    return [SaidDate(0, 0, days.one(first), year=of) for first in sorted(firsts)]


def _day(match: re.Match[str], now: datetime) -> list[SaidDate]:
    number, first = _month_of(match), int(match["day"])
    if (
        match["month"] in _VERBS
        and not match["year"]
        and not _MEANT.search(match.string, max(match.start() - 12, 0), match.start())
    ):
        return []
    of = int(match["year"]) if match["year"] else None
    begin = days.one(date(of, number, first)) if of else days.recent(now.date(), number, first)
    if match["day2"]:
        last = days.one(date(begin[0].year, number, int(match["day2"])))
        return _said((begin[0], last[1]), year=of) if last[0] >= begin[0] else []
    return _said(begin, year=of) if of else _said(begin, month=number, day=first)


def _part(match: re.Match[str], now: datetime) -> list[SaidDate]:
    """The second week, the first half, early: of a month."""
    number = _month_of(match)
    of = int(match["year"]) if match["year"] else days.recent(now.date(), number)[0].year
    first, after = days.month(of, number)
    if match["third"]:
        return _said(days.third(of, number, ("early", "mid", "late").index(match["third"].lower())), year=of)
    part, half = _ORDINALS[match["part"].lower()], match["what"].lower() == "half"
    size = 15 if half else 7
    if part == -1 or (half and part == 2):
        return _said((first + timedelta(15) if half else after - timedelta(7), after), year=of)
    return _said((first + timedelta(size * (part - 1)), first + timedelta(size * part)), year=of) if part < 5 else []


def _month_and_year(match: re.Match[str], _: datetime) -> list[SaidDate]:
    of = int(match["year"])
    return _said(days.month(of, _month_of(match)), year=of)


def _month(match: re.Match[str], now: datetime) -> list[SaidDate]:
    """A month with nothing but a word before it: in May, last May."""
    number, word, name = _month_of(match), match["before"].lower(), match["month"]
    if name[0].islower() and (name in _VERBS or len(name.rstrip(".")) < 4) and word not in _SURE:
        return []
    today = now.date()
    if word not in STEPS:
        return _said(days.recent(today, number), month=number)
    # The last May is one that is over; the next has not begun.
    step = STEPS[word]
    passed = number < today.month if step < 0 else number <= today.month
    of = today.year + (step if passed == (step > 0) else 0)
    return _said(days.month(of, number))


def _season(match: re.Match[str], now: datetime) -> list[SaidDate]:
    name = (match["season"] or match["season2"]).lower().replace("fall", "autumn")
    if match["year"]:
        return _said(days.season(int(match["year"]), name), year=int(match["year"]))
    today, step = now.date(), STEPS[match["step"].lower()]
    around = [days.season(today.year + on, name) for on in (-2, -1, 0, 1)]
    if step < 0:
        return _said([found for found in around if found[1] <= today][-1])
    if step > 0:
        return _said(next(found for found in around if found[0] > today))
    return _said(next(found for found in around if found[1] > today))


def _quarter(match: re.Match[str], _: datetime) -> list[SaidDate]:
    number = int(match["q"]) if match["q"] else _ORDINALS[match["part"].lower()]
    return _said(days.quarter(int(match["year"]), number), year=int(match["year"]))


def _decade(match: re.Match[str], _: datetime) -> list[SaidDate]:
    of = int(match["decade"])
    return _said((date(of, 1, 1), date(of + 10, 1, 1)), year=of)


def _year(match: re.Match[str], _: datetime) -> list[SaidDate]:
    return _said(days.year(int(match["year"])), year=int(match["year"]))


_DAY_WORDS = {
    word: step
    for step, words in {
        -2: ("day before yesterday",),
        -1: ("yesterday", "last night"),
        0: ("today", "tonight", "this morning", "this afternoon", "this evening"),
        1: ("tomorrow",),
        2: ("day after tomorrow",),
    }.items()
    for word in words
}


def _named(match: re.Match[str], now: datetime) -> list[SaidDate]:
    return _said(days.calendar(now.date(), "day", _DAY_WORDS[" ".join(match["name"].lower().split())]))


def _calendar(match: re.Match[str], now: datetime) -> list[SaidDate]:
    return _said(days.calendar(now.date(), match["unit"].lower(), STEPS[match["step"].lower()]))


def _stretch(match: re.Match[str], now: datetime) -> list[SaidDate]:
    """The last three days, the past week: up to today."""
    count = (count_of(match["count"]) or MOST) if match["count"] else 1
    tomorrow = now.date() + timedelta(1)
    return _said((days.running(tomorrow, match["unit"].lower(), -count), tomorrow))


def _ago(match: re.Match[str], now: datetime) -> list[SaidDate]:
    return _said(away(now, match["unit"].lower(), count_of(match["count"]), -1))


def _ahead(match: re.Match[str], now: datetime) -> list[SaidDate]:
    return _said(away(now, match["unit"].lower(), count_of(match["count"]), 1))


def away(now: datetime, unit: str, count: int, sign: int) -> Days:
    """So many units before (sign -1) or after a moment; 0 is a few."""
    if count:
        return days.shifted(now, unit, sign * count)
    ends = sorted((days.shifted(now, unit, sign * FEWEST), days.shifted(now, unit, sign * MOST)))
    return ends[0][0], ends[1][1]


def _weekday(match: re.Match[str], now: datetime) -> list[SaidDate]:
    word = match["which"].lower()
    which = {"past": "last", "previous": "last", "coming": "next"}.get(word, word)
    return _said(days.weekday(now.date(), _WEEKDAYS.index(match["weekday"].lower()), which))


_Read = Callable[[re.Match[str], datetime], list[SaidDate]]


def _form(pattern: str, read: _Read) -> tuple[re.Pattern[str], _Read]:
    return re.compile(pattern.replace(" ", r"\s{1,3}"), re.IGNORECASE | re.ASCII), read


_COUNTED = r"(?!\s?(?:%|percent|people|users|dollars|euros|tokens|ms|steps|claims|rows|times|items|words|kg|km|m\b))"
_PART = "|".join(_ORDINALS)
_SEASON = "spring|summer|autumn|fall|winter"
_ENDS = r"(?=\s*(?:[.?!,;)]|$"
_FORMS = (
    _form(r"(?<![\w.-])(?P<year>\d{4})(?P<sign>[-/.])(?P<m>\d\d?)(?P=sign)(?P<d>\d\d?)(?!\d)", _iso),
    _form(r"(?<![\w./-])(?P<a>\d{1,2})(?P<sign>[/.])(?P<b>\d{1,2})(?P=sign)(?P<year>\d{4}|\d\d)(?![\w/])", _figures),
    _form(rf"(?<![\w.:]){_D}{_D2} (?:of )?{_M}(?!\w)(?:,? {_Y})?", _day),
    _form(rf"\b{_M} (?:the )?{_D}{_D2}(?![\w:%]|\.\d)(?:,? {_Y})?", _day),
    _form(rf"\b(?P<third>early|mid|late)[\s-]{_M}(?!\w)(?:,? (?:of )?{_Y})?(?P<part>)", _part),
    _form(rf"\b(?P<part>{_PART}) (?P<what>week|half) of {_M}(?!\w)(?:,? (?:of )?{_Y})?(?P<third>)", _part),
    _form(rf"\b{_M},? (?:of )?{_Y}", _month_and_year),
    _form(r"(?<![\w./-])(?P<year>\d{4})-(?P<m>0[1-9]|1[0-2])(?![\w-])", _iso_month),
    _form(rf"\b(?:{_STEP} (?P<season>{_SEASON})|(?P<season2>{_SEASON}),? (?:of )?{_Y})\b", _season),
    _form(rf"\b(?:q(?P<q>[1-4])|(?P<part>{_PART}) quarter),? (?:of )?{_Y}", _quarter),
    _form(r"(?<![\w.])(?P<decade>(?:1[5-9]|20)\d0)'?s\b", _decade),
    _form(rf"\b(?P<before>last|previous|this|next|coming) {_M}(?![\w'’])", _month),
    _form(rf"\b(?P<before>{_OPEN}|{_CLOSED})[\s-](?P<at>{_M})(?![\w'’])", _month),
    _form(rf"\b(?:{_OPEN}|year)[\s-](?P<at>{_Y})(?![.,]?\d|-\d){_COUNTED}", _year),
    _form(rf"\b(?:{_CLOSED}) (?P<at>{_Y})(?![.,]\d){_ENDS}|to\b|and\b|until\b|through\b|[-–]))", _year),
    _form(rf"\b(?P<name>{'|'.join(sorted(_DAY_WORDS, key=len, reverse=True))})\b", _named),
    _form(rf"\b(?:last|past|previous) {_N} {_U}s?\b", _stretch),
    _form(rf"\bpast (?P<count>){_U}\b", _stretch),
    _form(rf"\b{_STEP} (?P<unit>weekend|week|month|quarter|year)\b", _calendar),
    _form(rf"(?<![\w.]){_N} {_U}s? (?:ago|back)\b", _ago),
    _form(rf"(?<![\w.]){_N} {_U}s? from (?:now|today)\b", _ahead),
    _form(rf"\bin (?P<at>{_N} {_U}s?){_ENDS}))", _ahead),
    _form(rf"\b(?P<which>last|past|previous|this|next|coming) {_W}\b", _weekday),
    _form(rf"\b(?:on|since|until|till|before|after|by)(?P<which>) (?P<at>{_W})\b", _weekday),
)
"""The longer first: what one has taken, the others leave alone."""
