"""Applying operations to a page (contract evals.39 to evals.42), worked by hand and by a model.

Ids and indexes name the page before the first operation; inserts at one place keep list order; an insert beside a block
that the same list deletes applies; a second replace or delete of one block is `target already gone`.
"""

from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.evals import Applied, Block, BlockOperation, Page, PageOperations, Run, apply

GONE = "target already gone"
NOT_FOUND = "target not found"
UNKNOWN_PAGE = "unknown page"


def op(type_: str, target: str | int | None, position: str | None = None, content: Any = None) -> dict[str, Any]:
    """An operation as JSON has it; a number is an index, a text an id."""
    key = "targetIndex" if isinstance(target, int) else "targetBlockId"
    keys = {"type": type_, key: target, "position": position, "content": content}
    return {name: value for name, value in keys.items() if value is not None}


def insert(position: str, target: str | int | None, content: Any) -> dict[str, Any]:
    return op("insert", target, position, content)


def replace(target: str | int, content: Any) -> dict[str, Any]:
    return op("replace", target, content=content)


def delete(target: str | int) -> dict[str, Any]:
    return op("delete", target)


def edits(*operations: dict[str, Any], page: str = "p") -> list[PageOperations]:
    return msgspec.convert([{"pageId": page, "operations": list(operations)}], list[PageOperations])


def flat(names: str) -> Page:
    """A page of blocks whose ids and texts are the letters of `names`."""
    return Page("p", blocks=[Block(name, content=name) for name in names])


def lines(applied: Applied, page: int = 0) -> list[str]:
    return [block.text for block in applied.pages[page].walk()]


def reasons(applied: Applied) -> list[str]:
    return [outcome.reason for outcome in applied.outcomes]


# One page, worked by hand


@pytest.mark.parametrize(
    ("operations", "after"),
    [
        ([], "abc"),
        ([insert("before", "a", "X")], "Xabc"),
        ([insert("after", "a", "X")], "aXbc"),
        ([insert("after", "c", "X")], "abcX"),
        ([insert("before", 0, "X")], "Xabc"),
        ([insert("after", 2, "X")], "abcX"),
        ([replace("b", "X")], "aXc"),
        ([replace(1, "X")], "aXc"),
        ([delete("b")], "ac"),
        ([delete(0)], "bc"),
        # two of a kind
        ([delete(0), delete(1)], "c"),  # 1 is b: the page before the first operation, not the page without a
        ([delete("a"), delete("b"), delete("c")], ""),
        ([replace(2, "X"), replace(0, "Y")], "YbX"),
        # anchored to the page before: a's insert does not move what index 1 names
        ([insert("before", 0, "X"), replace(1, "Y")], "XaYc"),
        ([insert("before", 0, "X"), delete(0)], "Xbc"),
        ([delete(0), insert("before", 1, "X")], "Xbc"),
        # inserts at one place keep list order
        ([insert("after", "a", "X"), insert("after", "a", "Y")], "aXYbc"),
        ([insert("before", "b", "X"), insert("before", "b", "Y")], "aXYbc"),
        ([insert("after", "a", "X"), insert("before", "b", "Y")], "aXYbc"),  # one gap, two names
        ([insert("before", "b", "X"), insert("after", "a", "Y")], "aXYbc"),
        ([insert("after", 0, "1"), insert("before", "b", "2"), insert("after", "a", "3")], "a123bc"),
        # beside a block that the same list deletes or replaces
        ([delete("b"), insert("after", "b", "X")], "aXc"),
        ([insert("before", "b", "X"), delete("b")], "aXc"),
        ([insert("before", "b", "X"), insert("after", "b", "Y"), delete("b")], "aXYc"),
        ([replace("b", "X"), insert("after", "b", "Y")], "aXYc"),
        ([insert("after", "b", "Y"), replace("b", "X")], "aXYc"),
    ],
)
def test_one_page(operations: list[dict[str, Any]], after: str) -> None:
    applied = apply([flat("abc")], edits(*operations))
    assert "".join(lines(applied)) == after
    assert reasons(applied) == [""] * len(operations)
    assert all(outcome.applied for outcome in applied.outcomes)


