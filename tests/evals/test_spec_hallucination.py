"""anti-hallucination: (noNewContent && noDeletedBlocks && onlySpecifiedChanges) ? 1 : 0"""

from typing import Any

import pytest

from tests.evals.spec import ABC, Json, by_page, delete, details, insert, page, replace, score_of

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
