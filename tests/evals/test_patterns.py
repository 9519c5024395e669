"""Patterns: searched, `.` crossing lines, within a time limit; plain ones without a regular expression at all."""

import pytest
import regex
from hypothesis import assume, example, given
from hypothesis import strategies as st

from scalepan.errors import InputError
from scalepan.evals.patterns import PatternTimeoutError, check_pattern, found, near_miss, plain_words, quick
from scalepan.policy.evals import Patterns
from tests.examples import examples

LIMITS = Patterns()


@pytest.mark.parametrize(
    ("pattern", "text", "there"),
    [
        ("要約|まとめ|サマリー", "全体のまとめ", True),
        ("Cart.*Cart.*Cart", "Cart\nCart\nCart", True),  # `.` crosses lines
        ("Cart.*Cart.*Cart", "Cart Cart", False),
        (".*置換後.*", "これは置換後の文", True),
        ("cart", "Cart", False),
        ("a|", "b", True),  # an empty alternative is always there
        (r"1\.5 \(net\)", "costs 1.5 (net)", True),
        (r"1\.5", "1x5", False),
        ("[Cc]art", "the cart", True),
        ("^Cart$", "the Cart", False),
        (r"\bcart\b", "carton", False),
    ],
)
def test_a_pattern_is_searched_anywhere(pattern: str, text: str, there: bool) -> None:
    assert found(pattern, text, LIMITS) is there


def test_case_can_be_ignored() -> None:
    assert found("cart|basket", "CART", Patterns(ignore_case=True))
    assert found("ｃａｒｔ", "ＣＡＲＴ", Patterns(ignore_case=True))


PIECES = st.sampled_from(
    ["a", "b", "ab", "カ", ".*", ".*?", "|", r"\.", r"\|", r"\-", ".", "\n", " ", "-", "", "#", "&&"]
)


@given(st.lists(PIECES, max_size=8).map("".join), st.text("abカ.|-#& \n", max_size=12))
@example(".*", "")
@example("a.*a", "a")
def test_plain_patterns_find_what_regular_expressions_find(pattern: str, text: str) -> None:
    assert found(pattern, text, LIMITS) is (regex.search(pattern, text, regex.DOTALL) is not None)


QUICK_PIECES = st.sampled_from(["a", "b", ".", "カ", r"\d", r"\.", "[^a]", "[ab]", "[a-カ]", "^", "$", "1", "\n"])
REPEATS = st.sampled_from(["", "a*", "b+", ".*?", "[^a]+", r"\d*", "カ+?"])


@given(
    st.lists(QUICK_PIECES, max_size=5).map("".join),
    REPEATS,
    st.lists(QUICK_PIECES, max_size=5).map("".join),
    st.text("abカ.1\n", max_size=12),
)
@example("^a", "b+", "$", "ab\n")
def test_quick_patterns_find_what_the_other_engine_finds(start: str, repeat: str, end: str, text: str) -> None:
    standard = quick(start + repeat + end)
    assume(standard is not None)
    assert standard is not None
    assert (standard.search(text) is None) is (regex.search(standard.pattern, text, regex.DOTALL) is None)


@pytest.mark.parametrize("pattern", ["(a+)+$", "a*a*", "(a*)*", "a?a?a?aaa", "(a|aa)(a|aa)", "a{1,5}", r"\w+", "a|b+"])
def test_only_what_cannot_search_for_long_is_quick(pattern: str) -> None:
    assert quick(pattern) is None


def test_most_golden_patterns_are_plain_and_many_others_quick() -> None:
    assert plain_words("要約|まとめ|サマリー") is not None
    assert plain_words("Cart.*Cart.*Cart") is not None
    assert plain_words(r"total.*[^\d]42[^\d]") is None
    assert quick(r"total.*[^\d]42[^\d]") is not None


@pytest.mark.parametrize("pattern", ["(", "[a", "a**", r"\p{Nothing}", "(?P<n>a)(?P<n>", "a{2,1}"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InputError, match="is not a regular expression"):
        check_pattern(pattern, LIMITS)


SIGNS = st.sampled_from(
    [*r"ab1-^$.|?*+{}[]()\\,:=!<>&~#Ppdwkgx", "(?:", "(?P<n>", "[[", "[^[", "--", "||", "(?i)", r"\p{L}"]
)


@examples(200)
@given(st.lists(SIGNS, max_size=12).map("".join))
@example("[a||b]")
@example("[^[a]")
@example(r"\p{L}+")
@example("a++")
@example("[^]")
@example("[z-a]")
@example("[^^]")
def test_a_pattern_that_is_taken_can_be_used(pattern: str) -> None:
    try:
        regex.compile(pattern, regex.DOTALL)
    except regex.error:
        with pytest.raises(InputError, match="is not a regular expression"):
            check_pattern(pattern, LIMITS)
    else:
        check_pattern(pattern, LIMITS)


def test_a_pattern_that_searches_too_long_is_stopped() -> None:
    with pytest.raises(PatternTimeoutError, match="took longer than 50 ms"):
        found("(a+)+$", "a" * 50_000 + "b", Patterns(timeout_ms=50))


def test_a_near_miss_says_where_and_how_near() -> None:
    near = near_miss("Shopping Cart", "your shoping cart", LIMITS)
    assert near is not None
    assert (near.text, near.start, near.errors) == ("shoping cart", 5, 3)  # s, a p, c
    assert near_miss("completely different", "nothing like it", LIMITS) is None
