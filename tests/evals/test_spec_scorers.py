"""The scorers, worked by hand from spec scorers.md and DESIGN, part 4, "Evals": every number, word and example.

Written from the documents alone. The arithmetic of every literal stands beside it.
"""

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from karat.errors import InputError
from karat.evals import (
    Case,
    CaseResult,
    Context,
    Evaluator,
    Evidence,
    Expected,
    Output,
    Page,
    ResponseTimeScorer,
    Scorer,
    ScorerResult,
    diagnose,
    is_passed,
    scorer,
    weighted_average,
)
from karat.evals.registry import bind
from karat.policy import load_policy
from karat.score import Score
from tests.law import assert_law

Json = dict[str, Any]


def score_of(
    name: str,
    done: Any = (),
    asked: Any = (),
    pages: Any = (),
    policy: Json | None = None,
    embedder: Callable[[], Any] = lambda: None,
    **options: Any,
) -> Score:
    """What a scorer makes of operations by page, of an output, or of both; everything as JSON has it."""
    evals = load_policy(overrides={"evals": policy or {}}).evals
    actual = msgspec.convert(done if isinstance(done, dict) else {"operations": _grouped(done)}, Output)
    expected = msgspec.convert(asked if isinstance(asked, dict) else {"operations": _grouped(asked)}, Expected)
    evidence = Evidence(msgspec.convert(list(pages), list[Page]), actual)
    module = import_module(f"karat.evals.scorers.{name.replace('-', '_')}")
    typed = msgspec.convert(options, module.Options) if options else None
    score: Score = module.score(actual, expected, Context(evidence, evals, typed, embedder))
    assert_law(score)
    assert score.name == name
    return score


def _grouped(operations: Any) -> list[Json]:
    """The operations of page p, or groups that name their pages."""
    if any("pageId" in one for one in operations):
        return list(operations)
    return [{"pageId": "p", "operations": list(operations)}] if operations else []


def by_page(**pages: list[Json]) -> list[Json]:
    return [{"pageId": page, "operations": operations} for page, operations in pages.items()]


def details(score: Score) -> Json:
    made: Json = msgspec.to_builtins(score.details)
    return made


def page(*texts: str, id_: str = "p") -> Json:
    """A page of blocks b0, b1, ... with these texts."""
    return {"id": id_, "blocks": [{"id": f"b{i}", "content": text} for i, text in enumerate(texts)]}


def insert(target: Any, position: str = "after", **more: Any) -> Json:
    return {"type": "insert", **_target(target), "position": position, **more}


def replace(target: Any, **more: Any) -> Json:
    return {"type": "replace", **_target(target), **more}


def delete(target: Any) -> Json:
    return {"type": "delete", **_target(target)}


def _target(target: Any) -> Json:
    """A text is an id, a number an index, a pair both."""
    match target:
        case str():
            return {"targetBlockId": target}
        case int():
            return {"targetIndex": target}
        case (id_, index):
            return {"targetBlockId": id_, "targetIndex": index}
    return {}


def patterns(*wanted: str, on: str = "b0") -> list[Json]:
    return [replace(on, expectedContentPatterns=list(wanted))]


# 1. operation-accuracy: matchedOperations / totalExpectedOperations

ABC = [page("a", "b", "c")]


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
        # the spec's good examples
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
    score = score_of("content-quality", [], asked, CART)
    assert score.value == pytest.approx(2 / 3)  # the third asks for the whole page
    assert details(score)["contentIssues"] == [
        "Page 'p': Pattern '^Cart one$' not found in content: 'Cart one\nand a Cart\nthe last Cart...'"
    ]


def test_the_final_page_counts_with_nested_blocks() -> None:
    nested = {"id": "p", "blocks": [{"id": "b0", "content": "x", "children": [{"id": "b1", "content": "deep"}]}]}
    done = [insert("b1", content="added"), replace("b0", content="new")]
    asked = patterns("new", "deep", "added", "new.*deep.*added", "x$")
    assert score_of("content-quality", done, asked, [nested]).value == 0.8  # 4 / 5: x is gone


@pytest.mark.parametrize(
    ("policy", "options", "value"),
    [({}, {}, 0.0), ({}, {"ignoreCase": True}, 1.0), ({"patterns": {"ignore_case": True}}, {}, 1.0)],
)
def test_ignoring_case_is_an_option(policy: Json, options: Json, value: float) -> None:
    done = [replace("b0", content="SUMMARY ＡＢＣ")]
    assert score_of("content-quality", done, patterns("summary ａｂｃ"), ABC, policy, **options).value == value


