"""Dates of a question, as of Wednesday 18 November 2026: which stretch of the text, and from which day to which."""

from datetime import UTC, date, datetime, timedelta, timezone
from math import inf, isinf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.text.dates import dates_in
from scalepan.text.days import months_on

NOW = datetime(2026, 11, 18, 10, 30, tzinfo=UTC)


def read(text: str, now: datetime = NOW) -> list[tuple[str, str, str]]:
    """What was found: its words, its first and its last day."""
    return [(text[span.at : span.end_at], day(span.start), day(span.end - 1)) for span in dates_in(text, now)]


def day(seconds: float) -> str:
    return "…" if isinf(seconds) else datetime.fromtimestamp(seconds, UTC).date().isoformat()


@pytest.mark.parametrize(
    ("text", "words", "first", "last"),
    [
        # written out
        ("What happened on 19 August 2023?", "19 August 2023", "2023-08-19", "2023-08-19"),
        ("on the 19th of August, 2023", "19th of August, 2023", "2023-08-19", "2023-08-19"),
        ("August 19, 2023", "August 19, 2023", "2023-08-19", "2023-08-19"),
        ("Aug. 19th 2023", "Aug. 19th 2023", "2023-08-19", "2023-08-19"),
        ("2023-08-19", "2023-08-19", "2023-08-19", "2023-08-19"),
        ("at 2023-08-19T13:56", "2023-08-19", "2023-08-19", "2023-08-19"),
        ("2023/8/19", "2023/8/19", "2023-08-19", "2023-08-19"),
        ("19.8.2023", "19.8.2023", "2023-08-19", "2023-08-19"),
        ("in August 2023", "August 2023", "2023-08-01", "2023-08-31"),
        ("in 2023-08", "2023-08", "2023-08-01", "2023-08-31"),
        ("30 February 2023", "February 2023", "2023-02-01", "2023-02-28"),  # there is no such day
        ("in 2022", "2022", "2022-01-01", "2022-12-31"),
        ("in the 1990s", "1990s", "1990-01-01", "1999-12-31"),
        ("Q3 2022", "Q3 2022", "2022-07-01", "2022-09-30"),
        ("the first quarter of 2023", "first quarter of 2023", "2023-01-01", "2023-03-31"),
        ("summer of 2021", "summer of 2021", "2021-06-01", "2021-08-31"),
        ("in late May 2023", "late May 2023", "2023-05-21", "2023-05-31"),
        ("the second week of May 2023", "second week of May 2023", "2023-05-08", "2023-05-14"),
        ("the first half of September 2022", "first half of September 2022", "2022-09-01", "2022-09-15"),
        # without a year: the latest that has begun
        ("Aug 19th", "Aug 19th", "2026-08-19", "2026-08-19"),
        ("19 December", "19 December", "2025-12-19", "2025-12-19"),
        ("on 18 November", "18 November", "2026-11-18", "2026-11-18"),
        ("in May", "May", "2026-05-01", "2026-05-31"),
        ("in December", "December", "2025-12-01", "2025-12-31"),
        ("February 29", "February 29", "2024-02-29", "2024-02-29"),
        # seen from now
        ("last May", "last May", "2026-05-01", "2026-05-31"),
        ("last November", "last November", "2025-11-01", "2025-11-30"),
        ("next May", "next May", "2027-05-01", "2027-05-31"),
        ("this December", "this December", "2026-12-01", "2026-12-31"),
        ("last summer", "last summer", "2026-06-01", "2026-08-31"),
        ("yesterday", "yesterday", "2026-11-17", "2026-11-17"),
        ("the day before yesterday", "day before yesterday", "2026-11-16", "2026-11-16"),
        ("last night", "last night", "2026-11-17", "2026-11-17"),
        ("tomorrow", "tomorrow", "2026-11-19", "2026-11-19"),
        ("this week", "this week", "2026-11-16", "2026-11-22"),
        ("last week", "last week", "2026-11-09", "2026-11-15"),
        ("last weekend", "last weekend", "2026-11-14", "2026-11-15"),
        ("next month", "next month", "2026-12-01", "2026-12-31"),
        ("last year", "last year", "2025-01-01", "2025-12-31"),
        ("last Friday", "last Friday", "2026-11-13", "2026-11-13"),
        ("last Wednesday", "last Wednesday", "2026-11-11", "2026-11-11"),
        ("next Wednesday", "next Wednesday", "2026-11-25", "2026-11-25"),
        ("on Wednesday", "Wednesday", "2026-11-18", "2026-11-18"),
        ("this Friday", "this Friday", "2026-11-20", "2026-11-20"),
        ("three days ago", "three days ago", "2026-11-15", "2026-11-15"),
        ("two weeks ago", "two weeks ago", "2026-11-01", "2026-11-07"),  # the fourth, give or take three days
        ("a month ago", "a month ago", "2026-10-01", "2026-10-31"),
        ("4 years ago", "4 years ago", "2022-01-01", "2022-12-31"),
        ("11 hours ago", "11 hours ago", "2026-11-17", "2026-11-17"),
        ("a few days ago", "a few days ago", "2026-11-13", "2026-11-16"),
        ("the last three days", "last three days", "2026-11-16", "2026-11-18"),
        ("the past week", "past week", "2026-11-12", "2026-11-18"),
        ("two days from now", "two days from now", "2026-11-20", "2026-11-20"),
        # from one to another
        ("from 3 May to 7 June 2023", "3 May to 7 June 2023", "2023-05-03", "2023-06-07"),
        ("between May and July 2023", "May and July 2023", "2023-05-01", "2023-07-31"),
        ("5-8 May 2023", "5-8 May 2023", "2023-05-05", "2023-05-08"),
        ("May 5–8, 2023", "May 5–8, 2023", "2023-05-05", "2023-05-08"),
        ("from 2019 to 2021", "2019 to 2021", "2019-01-01", "2021-12-31"),
        # before, after, since
        ("since last March", "last March", "2026-03-01", "2026-11-18"),
        ("before June 2023", "June 2023", "…", "2023-05-31"),
        ("until June 2023", "June 2023", "…", "2023-06-30"),
        ("after 3 June 2023", "3 June 2023", "2023-06-04", "…"),
        ("two weeks before August 11, 2023", "two weeks before August 11, 2023", "2023-07-25", "2023-07-31"),
        ("the week before 16 November 2023", "the week before 16 November 2023", "2023-11-09", "2023-11-15"),
        ("three days after 1 May 2023", "three days after 1 May 2023", "2023-05-04", "2023-05-04"),
        # Japanese
        ("2023年8月19日に何があった?", "2023年8月19日", "2023-08-19", "2023-08-19"),
        ("２０２３年８月１９日", "２０２３年８月１９日", "2023-08-19", "2023-08-19"),
        ("令和5年8月19日", "令和5年8月19日", "2023-08-19", "2023-08-19"),
        ("平成元年", "平成元年", "1989-01-01", "1989-12-31"),
        ("2023年8月の会議", "2023年8月", "2023-08-01", "2023-08-31"),
        ("2022年に", "2022年", "2022-01-01", "2022-12-31"),
        ("8月19日", "8月19日", "2026-08-19", "2026-08-19"),
        ("12月の予定", "12月", "2025-12-01", "2025-12-31"),
        ("8月上旬", "8月上旬", "2026-08-01", "2026-08-10"),
        ("今年の5月", "今年の5月", "2026-05-01", "2026-05-31"),
        ("去年の8月19日", "去年の8月19日", "2025-08-19", "2025-08-19"),
        ("昨年の夏", "昨年の夏", "2025-06-01", "2025-08-31"),
        ("昨日は何をした?", "昨日", "2026-11-17", "2026-11-17"),
        ("おととい", "おととい", "2026-11-16", "2026-11-16"),
        ("明日", "明日", "2026-11-19", "2026-11-19"),
        ("先週", "先週", "2026-11-09", "2026-11-15"),
        ("先週の金曜日", "先週の金曜日", "2026-11-13", "2026-11-13"),
        ("先々月", "先々月", "2026-09-01", "2026-09-30"),
        ("先月の3日", "先月の3日", "2026-10-03", "2026-10-03"),
        ("今月末", "今月末", "2026-11-21", "2026-11-30"),
        ("3日前", "3日前", "2026-11-15", "2026-11-15"),
        ("十日前", "十日前", "2026-11-08", "2026-11-08"),
        ("2週間前", "2週間前", "2026-11-01", "2026-11-07"),
        ("三ヶ月前", "三ヶ月前", "2026-08-01", "2026-08-31"),
        ("半年前", "半年前", "2026-05-01", "2026-05-31"),
        ("5年前", "5年前", "2021-01-01", "2021-12-31"),
        ("2日後", "2日後", "2026-11-20", "2026-11-20"),
        ("過去3日間", "過去3日間", "2026-11-16", "2026-11-18"),
        ("2023年5月から7月まで", "2023年5月から7月", "2023-05-01", "2023-07-31"),
        ("８月３日〜８月５日", "８月３日〜８月５日", "2026-08-03", "2026-08-05"),
        ("8月19日以降", "8月19日", "2026-08-19", "2026-11-18"),
        ("2023年まで", "2023年", "…", "2023-12-31"),
    ],
)
def test_a_date(text: str, words: str, first: str, last: str) -> None:
    assert read(text) == [(words, first, last)]