@pytest.mark.parametrize(
    ("operations", "after", "why"),
    [
        ([delete("b"), delete("b")], "ac", ["", GONE]),
        ([delete("b"), delete(1)], "ac", ["", GONE]),  # the same block by its other name
        ([replace("b", "X"), replace("b", "Y")], "aXc", ["", GONE]),
        ([replace("b", "X"), delete("b")], "aXc", ["", GONE]),
        ([delete("b"), replace("b", "X")], "ac", ["", GONE]),
        ([delete("b"), replace("b", "X"), delete("a")], "c", ["", GONE, ""]),  # the others go on
        ([delete("z")], "abc", [NOT_FOUND]),
        ([delete(3)], "abc", [NOT_FOUND]),
        ([replace("z", "X")], "abc", [NOT_FOUND]),
        ([insert("before", "z", "X")], "abc", [NOT_FOUND]),
        ([insert("after", 3, "X")], "abc", [NOT_FOUND]),
    ],
)
def test_what_cannot_be_applied(operations: list[dict[str, Any]], after: str, why: list[str]) -> None:
    applied = apply([flat("abc")], edits(*operations))
    assert "".join(lines(applied)) == after
    assert reasons(applied) == why
    assert [outcome.applied for outcome in applied.outcomes] == [not reason for reason in why]


@pytest.mark.parametrize(
    "operation",
    [
        {"type": "delete"},
        {"type": "replace", "content": "X"},
        {"type": "insert", "position": "after", "content": "X"},
        {"type": "insert", "targetBlockId": "a", "content": "X"},  # neither before nor after
        {"type": "replace", "targetBlockId": "a"},  # by what?
        {"type": "insert", "targetBlockId": "a", "position": "after"},
        {"type": "replace", "targetBlockId": "a", "content": [7]},
    ],
)
def test_an_operation_that_says_too_little_changes_nothing_and_says_why(operation: dict[str, Any]) -> None:
    applied = apply([flat("abc")], edits(operation))
    assert lines(applied) == ["a", "b", "c"]
    assert reasons(applied)[0]


def test_a_negative_index_names_no_block() -> None:
    applied = apply(
        [flat("abc")], [PageOperations(page_id="p", operations=[BlockOperation(type="delete", target_index=-1)])]
    )
    assert lines(applied) == ["a", "b", "c"]
    assert reasons(applied) != [""]


def test_an_unknown_page_is_said_and_the_known_ones_are_edited() -> None:
    applied = apply([flat("ab")], [*edits(delete("a"), page="other"), *edits(delete("a"))])
    assert reasons(applied) == [UNKNOWN_PAGE, ""]
    assert lines(applied) == ["b"]
    assert [outcome.page_id for outcome in applied.outcomes] == ["other", "p"]


def test_equal_ids_on_two_pages_are_two_blocks() -> None:
    pages = [Page("p", blocks=[Block("a", content="1")]), Page("q", blocks=[Block("a", content="2")])]
    applied = apply(pages, edits(delete("a"), page="q"))
    assert (lines(applied, 0), lines(applied, 1)) == (["1"], [])


def test_two_groups_of_one_page_are_one_list() -> None:
    applied = apply([flat("abc")], [*edits(delete(0)), *edits(delete(0), delete(1))])
    assert reasons(applied) == ["", GONE, ""]
    assert lines(applied) == ["c"]


@pytest.mark.parametrize("operations", [[insert("after", None, "X")], [{"type": "insert", "content": "X"}]])
def test_an_empty_page_has_one_place_that_needs_no_name(operations: list[dict[str, Any]]) -> None:
    applied = apply([Page("p")], edits(*operations))
    assert (lines(applied), reasons(applied)) == (["X"], [""])


@pytest.mark.parametrize("operation", [delete("a"), delete(0), replace("a", "X"), insert("after", "a", "X")])
def test_an_empty_page_has_no_block_to_name(operation: dict[str, Any]) -> None:
    applied = apply([Page("p")], edits(operation))
    assert (lines(applied), reasons(applied)) == ([], [NOT_FOUND])


def test_no_pages_and_no_operations() -> None:
    applied = apply([], [])
    assert (list(applied.pages), list(applied.outcomes)) == ([], [])


# What stays as it is


def test_a_page_keeps_its_title_version_and_untouched_blocks() -> None:
    kept = Block("b", "heading", [Run(text="見出し"), Run("bold", "!")], [Block("c", content="x")])
    before = Page("p", "題", 3, [Block("a", content="1"), kept])
    (after,) = apply([before], edits(delete("a"))).pages
    assert (after.title, after.version, after.blocks) == ("題", 3, [kept])


