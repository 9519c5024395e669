"""Which days does a week, a month or a season have? Pairs of dates: the first day, and the day after the last.

What is no date, such as 30 February or the year 0, raises ValueError or OverflowError, as `datetime` does.
"""

from datetime import date, datetime, timedelta
from typing import NamedTuple

Days = tuple[date, date]
SEASONS = ("spring", "summer", "autumn", "winter")
NEAR_A_WEEK = 3
"""Who says 'two weeks ago' means a day within three of it."""


class SaidDate(NamedTuple):
    """A date as it stands in a text, and the days that it means."""

    at: int
    end: int
    days: Days
    month: int | None = None
    """With `day`, what was said without a year, to be read again in the year that a neighbor names."""
    day: int | None = None
    year: int | None = None
    """The year, where it was said."""
    closed: bool = False
    """Whether both ends were said: from one date to another."""


def one(day: date) -> Days:
    """A single day."""
    return day, day + timedelta(1)


def week(day: date) -> Days:
    """The week that a day is in, from Monday."""
    monday = day - timedelta(day.weekday())
    return monday, monday + timedelta(7)


def weekend(day: date) -> Days:
    """Saturday and Sunday of its week."""
    monday, after = week(day)
    return monday + timedelta(5), after


def month(year: int, number: int) -> Days:
    """A month.

    >>> month(2023, 12)
    (datetime.date(2023, 12, 1), datetime.date(2024, 1, 1))
    """
    first = date(year, number, 1)
    return first, months_on(first, 1)


def length(of: int, number: int) -> int:
    """How many days a month has; 0 if there is none of that number."""
    return (month(of, number)[1] - date(of, number, 1)).days if 1 <= number <= 12 and 1 <= of < 9999 else 0


def third(year: int, number: int, part: int) -> Days:
    """The first, second or last ten days of a month, counted from 0; the last have what is left."""
    first, after = month(year, number)
    return first + timedelta(10 * part), after if part == 2 else first + timedelta(10 * (part + 1))


def year(number: int) -> Days:
    """A year."""
    return date(number, 1, 1), date(number + 1, 1, 1)


def quarter(of: int, number: int) -> Days:
    """A quarter of a year, counted from 1."""
    first = date(of, 3 * number - 2, 1)
    return first, months_on(first, 3)


def season(of: int, name: str) -> Days:
    """Three whole months, as in the north; a winter begins in the year that is said."""
    first = date(of, 3 * SEASONS.index(name) + 3, 1)
    return first, months_on(first, 3)


def months_on(day: date, count: int) -> date:
    """The same day of another month, or the last that it has."""
    at = day.year * 12 + day.month - 1 + count
    for last in (day.day, 30, 29, 28):
        try:
            return date(at // 12, at % 12 + 1, min(last, day.day))
        except ValueError:
            if not 1 <= at // 12 <= 9999:
                raise
    raise ValueError(day)


def shifted(now: datetime, unit: str, count: float) -> Days:
    """So many units from now, before it if below 0: the day, the week around it, the calendar month or year.

    >>> shifted(datetime(2023, 8, 19), "week", -2)
    (datetime.date(2023, 8, 2), datetime.date(2023, 8, 9))
    """
    today = now.date()
    match unit:
        case "hour":
            return one((now + timedelta(hours=count)).date())
        case "day":
            return one(today + timedelta(count))
        case "week":
            day = today + timedelta(7 * count)
            return day - timedelta(NEAR_A_WEEK), day + timedelta(NEAR_A_WEEK + 1)
        case "month":
            on = months_on(today, int(count))
            return month(on.year, on.month)
        case _:
            return year(today.year + int(count))


def running(first: date, unit: str, count: float) -> date:
    """The day so many units from another: where a stretch of that length ends, or began."""
    match unit:
        case "hour":
            return first
        case "day":
            return first + timedelta(count)
        case "week":
            return first + timedelta(7 * count)
        case "month":
            return months_on(first, int(count))
        case _:
            return months_on(first, int(12 * count))


def calendar(today: date, unit: str, step: int) -> Days:
    """This week, month or year, or one `step` away."""
    match unit:
        case "day":
            return one(today + timedelta(step))
        case "week":
            return week(today + timedelta(7 * step))
        case "weekend":
            return weekend(today + timedelta(7 * step))
        case "month":
            on = months_on(today.replace(day=1), step)
            return month(on.year, on.month)
        case "quarter":
            on = months_on(today.replace(day=1), 3 * step)
            return quarter(on.year, (on.month + 2) // 3)
        case _:
            return year(today.year + step)


def recent(today: date, number: int, day: int | None = None) -> Days:
    """A month, or a day of it, that was said without a year: the latest that has begun."""
    for of in range(today.year, today.year - 9, -1):  # 29 February comes every fourth year, and once only every eighth
        try:
            found = month(of, number) if day is None else one(date(of, number, day))
        except ValueError:
            continue
        if found[0] <= today:
            return found
    raise ValueError(f"{number}-{day}")


def weekday(today: date, number: int, which: str) -> Days:
    """Monday is 0. `last` and `next` leave out today, `this` is that of this week, and plain is the latest so far."""
    back = (today.weekday() - number) % 7
    match which:
        case "last":
            return one(today - timedelta(back or 7))
        case "next":
            return one(today + timedelta(7 - back))
        case "this":
            return one(today + timedelta(number - today.weekday()))
        case _:
            return one(today - timedelta(back))
