"""What a sentence claims: numbers, dates, names and denials, English and Japanese, by hand."""

import pytest

from scalepan.confidence.stand_ins.antonyms import english_opposites, japanese_opposites
from scalepan.confidence.stand_ins.dates import dates
from scalepan.confidence.stand_ins.names import names
from scalepan.confidence.stand_ins.negation import denied, has_cue
from scalepan.confidence.stand_ins.numbers import numbers
from scalepan.text.normal import visible


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,234.5", [(1234.5, "")]),
        ("１，２３４円", [(1234, "jpy")]),  # full width
        ("$3.1 billion", [(3.1e9, "usd")]),
        ("5 mln bucks", [(5e6, "usd")]),
        ("€20k", [(20e3, "eur")]),
        ("13.8 percent", [(13.8, "percent")]),
        ("up 4% to 7%", [(4, "percent"), (7, "percent")]),
        ("70 basis points", [(70, "basis points")]),
        ("twenty-five people", [(25, "")]),
        ("two hundred and five days", [(205, "day")]),
        ("three million two hundred thousand", [(3.2e6, "")]),
        ("one two", [(1, ""), (2, "")]),
        ("one of them", []),  # a pronoun
        ("one year", [(1, "year")]),
        ("a 6-month plan", [(6, "month")]),
        ("in Q3", [(3, "quarter")]),
        ("the third quarter", [(3, "quarter")]),
        ("the 2nd time", [(2, "ordinal")]),
        ("at 7 pm", [(420, "clock")]),
        ("at 17:30", [(330, "clock")]),  # 5:30, whichever half of the day
        ("午後5時30分", [(330, "clock")]),
        ("三百二十円", [(320, "jpy")]),
        ("一万二千人", [(12000, "person")]),
        ("1億2000万円", [(1e8, ""), (2e7, "jpy")]),
        ("3割", [(30, "percent")]),
        ("二〇%", [(20, "percent")]),
        ("一般に万一の場合", []),  # Han that counts nothing
        ("COVID-19 and v2", []),
        ("9" * 40, []),  # an identifier
    ],
)
def test_numbers(text: str, found: list[tuple[float, str]]) -> None:
    assert [(round(number.value, 6), number.unit) for number in numbers(visible(text))[0]] == found


@pytest.mark.parametrize(
    ("said", "source", "agrees"),
    [
        ("$3.1 billion", "3,098 million dollars", True),  # 3.098 rounds to 3.1
        ("$3.1 billion", "3,049 million dollars", False),  # and 3.049 to 3.0
        ("3,098 million dollars", "$3.1 billion", False),  # finer than what was said
        ("2", "2.3", False),  # a small count is no rounding
        ("13.8", "13.8 percent", True),  # a unit may be left out
        ("13.8 dollars", "13.8 percent", False),
        ("3割", "30%", True),
        ("five", "5", True),
        ("7 pm", "7", True),
        ("7 pm", "19", True),
        ("8 pm", "7", False),
        ("second quarter", "Q2", True),
    ],
)
def test_numbers_agree(said: str, source: str, agrees: bool) -> None:
    assert numbers(said)[0][0].agrees(numbers(source)[0][0]) is agrees


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2024-05-06", [{"year": 2024, "month": 5, "day": 6}]),
        ("May 6, 2024", [{"year": 2024, "month": 5, "day": 6}]),
        ("6th of May 2024", [{"year": 2024, "month": 5, "day": 6}]),
        ("5/6/2024", [{"year": 2024, "month": 5, "day": 6}]),
        ("25/6/2024", [{"year": 2024, "month": 6, "day": 25}]),  # no 25th month
        ("Sept. 3", [{"month": 9, "day": 3}]),
        ("August 2022", [{"year": 2022, "month": 8}]),
        ("in May", [{"month": 5}]),
        ("it may help; they march", []),
        ("between 1948 and 1964.", [{"year": 1948}, {"year": 1964}]),
        ("$1948 for 2000 people", []),
        ("on Fridays", [{"weekday": 4}]),
        ("2024年5月6日", [{"year": 2024, "month": 5, "day": 6}]),
        ("令和6年5月", [{"year": 2024, "month": 5}]),
        ("平成元年", [{"year": 1989}]),
        ("５月６日（月曜日）", [{"month": 5, "day": 6}, {"weekday": 0}]),
        ("3日間", []),  # three days
    ],
)
def test_dates(text: str, found: list[dict[str, int]]) -> None:
    assert [date.said for date in dates(visible(text))[0]] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("There Bob Ross met NASA.", [["bob", "ross"], ["nasa"]]),
        ("Bob Ross painted.", [["ross"]]),  # the first word may have its capital from the sentence
        ("He met Bob Ross.", [["bob", "ross"]]),
        ("However, it failed.", []),
        ("We saw Ross's Sims-based show.", [["ross", "sim"]]),
        ("The Bank of England agreed.", [["bank", "england"]]),
        ("All Words Have Capitals In Headings", []),
        ("サンフランシスコの田中さん", [["サンフランシスコ"], ["田中"]]),
        ("ScalepanはGoogleより速い", [["scalepan"], ["google"]]),
    ],
)
def test_names(text: str, found: list[list[str]]) -> None:
    assert [list(name.words) for name in names(text)] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("He did not accept the offer, but stayed.", {"accept", "offer"}),
        ("They can't refund it.", {"refund"}),
        ("It is not only fast.", set()),
        ("No doubt it works.", set()),
        ("The plan never ends without notice", {"end", "notic"}),
        ("It works.", set()),
        ("彼は来るかもしれない。", set()),
        ("払わなければならない。", set()),
    ],
)
def test_denied(text: str, found: set[str]) -> None:
    assert denied(text) == found
    assert has_cue(text) is bool(found)


def test_japanese_denies_what_stands_before() -> None:
    assert "解約" in denied("途中で解約できません。")
    assert "解約" not in denied("途中で解約できます。")


def test_opposites_go_both_ways() -> None:
    for word in ("increas", "decreas", "accept", "north"):
        for opposite in english_opposites(word):
            assert word in english_opposites(opposite)
    for word, opposites in japanese_opposites().items():
        assert word not in opposites
        assert all(word in japanese_opposites()[opposite] for opposite in opposites)