def test_a_replaced_block_keeps_its_id_and_an_inserted_one_gets_a_new_one() -> None:
    (after,) = apply([flat("ab")], edits(replace("a", "X"), insert("after", "a", "Y"))).pages
    ids = [block.id for block in after.blocks]
    assert (ids[0], ids[2]) == ("a", "b")
    assert len(set(ids)) == 3


@pytest.mark.parametrize(
    "content",
    [
        "日本語 X",
        [{"type": "text", "text": "日本語 "}, {"type": "text", "text": "X"}],
        {"id": "n", "type": "quote", "content": "日本語 X"},
        [{"id": "n", "content": [{"type": "text", "text": "日本語 X"}]}],
    ],
)
def test_content_is_text_or_runs_or_blocks(content: Any) -> None:
    assert lines(apply([flat("a")], edits(insert("after", "a", content)))) == ["a", "日本語 X"]
    assert lines(apply([flat("a")], edits(replace("a", content)))) == ["日本語 X"]


def test_new_blocks_need_no_ids_at_any_depth() -> None:
    content = {"content": "X", "children": [{"content": "Y", "children": [{"content": "Z"}]}]}
    applied = apply([flat("a")], edits(insert("after", "a", content)))
    assert (lines(applied), reasons(applied)) == (["a", "X", "Y", "Z"], [""])
    assert len({block.id for block in applied.pages[0].walk()}) == 4


# Nested blocks


def tree() -> Page:
    """a(b(c), d), e"""
    inner = [Block("b", content="b", children=[Block("c", content="c")]), Block("d", content="d")]
    return Page("p", blocks=[Block("a", content="a", children=inner), Block("e", content="e")])


@pytest.mark.parametrize(
    ("operations", "after", "parent_of_x"),
    [
        ([insert("before", "b", "X")], "aXbcde", "a"),
        ([insert("after", "b", "X")], "abcXde", "a"),  # behind b and what is inside it
        ([insert("after", "c", "X")], "abcXde", "b"),  # the same text, one level deeper
        ([insert("after", "d", "X")], "abcdXe", "a"),
        ([insert("after", "a", "X")], "abcdXe", "p"),
        ([insert("after", 0, "X")], "abcdXe", "p"),
        ([insert("before", 1, "X")], "abcdXe", "p"),  # an index counts the page's own blocks
    ],
)
def test_an_insert_stands_beside_its_target_at_the_same_depth(
    operations: list[dict[str, Any]], after: str, parent_of_x: str
) -> None:
    applied = apply([tree()], edits(*operations))
    assert "".join(lines(applied)) == after
    (page,) = applied.pages
    parents = {child.text: block.id for block in page.walk() for child in block.children}
    assert parents.get("X", "p") == parent_of_x


@pytest.mark.parametrize(
    ("operations", "after"),
    [
        ([delete("c")], "abde"),
        ([delete("b")], "ade"),  # with what is inside it
        ([delete("a")], "e"),
        ([replace("c", "X")], "abXde"),
        ([replace("b", "X")], "aXcde"),  # its text; what is inside it stays
        ([replace("a", "X"), delete("c")], "Xbde"),
        ([delete("c"), replace("a", "X")], "Xbde"),
        ([replace("a", "X"), replace("d", "Y")], "XbcYe"),
        ([insert("after", "c", "X"), delete("c")], "abXde"),
    ],
)
def test_nested_blocks(operations: list[dict[str, Any]], after: str) -> None:
    applied = apply([tree()], edits(*operations))
    assert "".join(lines(applied)) == after
    assert reasons(applied) == [""] * len(operations)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("operations", "after"),
    [
        ([replace("a", "X"), insert("after", "b", "Y")], "XbcYde"),
        ([replace("a", "X"), insert("before", "c", "Y")], "XbYcde"),
        ([replace("b", "X"), insert("after", "c", "Y")], "aXcYde"),
    ],
)
def test_a_replaced_text_and_an_insert_inside_its_block_both_apply_in_any_order(
    operations: list[dict[str, Any]], after: str, order: tuple[int, int]
) -> None:
    applied = apply([tree()], edits(*(operations[i] for i in order)))
    assert (reasons(applied), "".join(lines(applied))) == (["", ""], after)


