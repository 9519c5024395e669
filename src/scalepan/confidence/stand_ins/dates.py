"""Which dates does a text state? Whole or in part: a year, a month and a day, a weekday; English, ISO and Japanese."""

import re

import msgspec


class Date(msgspec.Struct, frozen=True, gc=False):
    """As much of a date as was said."""

    text: str
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None

    @property
    def said(self) -> dict[str, int]:
        """The fields that were said."""
        fields = {"year": self.year, "month": self.month, "day": self.day, "weekday": self.weekday}
        return {name: value for name, value in fields.items() if value is not None}

    def agrees(self, source: "Date") -> bool:
        """Whether the source's date carries this one: something in common, and nothing different.

        >>> said, = dates("May 6, 2024")[0]
        >>> said.agrees(dates("2024年5月6日")[0][0]), said.agrees(dates("7 May 2024")[0][0])
        (True, False)
        """
        mine, other = self.said, source.said
        common = mine.keys() & other.keys()
        return bool(common) and all(mine[name] == other[name] for name in common)

    def rivals(self, source: "Date") -> bool:
        """Whether the source's date says something else about the same field."""
        mine, other = self.said, source.said
        return any(mine[name] != other[name] for name in mine.keys() & other.keys())


_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH_AT = {name[:3]: at + 1 for at, name in enumerate(_MONTHS)}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY_AT = {name[:3]: at for at, name in enumerate(_DAYS)}
_KANJI_DAY = {sign: at for at, sign in enumerate("月火水木金土日")}
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}
_YEAR = r"(?:1[5-9]|20)\d\d"
# `May` and `March` are words too: written small or without a day or year beside them they are not dates.
_SHORT = "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
_MONTH = rf"(?:(?:{'|'.join(_MONTHS)})|(?:{_SHORT})\b\.?)"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?!\d)"
_DATE = re.compile(
    rf"""
      (?<![\d.-])(?P<iso_y>{_YEAR})[-/.](?P<iso_m>0?[1-9]|1[0-2])[-/.](?P<iso_d>{_DAY})
    | (?<![\d/])(?P<us_a>{_DAY})/(?P<us_b>{_DAY})/(?P<us_y>{_YEAR})(?!\d)
    | \b(?P<m1>{_MONTH})\s(?P<d1>{_DAY})(?:st|nd|rd|th)?(?!:|\.\d|\s?%)(?:,?\s(?P<y1>{_YEAR})(?!\d))?
    | (?<![\d.])(?P<d2>{_DAY})(?:st|nd|rd|th)?\s(?:of\s)?(?P<m2>{_MONTH})\b(?:,?\s(?P<y2>{_YEAR})(?!\d))?
    | \b(?P<m3>{_MONTH}),?\s(?:of\s)?(?P<y3>{_YEAR})(?!\d)
    | \b(?P<m4>January|February|April|June|July|August|September|October|November|December|(?<=in\s)(?:May|March))\b
    | \b(?P<weekday>{"|".join(_DAYS)})s?\b
    | (?P<kanji_day>[月火水木金土日])曜日?
    | (?:(?P<jy>{_YEAR})|(?P<era>{"|".join(_ERAS)})(?P<era_y>\d{{1,2}}|元))年(?![間前後])
      (?:(?P<jm1>1[0-2]|0?[1-9])月(?:(?P<jd1>{_DAY})日(?!間))?)?
    | (?<!\d)(?P<jm2>1[0-2]|0?[1-9])月(?:(?P<jd2>{_DAY})日(?!間))?
    | (?<!\d)(?P<jd3>{_DAY})日(?!間)
    | (?<![\w.,$€£¥/-])(?P<year>{_YEAR})(?=s?(?:[\s.,;:!?)\]'"]|-(?!\d{{3,}}\b)|$|[^\x00-\x7f]))
      (?![.,]\d)(?!\s?(?:%|percent|people|users|dollars|人|円|個|件|名|台))
    """,
    re.VERBOSE | re.IGNORECASE,
)


def dates(text: str) -> tuple[list[Date], str]:
    """The dates of a visible text in order, and the text with blanks in their places.

    >>> [found.said for found in dates("on Monday, 3 June 2019")[0]]
    [{'weekday': 0}, {'year': 2019, 'month': 6, 'day': 3}]
    """
    found: list[Date] = []

    def take(match: re.Match[str]) -> str:
        found.append(_read(match))
        return " " * len(match.group())

    return found, _DATE.sub(take, text)


def _read(match: re.Match[str]) -> Date:
    said = {name: value for name, value in match.groupdict().items() if value}
    text = match.group()
    if "iso_y" in said:
        return Date(text, int(said["iso_y"]), int(said["iso_m"]), int(said["iso_d"]))
    if "us_y" in said:
        first, second = int(said["us_a"]), int(said["us_b"])
        # The American order, unless only the other one can be.
        american = first <= 12
        return Date(text, int(said["us_y"]), first if american else second, second if american else first)
    if "weekday" in said:
        return Date(text, weekday=_DAY_AT[said["weekday"][:3].lower()])
    if "kanji_day" in said:
        return Date(text, weekday=_KANJI_DAY[said["kanji_day"]])
    named = next((said[name][:3].lower() for name in ("m1", "m2", "m3", "m4") if name in said), None)
    month = _MONTH_AT[named] if named else _first(said, "jm1", "jm2")
    year = _first(said, "y1", "y2", "y3", "jy", "year")
    if "era" in said:
        year = _ERAS[said["era"]] + (1 if said["era_y"] == "元" else int(said["era_y"]))
    return Date(text, year, month, _first(said, "d1", "d2", "jd1", "jd2", "jd3"))


def _first(said: dict[str, str], *names: str) -> int | None:
    return next((int(said[name]) for name in names if name in said), None)
