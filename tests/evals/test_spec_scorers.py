"""The scorers, worked by hand from docs/contract/evals.md: every number, word and example.

Written from the documents alone. The arithmetic of every literal stands beside it. The other test_spec files of this
folder are of the same make.
"""

import msgspec
import pytest

from scalepan.errors import InputError
from scalepan.evals import (
    Evaluator,
    Expected,
    Output,
    ResponseTimeScorer,
)
from scalepan.policy import load_policy
from tests.evals.spec import ABC, Json, by_page, delete, details, insert, page, patterns, replace, score_of

# 1. operation-accuracy: matchedOperations / totalExpectedOperations


@pytest.mark.parametrize(
    ("asked", "done", "value"),
    [
        ([replace("b0")], [replace("b0", content="x")], 1.0),  # 1 / 1
        ([replace("b0"), delete("b1")], [replace("b0", content="x")], 0.5),  # 1 / 2
        ([replace("b0"), delete("b1"), delete("b2")], [delete("b2")], 1 / 3),
        ([replace("b0")], [], 0.0),  # 0 / 1
        # the content is another scorer's matter
        ([replace("b0", content="x")], [replace("b0", content="y")], 1.0),
        # a match is type, target and, for an insert, position
        ([replace("b0")], [delete("b0")], 0.0),
        ([replace("b0")], [replace("b1", content="x")], 0.0),
        ([insert("b0", "after")], [insert("b0", "before", content="x")], 0.0),
        ([insert("b0", "after")], [insert("b0", "after", content="x")], 1.0),
        # after b0 and before b1 are one place, but not one operation
        ([insert("b0", "after")], [insert("b1", "before", content="x")], 0.0),
        # the position of what is no insert says nothing
        ([delete("b0")], [{**delete("b0"), "position": "after"}], 1.0),
        # by index where no id is given
        ([delete(1)], [delete(1)], 1.0),
        ([delete(1)], [delete(2)], 0.0),
        ([delete(("b1", 1))], [delete("b1")], 1.0),
        ([delete(("b1", 1))], [delete(("b1", 2))], 1.0),  # an id is given, so the id counts
        ([delete(("b1", 1))], [delete(("b2", 1))], 0.0),
        # one to one: doing a thing once does not do it twice
        ([insert("b0"), insert("b0")], [insert("b0", content="x")], 0.5),
        ([insert("b0")], [insert("b0", content="x"), insert("b0", content="y")], 1.0),
        # order does not matter
        ([replace("b0"), delete("b1")], [delete("b1"), replace("b0", content="x")], 1.0),
        # nothing expected: 1 if nothing was done, else 0
        ([], [], 1.0),
        ([], [delete("b0")], 0.0),
    ],
)
def test_operation_accuracy(asked: list[Json], done: list[Json], value: float) -> None:
    score = score_of("operation-accuracy", done, asked, ABC)
    assert score.value == pytest.approx(value, abs=1e-12)
    made = details(score)
    assert made["totalExpectedOperations"] == len(asked)
    if asked:
        assert made["matchedOperations"] / len(asked) == pytest.approx(value, abs=1e-12)
    assert made["matchedOperations"] + len(made["unmatchedOperations"]) == len(asked)


@pytest.mark.parametrize(
    ("asked", "done", "reason"),
    [
        (replace("b0"), [delete("b0")], "type mismatch"),
        (replace("b0"), [replace("b1", content="x")], "target mismatch"),
        (insert("b0", "after"), [insert("b0", "before", content="x")], "position mismatch"),
        (replace("b0"), [], "missing"),
        # the first of type, target, position that differs
        (replace("b0"), [delete("b1")], "type mismatch"),
        (insert("b0", "after"), [insert("b1", "before", content="x")], "target mismatch"),
        (insert("b0", "after"), [delete("b0")], "type mismatch"),
        # from the nearest: the one at the same place with another position, not the one of another type
        (insert("b0", "after"), [delete("b2"), insert("b0", "before", content="x")], "position mismatch"),
        (replace("b0"), [replace("b1", content="x"), delete("b2")], "target mismatch"),
    ],
)
def test_operation_accuracy_says_why(asked: Json, done: list[Json], reason: str) -> None:
    made = details(score_of("operation-accuracy", done, [asked], ABC))
    (unmatched,) = made["unmatchedOperations"]
    assert unmatched["reason"] == reason
    assert unmatched["expected"] == asked


def test_what_was_done_right_explains_no_miss() -> None:
    made = details(score_of("operation-accuracy", [delete("b0")], [delete("b0"), delete("b1")], ABC))
    (unmatched,) = made["unmatchedOperations"]
    assert (unmatched["reason"], unmatched["expected"]) == ("missing", delete("b1"))