def test_slashes_may_mean_either_order() -> None:
    assert read("03/04/2023") == [
        ("03/04/2023", "2023-03-04", "2023-03-04"),
        ("03/04/2023", "2023-04-03", "2023-04-03"),
    ]
    assert read("13/04/2023") == [("13/04/2023", "2023-04-13", "2023-04-13")]
    assert read("04/04/23") == [("04/04/23", "2023-04-04", "2023-04-04")]


def test_several_in_their_order() -> None:
    assert read("Was it yesterday, 昨日, or on 3 May 2023 and not in 2022?") == [
        ("yesterday", "2026-11-17", "2026-11-17"),
        ("昨日", "2026-11-17", "2026-11-17"),
        ("3 May 2023", "2023-05-03", "2023-05-03"),
        ("2022", "2022-01-01", "2022-12-31"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "who approves a refund?",
        "this may be wrong, and you may 5 times try",
        "they march on",
        "April said so",
        "every Monday",
        "2023-02-30",
        "2023-13-01",
        "32/01/2023",
        "error 2003",
        "version 2023.1",
        "in 2000 steps",
        "8/19 of them",
        "192.168.10.12",
        "9999 years ago",
        "日本の首都",
        "5日間の旅",
        "3か月間",
        "日曜大工",
        "",
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert read(text) == []


def test_days_begin_where_the_asker_is() -> None:
    tokyo = timezone(timedelta(hours=9))
    (span,) = dates_in("昨日", datetime(2026, 11, 18, 0, 30, tzinfo=tokyo))
    assert span.start == datetime(2026, 11, 17, tzinfo=tokyo).timestamp()
    assert span.end == datetime(2026, 11, 18, tzinfo=tokyo).timestamp()
    assert dates_in("昨日", 0.0) == dates_in("昨日", datetime(1970, 1, 1))  # without a zone it is UTC


WORDS = st.sampled_from(
    [
        *("last", "next", "this", "May", "march", "Feb", "19", "29", "31", "2023", "9999", "0000", "Q2", "1990s"),
        *("days", "weeks", "week", "ago", "since", "before", "between", "and", "to", "the", "of", "in", "on"),
        *(
            "-",
            "/",
            ".",
            "年",
            "月",
            "日",
            "前",
            "昨日",
            "先週",
            "今年の",
            "から",
            "まで",
            "令和",
            "元",
            "半",
            "十",
            "ヶ月",
            "２",
        ),
    ]
)


@given(st.lists(WORDS, max_size=12), st.booleans(), st.floats(-6e10, 2.5e11))
def test_it_never_fails_and_intervals_have_an_order(words: list[str], spaced: bool, now: float) -> None:
    check((" " if spaced else "").join(words), now)


@given(st.text(max_size=200), st.floats(-6e10, 2.5e11))
def test_the_same_of_any_text(text: str, now: float) -> None:
    check(text, now)


def check(text: str, now: float) -> None:
    spans = dates_in(text, now)
    assert all(span.start < span.end and (span.start > -inf or span.end < inf) for span in spans)
    assert all(0 <= span.at < span.end_at <= len(text) for span in spans)
    assert [span.at for span in spans] == sorted(span.at for span in spans)


@given(st.dates(date(1900, 1, 1), date(2100, 12, 31)), st.integers(-600, 600))
def test_a_month_on_is_the_same_day_or_the_last(day: date, count: int) -> None:
    on = months_on(day, count)
    assert (on.year * 12 + on.month) - (day.year * 12 + day.month) == count
    assert on.day == day.day or (on.day < day.day and (on + timedelta(1)).day == 1)


def test_long_texts_and_many_dates_are_bounded() -> None:
    assert len(dates_in("3 May 2023, " * 100_000, NOW)) == 16
    assert dates_in("x" * 5_000 + " 3 May 2023", NOW) == []