def test_the_content_issue_quotes_the_beginning_of_the_page() -> None:
    text = "あ" * 150
    made = details(score_of("content-quality", [], patterns("要約"), [page(text, id_="p")]))
    assert made["contentIssues"] == [f"Page 'p': Pattern '要約' not found in content: '{'あ' * 100}...'"]


def test_a_pattern_belongs_to_its_page() -> None:
    pages = [page("one", id_="p"), page("two", id_="q")]
    asked = by_page(p=patterns("two"), q=patterns("two"))
    score = score_of("content-quality", [], asked, pages)
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


# 5. anti-hallucination: (noNewContent && noDeletedBlocks && onlySpecifiedChanges) ? 1 : 0

CHECKS = ("noNewContent", "noDeletedBlocks", "onlySpecifiedChanges")


@pytest.mark.parametrize(
    ("done", "asked", "broken"),
    [
        ([], [], None),
        ([replace("b0", content="x")], [replace("b0")], None),
        ([delete("b0")], [delete("b0")], None),
        ([insert("b0", content="x")], [insert("b0")], None),  # a legitimate insert passes
        ([insert("b1", "before", content="x")], [insert("b0")], None),  # the same place by another name
        ([], [replace("b0")], None),  # too little is another scorer's matter
        ([replace("b0", content="a")], [], None),  # replaced by what it was: nothing changed
        ([insert("b0", content="x")], [], "noNewContent"),
        ([insert("b1", content="x")], [insert("b0")], "noNewContent"),  # asked for elsewhere
        ([insert("b0", content="x"), insert("b0", content="y")], [insert("b0")], "noNewContent"),  # asked for once
        ([delete("b1")], [], "noDeletedBlocks"),
        ([delete("b1")], [delete("b0")], "noDeletedBlocks"),
        ([delete("b0")], [replace("b0")], "noDeletedBlocks"),
        ([replace("b1", content="x")], [], "onlySpecifiedChanges"),
        ([replace("b1", content="x")], [replace("b0")], "onlySpecifiedChanges"),
        ([replace("b0", content="x")], [delete("b0")], "onlySpecifiedChanges"),
        # where the golden case gives exact content, another one was not asked for
        ([replace("b0", content="x")], [replace("b0", content="x")], None),
        ([replace("b0", content="y")], [replace("b0", content="x")], "onlySpecifiedChanges"),
    ],
)
def test_anti_hallucination(done: list[Json], asked: list[Json], broken: str | None) -> None:
    score = score_of("anti-hallucination", done, asked, ABC)
    assert score.value == (1.0 if broken is None else 0.0)
    made = details(score)
    assert {check: made[check] for check in CHECKS} == {check: check != broken for check in CHECKS}


def test_every_check_shows_its_evidence() -> None:
    done = [insert("b0", content="invented"), delete("b1"), replace("b2", content="changed")]
    made = details(score_of("anti-hallucination", done, [], ABC))
    assert [made[check] for check in CHECKS] == [False, False, False]
    (new,), (lost,), (changed,) = made["newBlocks"], made["deletedBlocks"], made["changedBlocks"]
    assert (new["pageId"], new["after"]) == ("p", "invented")
    assert (lost["blockId"], lost["before"]) == ("b1", "b")
    assert (changed["blockId"], changed["before"], changed["after"]) == ("b2", "c", "changed")


def test_every_page_of_the_case_is_looked_at() -> None:
    pages = [page("a", id_="p"), page("a", id_="q")]
    done = by_page(p=[delete("b0")], q=[delete("b0")])
    score = score_of("anti-hallucination", done, by_page(p=[delete("b0")]), pages)
    assert score.value == 0.0
    assert [lost["pageId"] for lost in details(score)["deletedBlocks"]] == ["q"]


NEST = {
    "id": "p",
    "blocks": [
        {"id": "top", "content": "top", "children": [{"id": "in", "content": "inside", "children": []}]},
        {"id": "end", "content": "end"},
    ],
}