def test_operations_are_matched_within_their_page() -> None:
    pages = [page("a", id_="p"), page("a", id_="q")]
    score = score_of("operation-accuracy", by_page(q=[delete("b0")]), by_page(p=[delete("b0")]), pages)
    assert score.value == 0.0  # 0 / 1: the same operation, on another page
    assert details(score)["unmatchedOperations"][0]["reason"] == "missing"
    both = by_page(p=[delete("b0")], q=[delete("b0")])
    assert score_of("operation-accuracy", by_page(q=[delete("b0")]), both, pages).value == 0.5  # 1 / 2


def test_extra_operations_are_reported_and_cost_in_strict_mode_only() -> None:
    asked, done = [delete("b0")], [delete("b0"), delete("b1")]
    score = score_of("operation-accuracy", done, asked, ABC)
    assert score.value == 1.0  # 1 / 1
    assert [extra["actual"] for extra in details(score)["extraOperations"]] == [delete("b1")]
    by_policy = score_of("operation-accuracy", done, asked, ABC, {"strict_operations": True})
    by_option = score_of("operation-accuracy", done, asked, ABC, strict=True)
    assert by_policy.value == by_option.value == 0.5  # 1 / (1 + 1)
    assert score_of("operation-accuracy", done, asked, ABC, {"strict_operations": True}, strict=False).value == 1.0
    assert score_of("operation-accuracy", asked, asked, ABC, strict=True).value == 1.0


# 2. target-block-precision: correctTargets / totalTargets


@pytest.mark.parametrize(
    ("asked", "done", "correct"),
    [
        ([delete("b0")], [replace("b0", content="x")], 1),  # whatever was done to it
        ([delete("b0")], [delete("b1")], 0),
        ([delete(0)], [delete(0)], 1),
        ([delete(("b0", 0))], [delete(("b0", 7))], 1),  # the id is right
        ([delete(("b0", 0))], [delete(("b7", 0))], 1),  # the index is right
        ([delete(("b0", 0))], [delete(("b7", 7))], 0),
        ([delete("b0")], [delete(None)], 0),
        ([delete(None)], [delete(None)], 0),  # two absent values are no match
        ([delete("b0")], [], 0),
        ([delete("b0"), delete("b1")], [delete("b1")], 1),
        ([insert("b0"), insert("b0")], [insert("b0", content="x")], 1),  # one to one
        # the most pairs: b0 could take either, 1 only the first
        ([delete("b0"), delete(1)], [delete(("b0", 1)), delete("b0")], 2),
        ([delete("b0")], [delete("b1"), delete("b2"), delete("b0")], 1),
        # an id and an index that name the same block of the page before are the same target (contract evals.14)
        ([delete("b0")], [delete(0)], 1),
        ([delete(2)], [replace("b2", content="x")], 1),
        ([delete("b0")], [delete(1)], 0),
        ([delete(9)], [delete(9)], 1),  # past the page: nothing is there, and yet both mean the same
        ([delete("b0"), delete(0)], [delete("b0")], 1),  # one block, hit once
    ],
)
def test_target_block_precision(asked: list[Json], done: list[Json], correct: int) -> None:
    score = score_of("target-block-precision", done, asked, ABC)
    assert score.value == pytest.approx(correct / len(asked), abs=1e-12)
    made = details(score)
    assert (made["correctTargets"], made["totalTargets"]) == (correct, len(asked))
    assert len(made["incorrectTargets"]) == len(asked) - correct


def test_target_block_precision_shows_both_targets() -> None:
    made = details(score_of("target-block-precision", [delete("b1")], [delete(("b0", 0))], ABC))
    (wrong,) = made["incorrectTargets"]
    assert wrong["expected"] == {"targetBlockId": "b0", "targetIndex": 0}
    assert wrong["actual"] == {"targetBlockId": "b1", "targetIndex": None}


def test_target_block_precision_without_targets_is_not_applicable() -> None:
    assert score_of("target-block-precision", [delete("b0")], [], ABC).status == "not_applicable"


# 3. content-quality: matchedPatterns / totalPatterns

CART = [page("Cart one", "and a Cart", "the last Cart")]


