"""When does a question mean? Dates and stretches of time in a text, as intervals: '19 August 2023', 'last May', 昨日.

A query is read as of a moment: 'yesterday' is the day before that, in its time zone, and a month or a day without a
year is the latest that has begun. Weeks begin on Monday; seasons are those of the north. 03/04/2023 may be in March or
in April, so it gives both; 3.4.2023 is in April. Numbers alone, such as 8/19 or 2023 without a word before it, are not
taken for dates.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from math import inf
from typing import NamedTuple

from scalepan.text import days
from scalepan.text.dates_english import away, count_of, english
from scalepan.text.dates_japanese import japanese
from scalepan.text.days import Days, SaidDate

LONGEST = 4_000
"""Characters of a text that are looked at."""
LOOK_BACK = 60
"""How far before a date the words may stand that say what of it is meant."""
MOST = 16
"""How many dates are read; nobody asks about more."""


class TimeSpan(NamedTuple):
    """A date or a stretch of time: where it stands in the text, and the interval that it means."""

    at: int
    end_at: int
    start: float
    """Seconds since 1970; -inf where only an end was said."""
    end: float
    """The first moment after it; inf where only a start was said. Always later than `start`."""


# Characters and words without which there is no date: most queries go no further. Lower case.
_ENGLISH = re.compile(
    r"[0-9]|day|week|month|year|night|morning|evening|afternoon|spring|summer|autumn|\bfall|winter|ago\b|tomorrow"
    r"|tonight|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
)
_JAPANESE = re.compile(r"[年月週昨今明本前去]|おとと|きのう|きょう|あした|あさって|[0-9][日時]|[十半]日")
# Each to one character, so that places in the text stay.
_PLAIN = str.maketrans("０１２３４５６７８９／．－‐‑　\xa0", "0123456789/.---  ")
_JOINS = re.compile(r"\s*(?:(?P<and>and)|to|through|thru|until|till|-|–|—|〜|～|~|から)\s*(?:the\s+)?", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s+(?:the\s+)?$", re.IGNORECASE)
_OFFSET = re.compile(
    r"(?:\b(?P<count>\d{1,4}|the|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:a\s)?couple\sof"
    r"|(?:a\s)?few)\s+(?P<unit>day|week|month|year)s?\s+)(?P<way>before|prior\sto|after|following)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?P<way>since|before|prior to|until|till|up to|by|after|following)\s+(?:the\s+)?$", re.IGNORECASE
)
_BEHIND = re.compile(r"(?:の)?(?P<way>以降|以来|から|以前|より前|まで|より後|以後|onwards?)")


def dates_in(text: str, now: float | datetime) -> list[TimeSpan]:
    """The dates of a text in their order, as of `now`: seconds since 1970, or a time, whose zone says when days begin.

    >>> [span] = dates_in("What did Aoi say on 19 August 2023?", 1.8e9)
    >>> datetime.fromtimestamp(span.start, UTC).isoformat(), (span.end - span.start) / 3600
    ('2023-08-19T00:00:00+00:00', 24.0)
    """
    text = text[:LONGEST]
    is_english = _ENGLISH.search(text.lower() if text.isascii() else text.translate(_PLAIN).lower()) is not None
    is_japanese = not text.isascii() and _JAPANESE.search(text.translate(_PLAIN)) is not None
    if not (is_english or is_japanese):
        return []
    moment = datetime.fromtimestamp(now, UTC) if isinstance(now, (int, float)) else now
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    plain = text.translate(_PLAIN)
    found = [*(japanese(plain, moment) if is_japanese else ()), *(english(plain, moment) if is_english else ())]
    spans = [_meant(said, plain, moment) for said in _joined(_apart(found)[:MOST], plain)]
    return [span for span in spans if span is not None]


def _apart(found: Sequence[SaidDate]) -> list[SaidDate]:
    """Without what lies in or across another that was found by an earlier form; two readings of one place stay."""
    kept: list[SaidDate] = []
    for said in found:
        if all(said.end <= other.at or other.end <= said.at or said[:2] == other[:2] for other in kept):
            kept.append(said)
    return sorted(kept, key=lambda said: (said.at, said.end, said.days))


def _joined(found: Sequence[SaidDate], text: str) -> list[SaidDate]:
    """'From 3 May to 7 June 2023' is one stretch, and its first date is of the year that its second names."""
    joined: list[SaidDate] = []
    for said in found:
        last = joined[-1] if joined else None
        both = _stretch(last, said, text) if last is not None else None
        if both is None:
            joined.append(said)
        else:
            joined[-1] = both
    return joined


def _stretch(first: SaidDate, last: SaidDate, text: str) -> SaidDate | None:
    between = _JOINS.fullmatch(text, first.end, last.at) if first.end < last.at <= first.end + 20 else None
    if between is None or (between["and"] and not _BETWEEN.search(text, max(first.at - LOOK_BACK, 0), first.at)):
        return None
    begin, end = _in_year(first, last.year), _in_year(last, first.year)
    if begin[0] >= end[1]:
        return None
    return SaidDate(first.at, last.end, (begin[0], end[1]), year=first.year or last.year, closed=True)


def _in_year(said: SaidDate, year: int | None) -> Days:
    if year is None or said.month is None:
        return said.days
    try:
        return days.month(year, said.month) if said.day is None else days.one(date(year, said.month, said.day))
    except (ValueError, OverflowError):
        return said.days


def _meant(said: SaidDate, text: str, now: datetime) -> TimeSpan | None:
    """The interval of a date, moved or opened by the words around it: 'two weeks before', 'since', 以降."""
    try:
        first, after = said.days
        at = said.at
        if offset := _OFFSET.search(text, max(at - LOOK_BACK, 0), at):
            first, after = _moved(offset, said.days, now)
            return TimeSpan(offset.start(), said.end, _seconds(first, now), _seconds(after, now))
        start, end = _seconds(first, now), _seconds(after, now)
        way = None if said.closed else _BEFORE.search(text, max(at - LOOK_BACK, 0), at) or _BEHIND.match(text, said.end)
        return _opened(said, way["way"].lower() if way else "", start, end, now)
    except (ValueError, OverflowError, OSError):
        return None


def _moved(offset: re.Match[str], of: Days, now: datetime) -> Days:
    """'Two weeks before' a date is about a day; 'the week before' is the seven days that end with it."""
    sign = -1 if offset["way"].lower() in ("before", "prior to") else 1
    unit = offset["unit"].lower()
    if offset["count"].lower() == "the":
        return (days.running(of[0], unit, -1), of[0]) if sign < 0 else (of[1], days.running(of[1], unit, 1))
    from_ = of[0] if sign < 0 else of[1] - timedelta(1)
    return away(datetime.combine(from_, time(), now.tzinfo), unit, count_of(offset["count"]), sign)


_SINCE, _UNTIL = (
    ("since", "以降", "以来", "から", "onward", "onwards"),
    ("until", "till", "up to", "by", "まで", "以前"),
)
_EARLIER, _LATER = ("before", "prior to", "より前"), ("after", "following", "より後", "以後")


def _opened(said: SaidDate, way: str, start: float, end: float, now: datetime) -> TimeSpan:
    if way in _SINCE:
        end = max(end, _seconds(now.date() + timedelta(1), now))
    elif way in _UNTIL:
        start = -inf
    elif way in _EARLIER:
        start, end = -inf, start
    elif way in _LATER:
        start, end = end, inf
    return TimeSpan(said.at, said.end, start, end)


def _seconds(day: date, now: datetime) -> float:
    return datetime.combine(day, time(), now.tzinfo).timestamp()