@pytest.mark.parametrize(
    ("done", "broken"),
    [
        # the children come along as they were
        ({"content": "new", "children": [{"id": "in", "content": "inside"}]}, None),
        ({"content": "new", "children": [{"id": "in", "content": "CHANGED"}]}, "onlySpecifiedChanges"),
        ({"content": "new", "children": [{"id": "other", "content": "inside too"}]}, "noDeletedBlocks"),
        (
            {"content": "new", "children": [{"id": "in", "content": "inside"}, {"id": "x", "content": "invented"}]},
            "noNewContent",
        ),
        ([{"content": "new"}, {"id": "x", "content": "invented"}], "noNewContent"),
    ],
)
def test_what_a_replacement_brings_along_or_leaves_out_is_looked_at(done: Any, broken: str | None) -> None:
    score = score_of("anti-hallucination", [replace("top", content=done)], [replace("top")], [NEST])
    assert score.value == (1.0 if broken is None else 0.0)
    if broken:
        assert details(score)[broken] is False


def test_deleting_a_block_takes_its_children_and_no_others() -> None:
    assert score_of("anti-hallucination", [delete("top")], [delete("top")], [NEST]).value == 1.0
    assert score_of("anti-hallucination", [delete("in")], [delete("top")], [NEST]).value == 0.0
    assert score_of("anti-hallucination", [delete("top")], [delete("in")], [NEST]).value == 0.0


@pytest.mark.parametrize(
    ("done", "asked", "value"),
    [
        ([insert("b0", content="x")], [insert("b0")], 0.0),  # newBlocks.length > 0 -> 0, even where it was asked for
        ([delete("b0")], [delete("b0")], 1.0),  # expectedDeleteIds has it
        ([delete("b0")], [], 0.0),
        ([replace("b0", content="x")], [replace("b0")], 1.0),
        ([replace("b0", content=[{"content": "x"}, {"id": "n", "content": "y"}])], [replace("b0")], 0.0),  # n is new
    ],
)
def test_the_samples_literal_rule_is_a_policy_key(done: list[Json], asked: list[Json], value: float) -> None:
    assert score_of("anti-hallucination", done, asked, ABC, {"literal_hallucination": True}).value == value
    assert score_of("anti-hallucination", done, asked, ABC, literal=True).value == value


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


# Thresholds and presets

THRESHOLDS = {
    "operation-accuracy": 0.80,
    "target-block-precision": 0.75,
    "content-quality": 0.60,
    "operation-result": 0.80,
    "anti-hallucination": 1.00,
}


@pytest.mark.parametrize(("name", "threshold"), THRESHOLDS.items())
def test_thresholds(name: str, threshold: float) -> None:
    (bound,) = Evaluator([{"type": name}]).bound
    assert (bound.threshold, bound.weight) == (threshold, 1.0)


# The spec's blocks of YAML, as they stand there
PATTERNS = {
    "standard": """
scorers:
  - type: operation-accuracy
    weight: 1.0
    threshold: 0.8
  - type: target-block-precision
    weight: 1.0
    threshold: 0.75
  - type: content-quality
    weight: 1.0
    threshold: 0.6
""",
    "strict": """
scorers:
  - type: operation-accuracy
    weight: 1.0
    threshold: 0.9
  - type: target-block-precision
    weight: 1.0
    threshold: 0.9
  - type: content-quality
    weight: 1.0
    threshold: 0.8
  - type: anti-hallucination
    weight: 2.0  # 重み付け増加
    threshold: 1.0
""",
    "operation-focused": """
scorers:
  - type: operation-accuracy
    weight: 2.0  # 重み付け増加
    threshold: 0.9
  - type: target-block-precision
    weight: 1.5
    threshold: 0.85
  - type: content-quality
    weight: 0.5  # 重み付け減少
    threshold: 0.5
""",
}


@pytest.mark.parametrize("name", PATTERNS)
def test_presets(name: str) -> None:
    listed = yaml.safe_load(PATTERNS[name])["scorers"]
    expected = [(one["type"], one["weight"], one["threshold"]) for one in listed]
    assert [bound[:3] for bound in Evaluator(name).bound] == expected
    assert [bound[:3] for bound in Evaluator(listed).bound] == expected


def test_standard_is_what_is_used_where_nothing_is_said() -> None:
    assert [one[:3] for one in Evaluator().bound] == [one[:3] for one in Evaluator("standard").bound]
    with pytest.raises(InputError, match="operation-focused"):
        Evaluator("strictly")


def case(asked: Any, pages: Any = ABC, **more: Any) -> Case:
    expected = asked if isinstance(asked, dict) else {"operations": _grouped(asked)}
    return msgspec.convert({"id": "c-1", "pages": pages, "expected": expected, **more}, Case)