@pytest.mark.parametrize(
    "inner", [delete("c"), replace("c", "X"), insert("after", "c", "X"), insert("before", "b", "X")]
)
def test_what_is_inside_a_deleted_block_is_gone(inner: dict[str, Any]) -> None:
    applied = apply([tree()], edits(delete("a"), inner))
    assert (reasons(applied), lines(applied)) == (["", GONE], ["e"])


@pytest.mark.parametrize("levels", [200])
def test_200_levels_of_nesting(levels: int) -> None:
    block = Block(f"b{levels}", content=f"t{levels}")
    for level in range(levels - 1, 0, -1):
        block = Block(f"b{level}", content=f"t{level}", children=[block])
    edit = edits(replace(f"b{levels}", "deep"), insert("after", f"b{levels}", "beside"), replace("b100", "half"))
    applied = apply([Page("p", blocks=[block])], edit)
    assert reasons(applied) == ["", "", ""]
    texts = lines(applied)
    assert len(texts) == levels + 1
    assert (texts[99], texts[-2], texts[-1]) == ("half", "deep", "beside")


# The input is never changed


def test_the_input_is_never_changed() -> None:
    pages = [tree(), Page("q", blocks=[Block("z", content=[Run(text="z")])])]
    content = [{"id": "n", "content": [{"text": "N"}], "children": [{"id": "m", "content": "M"}]}]
    operations = [
        *edits(replace("b", content), insert("after", "d", content), delete("e"), delete("e")),
        *edits(replace("z", "Z"), page="q"),
    ]
    before = deepcopy((pages, operations))
    applied = apply(pages, operations)
    assert (pages, operations) == before
    assert applied.pages != pages
    assert apply(pages, operations).pages == applied.pages


# Against a model: a flat page is a row of gaps


def model(names: list[str], operations: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The texts afterwards and the reasons. Gap i is what stands before block i; the last one is the end."""
    gaps: list[list[str]] = [[] for _ in range(len(names) + 1)]
    now: list[list[str]] = [[name] for name in names]
    taken = [False] * len(names)
    why = []
    for one in operations:
        if "targetBlockId" in one:
            at = names.index(one["targetBlockId"]) if one["targetBlockId"] in names else None
        else:
            at = one["targetIndex"] if one["targetIndex"] < len(names) else None
        if at is None:
            why.append(NOT_FOUND)
        elif one["type"] == "insert":
            gaps[at if one["position"] == "before" else at + 1].append(one["content"])
            why.append("")
        elif taken[at]:
            why.append(GONE)
        else:
            taken[at] = True
            now[at] = [one["content"]] if one["type"] == "replace" else []
            why.append("")
    after = list(gaps[0])
    for here, behind in zip(now, gaps[1:], strict=True):
        after += here + behind
    return after, why


NAMES = list("abcde")
targets = st.one_of(st.sampled_from([*NAMES, "no such block"]), st.integers(0, 6))
contents = st.text("xyz 日本", min_size=1, max_size=3)
operations_ = st.lists(
    st.one_of(
        st.builds(insert, st.sampled_from(["before", "after"]), targets, contents),
        st.builds(replace, targets, contents),
        st.builds(delete, targets),
    ),
    max_size=12,
)


@given(st.integers(1, 5), operations_)
def test_a_flat_page_is_a_row_of_gaps(size: int, operations: list[dict[str, Any]]) -> None:
    names = NAMES[:size]
    page, edit = flat("".join(names)), edits(*operations)
    before = deepcopy((page, edit))
    applied = apply([page], edit)
    assert (lines(applied), reasons(applied)) == model(names, operations)
    assert (page, edit) == before


@given(st.integers(1, 5), operations_, st.integers(1, 30))
def test_the_same_holds_at_any_depth_where_ids_name_the_blocks(
    size: int, operations: list[dict[str, Any]], depth: int
) -> None:
    operations = [one for one in operations if "targetBlockId" in one]
    names = NAMES[:size]
    block = Block("level", content="level", children=flat("".join(names)).blocks)
    for level in range(depth):
        block = Block(f"level{level}", content="level", children=[block])
    applied = apply([Page("p", blocks=[block])], edits(*operations))
    texts, why = model(names, operations)
    assert (lines(applied)[depth + 1 :], reasons(applied)) == (texts, why)
