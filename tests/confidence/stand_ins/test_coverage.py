"""Coverage of the query: shares by hand, and what holds for every pair."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalepan.confidence.stand_ins import coverage
from scalepan.policy.stand_ins import Coverage, StandIns
from tests.confidence.stand_ins.embedders import Broken, Letters
from tests.law import assert_law


@pytest.mark.parametrize(
    ("query", "answer", "words"),
    [
        ("How do I cancel the annual plan?", "You cancel an annual plan here.", 1.0),
        ("How do I cancel the annual plan?", "Plans are cancelled here.", 2 / 3),  # annual is missing
        ("How do I cancel the annual plan?", "It rains.", 0.0),
        ("解約方法を教えてください", "解約の方法は次の通りです。", 1.0),
        ("APIの解約方法は？", "解約の方法は次の通りです。", 2 / 3),  # API is missing
    ],
)
def test_words(query: str, answer: str, words: float) -> None:
    assert coverage(query, answer).part("words").value == pytest.approx(words)


@pytest.mark.parametrize(
    ("query", "answer", "names"),
    [
        ("what did Bob Ross paint in 1983?", "In 1983 Bob Ross painted hills.", 1.0),
        ("what did Bob Ross paint in 1983?", "Bob Ross painted hills.", 0.5),  # of name and date
        ("is 3 % of Tokyo green?", "Three percent is.", 0.5),  # of number and name
        ("タナカさんは何円払った?", "タナカさんは300円払った。", 1.0),
    ],
)
def test_names_numbers_and_dates(query: str, answer: str, names: float) -> None:
    assert coverage(query, answer).part("names").value == pytest.approx(names)


def test_the_number_by_hand() -> None:
    # words: paint, bob, ross, 1983 of which 1983 is missing: 3/4, weight .5; names 1/2, weight .2
    score = coverage("what did Bob Ross paint in 1983?", "Bob Ross painted hills.")
    assert score.name == "query_coverage"
    assert score.value == pytest.approx((0.5 * 0.75 + 0.2 * 0.5) / 0.7)
    assert "stand-in" in score.parts[0].note


def test_meaning_counts_where_there_is_an_encoder() -> None:
    same = coverage("cancel the plan", "cancel the plan", Letters())
    assert [part.name for part in same.parts] == ["words", "meaning"]
    assert same.value == pytest.approx(1.0)
    assert coverage("cancel the plan", "cancel the plan", Broken()).value == 1.0


@pytest.mark.parametrize(
    ("query", "answer", "reason"),
    [
        ("", "An answer.", "the query is empty"),
        ("A query?", " ", "the answer is empty"),
        ("Why?", "Because.", "the query has no content words"),
    ],
)
def test_nothing_to_measure(query: str, answer: str, reason: str) -> None:
    score = coverage(query, answer)
    assert (score.value, score.reason) == (None, reason)


def test_the_cosines_are_in_order() -> None:
    with pytest.raises(ValueError, match=r"cosine_none 0\.8 is not below cosine_full 0\.8"):
        StandIns(cosine_none=0.8)


@given(st.text(max_size=40), st.text(max_size=40), st.booleans())
@settings(max_examples=25)
def test_the_law_holds(query: str, answer: str, encoded: bool) -> None:
    assert_law(coverage(query, answer, Letters() if encoded else None))


@given(st.lists(st.sampled_from(["Bob", "plan", "5 %", "2021", "解約", "タナカ", "cancel"]), min_size=1).map(" ".join))
@settings(max_examples=20)
def test_an_answer_that_repeats_the_query_covers_it(query: str) -> None:
    assert coverage(query, query).value == pytest.approx(1.0)


def test_words_must_count() -> None:
    with pytest.raises(ValueError, match="words must count"):
        Coverage(words=0.0)