def output(done: Any, **more: Any) -> Output:
    return msgspec.convert({"id": "c-1", "operations": _grouped(done), **more}, Output)


def judged(result: CaseResult) -> dict[str, float | None]:
    return {one.type: one.score for one in result.results}


def test_the_presets_on_one_case() -> None:
    """Two of three done, b2 deleted in place of b1: accuracy 2/3, targets 2/3, content 1, and a block is lost."""
    asked = [replace("b0", expectedContentPatterns=["新"]), insert("b0"), delete("b1")]
    done = [replace("b0", content="新しい"), insert("b0", content="x"), delete("b2")]
    standard = Evaluator("standard").evaluate(case(asked), output(done))
    assert judged(standard) == {
        "operation-accuracy": pytest.approx(2 / 3),
        "target-block-precision": pytest.approx(2 / 3),
        "content-quality": 1.0,
    }
    assert not standard.passed
    assert standard.weighted_average == pytest.approx(7 / 9)  # (2/3 + 2/3 + 1) / 3
    strict = Evaluator("strict").evaluate(case(asked), output(done))
    assert strict.weighted_average == pytest.approx(7 / 15)  # (2/3 + 2/3 + 1 + 2 x 0) / 5
    focused = Evaluator("operation-focused").evaluate(case(asked), output(done))
    assert focused.weighted_average == pytest.approx(17 / 24)  # (2 x 2/3 + 1.5 x 2/3 + .5 x 1) / 4 = 2.8333 / 4
    for result in (standard, strict, focused):
        assert_law(result.score)


def test_a_threshold_is_reached_by_equality() -> None:
    """Accuracy 4/5 = .8, targets 4/5 >= .75, content 3/5 = .6: standard passes on the line."""
    asked = [
        replace("b0", expectedContentPatterns=["x", "y", "z", "no", "never"]),
        *(delete(name) for name in ("b1", "b2", "b3", "b4")),
    ]
    done = [replace("b0", content="x y z"), delete("b1"), delete("b2"), delete("b3")]
    result = Evaluator("standard").evaluate(case(asked, [page(*"abcde")]), output(done))
    assert judged(result) == {"operation-accuracy": 0.8, "target-block-precision": 0.8, "content-quality": 0.6}
    assert result.passed


def test_a_case_may_bring_its_own_scorers() -> None:
    own = [{"type": "operation-accuracy", "threshold": 0.5}]
    result = Evaluator("strict").evaluate(case([delete("b0"), delete("b1")], scorers=own), output([delete("b0")]))
    assert judged(result) == {"operation-accuracy": 0.5}
    assert result.passed


def test_an_output_with_an_error_is_never_green() -> None:
    result = Evaluator().evaluate(case([]), output([], error="the model did not answer"))
    assert not result.passed
    assert result.weighted_average is None
    assert {one.status for one in result.results} == {"failed"}


def test_a_result_as_programs_read_it() -> None:
    result = Evaluator().evaluate(case([delete("b0")]), output([delete("b0")]))
    row = msgspec.json.decode(msgspec.json.encode(result.to_dict()))
    assert list(row) == ["id", "passed", "weighted_average", "scores"]
    assert (row["id"], row["passed"], row["weighted_average"]) == ("c-1", True, 1.0)
    assert list(row["scores"]) == ["operation-accuracy", "target-block-precision", "content-quality"]
    accuracy = row["scores"]["operation-accuracy"]
    assert accuracy["details"]["matchedOperations"] == 1
    assert (accuracy["value"], accuracy["status"], accuracy["threshold"], accuracy["passed"]) == (1.0, "ok", 0.8, True)
    content = row["scores"]["content-quality"]
    assert (content["value"], content["status"], content["passed"]) == (None, "not_applicable", None)


# is_passed and weighted_average


def result_of(score: float | None, threshold: float = 0.5, weight: float = 1.0, status: Any = "ok") -> ScorerResult:
    return ScorerResult(score=score, threshold=threshold, weight=weight, status=status)


NA = result_of(None, status="not_applicable")
FAILED = result_of(None, status="failed")


@pytest.mark.parametrize(
    ("results", "passed"),
    [
        ([result_of(0.8, 0.8)], True),  # >=
        ([result_of(0.79, 0.8)], False),
        ([result_of(0.8, 0.8), result_of(0.5, 0.6)], False),  # and
        ([result_of(1.0), NA], True),  # nothing to judge has no say
        ([result_of(0.0), NA], False),
        ([result_of(1.0), FAILED], False),  # failed is never green
        ([result_of(None, 0.0, status="failed")], False),  # not even from 0 on
        ([result_of(0.4, 0.5, weight=0.0)], False),  # without weight it still has to pass
    ],
)
def test_is_passed(results: list[ScorerResult], passed: bool) -> None:
    assert is_passed(results) is passed