@pytest.mark.parametrize(
    ("text", "pattern", "found"),
    [
        # the good examples of contract evals.16
        ("この章のまとめです", "要約|まとめ|サマリー", True),
        ("サマリー", "要約|まとめ|サマリー", True),
        ("結論", "要約|まとめ|サマリー", False),
        ("これは置換後の文です", ".*置換後.*", True),
        ("これは置換前の文です", ".*置換後.*", False),
        ("Cart, Cart and Cart", "Cart.*Cart.*Cart", True),
        ("Cart and Cart", "Cart.*Cart.*Cart", False),
        # and its bad one, which is right only where the page is nothing else
        ("完全に一致するテキスト", "^完全に一致するテキスト$", True),
        ("前書き。完全に一致するテキスト", "^完全に一致するテキスト$", False),
        # searched, not matched from the start
        ("a needle in hay", "needle", True),
        # upper and lower case are two things unless told otherwise
        ("NEEDLE", "needle", False),
        # \w and \d know Japanese
        ("価格は１２３円", r"\d{3}円", True),
        ("東京タワー", r"^\w+$", True),
    ],
)
def test_content_quality_searches(text: str, pattern: str, found: bool) -> None:
    score = score_of("content-quality", [replace("b0", content=text)], patterns(pattern), [page("before")])
    assert score.value == float(found)
    assert details(score)["matchedPatterns"] == int(found)
    assert details(score)["totalPatterns"] == 1


def test_a_dot_crosses_lines_because_blocks_are_joined_by_newlines() -> None:
    asked = patterns("Cart.*Cart.*Cart", r"one\nand a", "^Cart one$")
    score = score_of("content-quality", [], asked, CART, scope="page")
    assert score.value == pytest.approx(2 / 3)  # the third asks for the whole page
    assert details(score)["contentIssues"] == [
        "Page 'p': Pattern '^Cart one$' not found in content: 'Cart one\nand a Cart\nthe last Cart...'"
    ]


def test_the_final_page_counts_with_nested_blocks() -> None:
    nested = {"id": "p", "blocks": [{"id": "b0", "content": "x", "children": [{"id": "b1", "content": "deep"}]}]}
    done = [insert("b1", content="added"), replace("b0", content="new")]
    asked = patterns("new", "deep", "added", "new.*deep.*added", "x$")
    assert score_of("content-quality", done, asked, [nested], scope="page").value == 0.8  # 4 / 5: x is gone
    # what was generated: new and added; deep stood there before
    assert score_of("content-quality", done, asked, [nested]).value == 0.4  # 2 / 5


def test_content_quality_judges_what_was_generated() -> None:
    """Contract evals.15 and evals.17: how much of the *generated* content matches.

    An agent that wrote nothing useful passed because the page had the words already.
    """
    pages = [page("the Cart is here", "end")]
    done = [replace("b1", content="banana")]
    assert score_of("content-quality", done, patterns("Cart", on="b1"), pages).value == 0.0
    assert score_of("content-quality", done, patterns("Cart", on="b1"), pages, scope="page").value == 1.0
    assert score_of("content-quality", [], patterns("Cart", on="b1"), pages).value == 0.0
    # two blocks that were generated are searched together, joined by a newline, in reading order
    both = [insert("b1", content="second"), replace("b0", content="first")]
    assert score_of("content-quality", both, patterns(r"first\nsecond"), pages).value == 1.0
    # what could not be applied is not on the page
    lost = [replace("nowhere", content="Cart")]
    assert score_of("content-quality", lost, patterns("Cart"), pages).value == 0.0
    # operation-result looks at the final page, contract evals.19
    assert score_of("operation-result", done, patterns("Cart", on="b1"), pages).value == 1.0


@pytest.mark.parametrize(
    ("policy", "options", "value"),
    [({}, {}, 0.0), ({}, {"ignoreCase": True}, 1.0), ({"patterns": {"ignore_case": True}}, {}, 1.0)],
)
def test_ignoring_case_is_an_option(policy: Json, options: Json, value: float) -> None:
    done = [replace("b0", content="SUMMARY ＡＢＣ")]
    assert score_of("content-quality", done, patterns("summary ａｂｃ"), ABC, policy, **options).value == value


def test_the_content_issue_quotes_the_beginning_of_the_page() -> None:
    text = "あ" * 150
    made = details(score_of("content-quality", [replace("b0", content=text)], patterns("要約"), [page("x", id_="p")]))
    assert made["contentIssues"] == [f"Page 'p': Pattern '要約' not found in content: '{'あ' * 100}...'"]


def test_a_pattern_belongs_to_its_page() -> None:
    pages = [page("one", id_="p"), page("two", id_="q")]
    asked = by_page(p=patterns("two"), q=patterns("two"))
    done = by_page(p=[replace("b0", content="one")], q=[replace("b0", content="two")])
    score = score_of("content-quality", done, asked, pages)
    assert score.value == 0.5  # 1 / 2
    assert details(score)["contentIssues"] == ["Page 'p': Pattern 'two' not found in content: 'one...'"]