@pytest.mark.parametrize(
    ("results", "average"),
    [
        ([result_of(0.4)], 0.4),
        ([result_of(1.0, weight=2), result_of(0.4, weight=1)], 0.8),  # (2 + .4) / 3
        ([result_of(0.5, weight=1), result_of(1.0, weight=0)], 0.5),
        ([result_of(0.4), NA], 0.4),
        ([result_of(1.0, weight=1.5), result_of(0.0, weight=0.5)], 0.75),  # 1.5 / 2
    ],
)
def test_weighted_average(results: list[ScorerResult], average: float) -> None:
    assert weighted_average(results) == pytest.approx(average, abs=1e-12)


@pytest.mark.parametrize("results", [[], [NA], [NA, NA]])
def test_no_scorers_is_an_error_and_never_a_pass(results: list[ScorerResult]) -> None:
    with pytest.raises(InputError):
        is_passed(results)
    with pytest.raises(InputError):
        weighted_average(results)


def test_zero_total_weight_is_an_error() -> None:
    with pytest.raises(InputError, match="0"):
        weighted_average([result_of(1.0, weight=0.0), result_of(0.5, weight=0.0)])


@pytest.mark.parametrize(
    ("scorers", "path"),
    [
        ([], "scorers"),
        ([{"type": "exact", "weight": 0}], "scorers"),
        ([{"type": "exact", "weight": -1}], "scorers[0].weight"),
        ([{"type": "exact", "weight": float("nan")}], "scorers[0].weight"),
        ([{"type": "exact", "weight": True}], "scorers[0].weight"),
        ([{"type": "exact"}, {"type": "exact", "threshold": 1.1}], "scorers[1].threshold"),
        ([{"type": "exact", "threshold": "0.8"}], "scorers[0].threshold"),
        ([{"type": "operation-acuracy"}], "scorers[0]"),
        ([{"weight": 1}], "scorers[0]"),
        (["exact"], "scorers[0]"),
        ([{"type": "exact", "ignorecase": True}], "scorers[0].ignorecase"),
    ],
)
def test_a_list_of_scorers_that_does_not_fit(scorers: list[Any], path: str) -> None:
    with pytest.raises(InputError) as raised:
        Evaluator(scorers)
    assert raised.value.path == path


@given(
    st.lists(
        st.builds(result_of, st.floats(0, 1), st.floats(0, 1), st.floats(0, 10).filter(lambda weight: weight > 1e-6)),
        min_size=1,
    )
)
def test_the_average_lies_between_the_lowest_and_the_highest(results: list[ScorerResult]) -> None:
    scores = [one.score for one in results if one.score is not None]
    assert min(scores) - 1e-9 <= weighted_average(results) <= max(scores) + 1e-9
    assert is_passed(results) is all(one.score is not None and one.score >= one.threshold for one in results)


# Free text


def text(name: str, got: Any, wanted: Any, **options: Any) -> Score:
    return score_of(name, {"output": got}, {"output": wanted}, **options)


@pytest.mark.parametrize(
    ("name", "got", "wanted", "options", "value"),
    [
        ("exact", "東京", "東京", {}, 1.0),
        ("exact", "東京", "京都", {}, 0.0),
        ("exact", "Yes", "yes", {}, 0.0),
        ("exact", "Yes", "yes", {"ignoreCase": True}, 1.0),
        ("exact", " a  b\n", "a b", {}, 0.0),
        ("exact", " a  b\n", "a b", {"ignoreSpace": True}, 1.0),
        ("exact", "ＡＢＣ１２３", "ABC123", {}, 0.0),
        ("exact", "ＡＢＣ１２３", "ABC123", {"nfkc": True}, 1.0),
        ("contains", "the answer is 42", "42", {}, 1.0),
        ("contains", "the answer is 42", ["42", "answer", "43", "47"], {}, 0.5),  # 2 / 4
        ("contains", "要約です", ["要約", "まとめ"], {}, 0.5),
        ("contains", "Answer", "answer", {"ignoreCase": True}, 1.0),
        ("regex", "order 123", r"\d+", {}, 1.0),
        ("regex", "order 123", [r"\d+", "^123"], {}, 0.5),  # searched; 123 is not where the text begins
        ("regex", "first\nlast", "first.last", {}, 1.0),  # . crosses lines
        ("regex", "ORDER", "order", {}, 0.0),
        ("regex", "ORDER", "order", {"ignoreCase": True}, 1.0),
        ("levenshtein", "kitten", "sitting", {}, 4 / 7),  # 1 - 3 / 7
        ("levenshtein", "", "", {}, 1.0),
        ("levenshtein", "", "abc", {}, 0.0),
        ("levenshtein", "東京都", "京都", {}, 2 / 3),  # 1 - 1 / 3
        ("levenshtein", "ABC", "abc", {"ignoreCase": True}, 1.0),
        ("numeric", 3.1, 3, {}, 0.0),
        ("numeric", 3.1, 3, {"tolerance": 0.2}, 1.0),
        ("numeric", 3.25, 3, {"tolerance": 0.25}, 1.0),
        ("numeric", 110, 100, {"relative": 0.1}, 1.0),  # 10 <= 100 x .1
        ("numeric", 111, 100, {"relative": 0.1}, 0.0),
        ("numeric", -110, -100, {"relative": 0.1}, 1.0),
        ("numeric", "1,250 円", 1250, {}, 1.0),
        ("numeric", "約３００円", 300, {}, 1.0),
        ("numeric", "nothing", 300, {}, 0.0),
        ("numeric", "1 or 2", 1, {}, 0.0),  # two numbers are no answer
        ("numeric", "-2.5e3", -2500, {}, 1.0),
        ("numeric", True, 1, {}, 0.0),
        ("numeric", None, 1, {}, 0.0),
    ],
)
def test_free_text(name: str, got: Any, wanted: Any, options: Json, value: float) -> None:
    assert text(name, got, wanted, **options).value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("got", "wanted", "options", "value"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {}, 1.0),
        ('{"a": 1}', {"a": 1}, {}, 1.0),  # JSON in a text
        ({"a": 1, "b": 3}, {"a": 1, "b": 2}, {}, 0.5),
        ({"a": 1}, {"a": 1, "b": 2}, {}, 0.5),  # b is missing
        ({"a": 1, "x": 2}, {"a": 1}, {}, 0.5),  # x is one too many
        ({"a": 1, "x": 2}, {"a": 1}, {"extra": False}, 1.0),
        ([1, 2], [2, 1], {}, 0.0),
        ({"a": [1, 2]}, {"a": [2, 1]}, {"fields": {"a": "set"}}, 1.0),
        ({"a": True}, {"a": 1}, {}, 0.0),
        ({"a": None}, {}, {}, 0.0),
        ({"t": "Yes"}, {"t": "yes"}, {"fields": {"t": "ignoreCase"}}, 1.0),
        ({"t": "kitten"}, {"t": "sitting"}, {"fields": {"t": "levenshtein"}}, 4 / 7),
        ({"n": 3.1}, {"n": 3}, {"fields": {"n": {"how": "numeric", "tolerance": 0.2}}}, 1.0),
        ({"t": "the long text"}, {"t": "long"}, {"fields": {"t": "contains"}}, 1.0),
        ({"a": 1, "when": "now"}, {"a": 1, "when": "then"}, {"fields": {"when": "ignore"}}, 1.0),
        (
            {"items": [{"price": 10.4}, {"price": 30}]},
            {"items": [{"price": 10}, {"price": 20}]},
            {"fields": {"items[].price": {"how": "numeric", "tolerance": 0.5}}},
            0.5,
        ),
        ("not json", {"a": 1}, {}, 0.0),
    ],
)
def test_json_equal(got: Any, wanted: Any, options: Json, value: float) -> None:
    assert text("json-equal", got, wanted, **options).value == pytest.approx(value, abs=1e-12)


def test_json_equal_says_which_fields_differ() -> None:
    made = details(text("json-equal", {"a": {"b": 2}, "c": 1}, {"a": {"b": 3}, "c": 1}))
    assert made["fields"] == 2
    assert [one["path"] for one in made["differences"]] == ["a.b"]


def test_an_unknown_comparator_is_an_input_error() -> None:
    with pytest.raises(InputError, match="numeric"):
        Evaluator([{"type": "json-equal", "fields": {"a": "numerc"}}])