def test_exact_content_counts_as_one_pattern() -> None:
    asked = [replace("b0", content="new (a+)"), insert("b0", content="also")]
    score = score_of("content-quality", [replace("b0", content="new (a+)")], asked, [page("old")])
    assert score.value == 0.5  # new is there to the letter, also is not
    assert score_of("content-quality", asked, asked, [page("old")]).value == 1.0


def test_no_pattern_is_not_applicable() -> None:
    score = score_of("content-quality", [delete("b0")], [delete("b0")], ABC)
    assert (score.status, score.value) == ("not_applicable", None)
    assert score.reason


# 4. operation-result: applicationSuccessRate x 0.6 + contentScore x 0.4


@pytest.mark.parametrize(
    ("done", "asked", "value"),
    [
        ([replace("b0", content="new")], patterns("new"), 1.0),  # 1 x .6 + 1 x .4
        ([replace("b0", content="other")], patterns("new"), 0.6),  # 1 x .6 + 0 x .4
        ([replace("b9", content="new")], patterns("new"), 0.0),  # 0 x .6 + 0 x .4
        ([replace("b9", content="new")], patterns("a"), 0.4),  # 0 x .6 + 1 x .4: a stands there already
        ([replace("b0", content="new"), delete("b9")], patterns("new"), 0.7),  # .5 x .6 + 1 x .4
        ([replace("b0", content="n"), delete("b9")], patterns("n", "z"), 0.5),  # .5 x .6 + .5 x .4
        ([delete("b0"), delete("b0"), delete("b1")], patterns("c"), 0.8),  # 2/3 x .6 + 1 x .4: gone is not applied
        # no patterns: the content leaves and its weight moves over
        ([delete("b0")], [delete("b0")], 1.0),
        ([delete("b0"), delete("b9")], [delete("b0")], 0.5),
        # nothing attempted: 1 if nothing was expected, else 0
        ([], [], 1.0),
        ([], [delete("b0")], 0.0),
        ([], patterns("a"), 0.4),  # 0 x .6 + 1 x .4
    ],
)
def test_operation_result(done: list[Json], asked: list[Json], value: float) -> None:
    assert score_of("operation-result", done, asked, ABC).value == pytest.approx(value, abs=1e-12)


def test_an_operation_on_an_unknown_page_was_attempted() -> None:
    done = by_page(p=[delete("b0")], nowhere=[delete("b0")])
    assert score_of("operation-result", done, [delete("b0")], ABC).value == 0.5  # 1 of 2


def test_the_weights_of_operation_result_are_a_policy() -> None:
    policy = {"operation_result": {"applied_weight": 0.5, "content_weight": 0.5}}
    done = [replace("b0", content="other")]
    assert score_of("operation-result", done, patterns("new"), ABC, policy).value == 0.5
    with pytest.raises(InputError, match=r"1\.1"):
        load_policy(overrides={"evals": {"operation_result": {"applied_weight": 0.7, "content_weight": 0.4}}})


# response-time: 1 up to the limit, then 1 - (t - max) / max, not below 0


@pytest.mark.parametrize(
    ("ms", "value", "passed"),
    [
        (0, 1.0, True),
        (1000, 1.0, True),
        (1250, 0.75, False),  # 1 - 250 / 1000
        (1999, 0.001, False),  # 1 - 999 / 1000
        (2000, 0.0, False),
        (9000, 0.0, False),  # max(0, 1 - 8)
    ],
)
def test_response_time(ms: float, value: float, passed: bool) -> None:
    expected = {"responseTimeMs": ms, "maxAcceptableMs": 1000, "passed": passed}
    score = score_of("response-time", {"durationMs": ms}, {}, maxAcceptableMs=1000)
    assert score.value == pytest.approx(value, abs=1e-12)
    assert details(score) == expected
    own = ResponseTimeScorer(1000)
    assert own.score(Output(duration_ms=ms), Expected()) == pytest.approx(value, abs=1e-12)
    assert msgspec.to_builtins(own.get_details(Output(duration_ms=ms), Expected())) == expected


def test_an_output_without_a_time_has_failed_and_is_not_fast() -> None:
    assert score_of("response-time", {}, {}, maxAcceptableMs=1000).status == "failed"


@pytest.mark.parametrize("options", [{}, {"maxAcceptableMs": 0}, {"maxAcceptableMs": -1}, {"maxAcceptableMS": 5}])
def test_response_time_needs_its_limit(options: Json) -> None:
    with pytest.raises(InputError, match="maxAcceptableM"):
        Evaluator([{"type": "response-time", **options}])