class TwoWords:
    """An encoder that knows two directions."""

    model_id = "two-words"

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        known = {"cat": (1.0, 0.0), "dog": (0.6, 0.8), "not cat": (-1.0, 0.0), "": (0.0, 0.0)}
        return np.array([known[text] for text in texts], dtype=np.float32)


@pytest.mark.parametrize(
    ("got", "wanted", "value"),
    [
        ("cat", "cat", 1.0),
        ("dog", "cat", 0.6),  # .6 x 1 + .8 x 0
        ("not cat", "cat", 0.0),  # a cosine of -1 is not below 0
        ("", "cat", 0.0),  # a vector without length is like nothing
    ],
)
def test_embedding_similarity(got: str, wanted: str, value: float) -> None:
    score = text("embedding-similarity", got, wanted, embedder=TwoWords)
    assert score.value == pytest.approx(value, abs=1e-6)


def test_without_an_encoder_similarity_has_failed() -> None:
    score = text("embedding-similarity", "cat", "cat")
    assert (score.status, score.value) == ("failed", None)


@pytest.mark.parametrize("name", ["exact", "contains", "regex", "json-equal", "levenshtein", "numeric"])
def test_a_case_that_expects_no_text_fails_the_scorer_and_not_the_run(name: str) -> None:
    bare = case({}, [], scorers=[{"type": name}])
    (one,) = Evaluator().evaluate(bare, Output(id="c-1", output="x")).results
    assert (one.status, one.passed) == ("failed", False)
    assert "expected.output" in one.reason


# Scorers of one's own


def own(target: Any, **more: Any) -> ScorerResult:
    name = f"own-{id(target)}"
    scorer(name, threshold=0.5)(target)
    judged_ = Evaluator([{"type": name, **more}]).evaluate(case({"output": "x"}, []), Output(id="c-1", output="xx"))
    assert_law(judged_.score)
    return judged_.results[0]


def two(actual: Output, expected: Expected) -> float:
    return len(expected.output) / len(actual.output)


def three(actual: Output, expected: Expected, context: Context) -> float:
    return 0.25 if context.evidence.actual is actual else 0.0


class Whole:
    """The spec's interface, with options."""

    def __init__(self, max_length: int = 1) -> None:
        self.max_length = max_length

    def score(self, actual: Output, expected: Expected) -> float:
        return 1.0 if len(actual.output) <= self.max_length else 0.0

    def get_details(self, actual: Output, expected: Expected) -> Json:
        return {"length": len(actual.output)}


class Bare:
    """Without details."""

    def score(self, actual: Output, expected: Expected) -> float:
        return 0.75


def test_a_function_of_two_or_three_arguments() -> None:
    assert (own(two).score, own(two).passed) == (0.5, True)
    assert (own(three).score, own(three).passed) == (0.25, False)


def test_a_class_with_score_and_get_details() -> None:
    assert (own(Whole).score, own(Whole).details) == (0.0, {"length": 2})
    assert own(Whole, maxLength=2).score == 1.0  # the YAML's camelCase is Python's snake_case
    assert own(Bare).score == 0.75
    assert own(Whole(5)).score == 1.0
    scorers: list[Scorer] = [Whole(), ResponseTimeScorer(100)]
    assert len(scorers) == 2


@pytest.mark.parametrize(
    ("value", "score"),
    [(0, 0.0), (1, 1.0), (True, 1.0), (False, 0.0), (0.3, 0.3), (np.float64(0.5), 0.5), (np.float32(0.5), 0.5)],
)
def test_plain_numbers_are_scores(value: Any, score: float) -> None:
    assert own(lambda actual, expected: value).score == pytest.approx(score)


@pytest.mark.parametrize("value", [1.5, -0.1, math.nan, math.inf, None, "0.5", [1.0]])
def test_what_is_no_score_has_failed(value: Any) -> None:
    one = own(lambda actual, expected: value)
    assert (one.status, one.score, one.passed) == ("failed", None, False)
    assert one.reason


def test_an_exception_is_a_failed_score_with_the_reason() -> None:
    def broken(actual: Output, expected: Expected) -> float:
        raise RuntimeError("no\x1b[31m quota")

    one = own(broken)
    assert (one.status, one.passed) == ("failed", False)
    assert "RuntimeError" in one.reason
    assert "quota" in one.reason
    assert "\x1b" not in one.reason


def test_details_that_raise_are_a_failed_score_too() -> None:
    class Broken(Bare):
        def get_details(self, actual: Output, expected: Expected) -> Json:
            raise KeyError("page")

    assert own(Broken).status == "failed"


def test_a_function_with_defaults_or_any_arguments_is_called_as_it_can_be() -> None:
    assert own(lambda actual, expected, tolerance=0.5: tolerance if isinstance(tolerance, float) else 0.9).score
    assert own(lambda *both: 0.5).score == 0.5


def test_a_score_of_ones_own_is_taken_as_it_is() -> None:
    given_ = Score("mine", None, "not_applicable", reason="not today")
    assert own(lambda actual, expected: given_).status == "not_applicable"


def test_a_scorer_by_module_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_scorers.py").write_text("def half(actual, expected):\n    return 0.5\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    listed = [{"type": "my_scorers:half", "threshold": 0.5}]
    (one,) = Evaluator(listed).evaluate(case({"output": "x"}, []), Output(id="c-1")).results
    assert (one.type, one.score, one.passed) == ("my_scorers:half", 0.5, True)
    with pytest.raises(InputError, match="threshold"):
        Evaluator([{"type": "my_scorers:half"}])
    for missing in ("my_scorers:none", "no_such_module:half", ":", "my_scorers:", ":half"):
        with pytest.raises(InputError):
            Evaluator([{"type": missing, "threshold": 0.5}])


def test_a_scorer_by_entry_point(tmp_path: Path) -> None:
    (tmp_path / "plug.py").write_text("def third(actual, expected):\n    return 1 / 3\n", encoding="utf-8")
    info = tmp_path / "plug-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[karat.scorers]\nthird = plug:third\n", encoding="utf-8")
    program = (
        "from karat.evals import *; c = Case(id='c', expected=Expected());"
        "print(Evaluator([{'type': 'third', 'threshold': 0.2}]).evaluate(c, Output()).weighted_average)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (ran.stdout.strip(), ran.stderr) == (str(1 / 3), "")


def test_a_scorer_keeps_its_own_threshold_where_the_list_has_none() -> None:
    scorer("own-threshold", threshold=0.9)(lambda actual, expected: 0.8)
    (bound,) = bind([{"type": "own-threshold"}], load_policy().evals)
    assert bound.threshold == 0.9
    (bound,) = bind([{"type": "own-threshold", "threshold": 0.7}], load_policy().evals)
    assert bound.threshold == 0.7


def test_one_scorer_may_stand_in_a_list_twice() -> None:
    listed: list[Json] = [{"type": "contains"}, {"type": "contains", "ignoreCase": True}]
    result = Evaluator(listed).evaluate(case({"output": "A"}, []), Output(id="c-1", output="a"))
    assert [one.score for one in result.results] == [0.0, 1.0]
    assert [one["value"] for one in result.to_dict()["scores"].values()] == [0.0, 1.0]


# Diagnosis: every failing scorer gets a cause with evidence and the failure that it points to


@pytest.mark.parametrize(
    ("listed", "asked", "done"),
    [
        ({"type": "exact"}, {"output": "x"}, Output(output="y")),
        ({"type": "numeric"}, {"output": 1}, Output(output=2)),
        ({"type": "levenshtein"}, {"output": "abc"}, Output(output="xyz")),
        ({"type": "response-time", "maxAcceptableMs": 100}, {}, Output(duration_ms=150)),
        ({"type": "operation-result"}, [delete("b0")], output([delete("b9")])),
        ({"type": "operation-accuracy"}, [delete("b0")], output([])),
        ({"type": "content-quality"}, patterns("要約"), output([])),
    ],
)
def test_every_low_score_has_a_cause_that_can_be_shown(listed: Json, asked: Any, done: Output) -> None:
    policy = load_policy()
    golden = case(asked, scorers=[listed])
    causes = diagnose(golden, done, Evaluator(None, policy).evaluate(golden, done), policy.evals).causes
    assert causes
    for cause in causes:
        assert cause.evidence
        assert isinstance(cause.mode, str)


def test_the_diagnosis_blames_only_the_patterns_that_were_missed() -> None:
    policy = load_policy()
    golden = case(patterns("HELLO", "zebra"), scorers=[{"type": "content-quality", "ignoreCase": True}])
    done = output([replace("b0", content="hello")])
    result = Evaluator(None, policy).evaluate(golden, done)
    assert [one.score for one in result.results] == [0.5]  # hello is found whatever its case, zebra is not
    (cause,) = diagnose(golden, done, result, policy.evals).causes
    assert "zebra" in cause.evidence
