"""What must hold for every case and output: order, wrong operations, gold against itself, untouched blocks."""

from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scalepan.evals import (
    Block,
    BlockOperation,
    Case,
    CaseResult,
    Evaluator,
    Expected,
    Output,
    Page,
    PageOperations,
    ScorerResult,
    apply,
)
from scalepan.evals.blocks import OperationType
from scalepan.policy import load_policy
from tests.law import assert_law

Json = dict[str, Any]

BY_OPERATIONS = ["operation-accuracy", "target-block-precision", "content-quality", "operation-result"]
ALL = [*BY_OPERATIONS, "anti-hallucination"]
EVALUATORS = {
    strict: Evaluator([{"type": name} for name in ALL], load_policy(overrides={"evals": {"strict_operations": strict}}))
    for strict in (False, True)
}

KINDS: tuple[OperationType, ...] = ("insert", "replace", "delete")
words = st.text("ab 日本語\n", min_size=1, max_size=6)


@st.composite
def trees(draw: st.DrawFn, ids: list[str], depth: int = 3) -> list[Block]:
    """Up to four blocks, some with blocks inside; ids are taken from the front of `ids`."""
    blocks = []
    for _ in range(draw(st.integers(1, 4))):
        if not ids:
            break
        id_ = ids.pop(0)
        inside = draw(trees(ids, depth - 1)) if depth and draw(st.booleans()) else []
        blocks.append(Block(id_, content=draw(words), children=inside))
    return blocks


@st.composite
def pages(draw: st.DrawFn) -> list[Page]:
    ids = [f"b{i}" for i in range(20)]
    return [Page(f"p{number}", blocks=draw(trees(ids))) for number in range(draw(st.integers(1, 2)))]


@st.composite
def edits(draw: st.DrawFn, on: list[Page]) -> list[PageOperations]:
    """Operations that can all be applied: each block is replaced or deleted once at most, none inside a deleted one."""
    groups = []
    for page in on:
        ids = [block.id for block in page.walk()]
        busy: set[str] = set()
        operations = []
        for _ in range(draw(st.integers(0, 5)) if ids else 0):
            target = draw(st.sampled_from(ids))
            kind = draw(st.sampled_from(KINDS))
            if target in busy or (kind == "delete" and _below(page, target) & busy):
                continue
            content = None if kind == "delete" else draw(words)
            operations.append(
                BlockOperation(
                    type=kind,
                    target_block_id=target,
                    position=draw(st.sampled_from(["before", "after"])) if kind == "insert" else None,
                    content=content,
                )
            )
            # What is edited once is left alone afterwards, and so is everything inside what is deleted.
            busy |= {target} | (_below(page, target) if kind == "delete" else set())
        groups.append(PageOperations(page_id=page.id, operations=operations))
    return groups


def _below(page: Page, id_: str) -> set[str]:
    (block,) = [block for block in page.walk() if block.id == id_]
    return {inner.id for inner in Page("", blocks=block.children).walk()}


def judge(on: list[Page], asked: list[PageOperations], done: list[PageOperations], strict: bool = False) -> CaseResult:
    case = Case(id="c", pages=on, expected=Expected(operations=asked))
    result = EVALUATORS[strict].evaluate(case, Output(id="c", operations=done))
    assert_law(result.score)
    return result


def scores(result: CaseResult) -> dict[str, ScorerResult]:
    return {one.type: one for one in result.results}


def with_patterns(asked: list[PageOperations]) -> list[PageOperations]:
    """A golden case that says what it wants by patterns, none of which looks at a line's end."""
    raw = msgspec.to_builtins(asked)
    for group in raw:
        for operation in group["operations"]:
            if "content" in operation:
                operation["expectedContentPatterns"] = [f"[{operation.pop('content')[0]}]"]
    return msgspec.convert(raw, list[PageOperations])


@given(st.data(), st.booleans())
def test_gold_against_itself_is_one_on_every_scorer_that_applies(data: st.DataObject, by_pattern: bool) -> None:
    on = data.draw(pages())
    gold = data.draw(edits(on))
    assert all(outcome.applied for outcome in apply(on, gold).outcomes)
    result = judge(on, with_patterns(gold) if by_pattern else gold, gold, strict=True)
    judged = [one for one in result.results if one.status != "not_applicable"]
    assert {one.type: one.score for one in judged} == {one.type: 1.0 for one in judged}
    assert {"operation-accuracy", "operation-result", "anti-hallucination"} <= {one.type for one in judged}
    assert result.passed


@given(st.data(), st.booleans())
def test_any_order_of_the_operations_scores_the_same(data: st.DataObject, strict: bool) -> None:
    """Blocks that are edited once: then the order of a list says only in which order inserts at one place stand.

    Content of several lines may be found across two of those, or not; so whether it is found depends on their order.
    """
    on = data.draw(pages())
    asked, done = data.draw(edits(on)), data.draw(edits(on))
    lines = any("\n" in (operation.content or "") for group in [*asked, *done] for operation in group.operations)
    moved = data.draw(st.permutations(done))
    moved = [
        PageOperations(page_id=group.page_id, operations=data.draw(st.permutations(group.operations)))
        for group in moved
    ]
    one, other = scores(judge(on, asked, done, strict)), scores(judge(on, asked, moved, strict))
    names = ["operation-accuracy", "target-block-precision", "anti-hallucination"]
    for name in names if lines else [*names, "operation-result"]:
        assert (name, one[name].score) == (name, other[name].score)
    applied = [some["operation-result"].details.application_success_rate for some in (one, other)]
    assert applied[0] == applied[1]
    asked_moved = [
        PageOperations(page_id=group.page_id, operations=data.draw(st.permutations(group.operations)))
        for group in data.draw(st.permutations(asked))
    ]
    again = scores(judge(on, asked_moved, done, strict))
    assert {name: result.score for name, result in again.items()} == {name: one[name].score for name in again}


@given(st.data(), st.booleans())
def test_any_order_of_any_operations_is_equally_accurate(data: st.DataObject, strict: bool) -> None:
    """Also where one block is named twice, or a block that is not there."""
    on = [Page("p", blocks=[Block(name, content=name) for name in "abc"])]
    any_ = st.builds(
        BlockOperation,
        type=st.sampled_from(KINDS),
        target_block_id=st.sampled_from(["a", "b", "c", "z", None]),
        target_index=st.sampled_from([None, 0, 1, 5]),
        position=st.sampled_from(["before", "after"]),
        content=st.just("x"),
    )
    asked, done = data.draw(st.lists(any_, max_size=6)), data.draw(st.lists(any_, max_size=6))

    def group(operations: list[BlockOperation]) -> list[PageOperations]:
        return [PageOperations(page_id="p", operations=operations)]

    one = scores(judge(on, group(asked), group(done), strict))
    for a, d in ((asked, data.draw(st.permutations(done))), (data.draw(st.permutations(asked)), done)):
        other = scores(judge(on, group(a), group(d), strict))
        for name in ("operation-accuracy", "target-block-precision"):
            assert (name, one[name].score) == (name, other[name].score)


@given(st.data(), st.booleans())
def test_a_wrong_operation_never_raises_accuracy_or_anti_hallucination(data: st.DataObject, strict: bool) -> None:
    on = data.draw(pages())
    asked, done = data.draw(edits(on)), data.draw(edits(on))
    page = data.draw(st.sampled_from([page for page in on if page.blocks]))
    wrong = BlockOperation(
        type=data.draw(st.sampled_from(KINDS)),
        target_block_id=data.draw(st.sampled_from([block.id for block in page.walk()] + ["nowhere"])),
        position=data.draw(st.sampled_from(["before", "after"])),
        content=data.draw(words),
    )
    wanted = [one for group in asked if group.page_id == page.id for one in group.operations]
    assume(not any(_same(wrong, one) for one in wanted))
    # At the end: an operation in front can take a block from one behind it, which is then no longer done.
    more = [*done, PageOperations(page_id=page.id, operations=[wrong])]
    before, after = scores(judge(on, asked, done, strict)), scores(judge(on, asked, more, strict))
    for name in ("operation-accuracy", "anti-hallucination"):
        assert (after[name].score or 0.0) <= (before[name].score or 0.0)


def _same(one: BlockOperation, other: BlockOperation) -> bool:
    return (one.type, one.target_block_id) == (other.type, other.target_block_id) and (
        one.type != "insert" or one.position == other.position
    )


@pytest.mark.parametrize("how", KINDS)
@given(data=st.data(), literal=st.booleans(), first=st.booleans())
def test_one_untouched_block_too_many_always_fails_anti_hallucination(
    how: OperationType, data: st.DataObject, literal: bool, first: bool
) -> None:
    """Gold, and besides it one block that nobody asked to touch is deleted or changed, or stands there anew."""
    on = data.draw(pages())
    gold = data.draw(edits(on))
    page = data.draw(st.sampled_from(on))
    gone = {
        id_
        for group in gold
        for one in group.operations
        if one.type == "delete" and group.page_id == page.id
        for id_ in {str(one.target_block_id)} | _below(page, str(one.target_block_id))
    }
    named = {one.target_block_id for group in gold for one in group.operations if one.type != "insert"}
    left = [block for block in page.walk() if block.id not in gone]
    untouched = [block for block in left if block.id not in named]
    assume(untouched)
    target = data.draw(st.sampled_from(untouched))
    if how == "delete":
        # What is asked for inside a block that is deleted cannot be done any more; that is not what is tested here.
        assume(not _below(page, target.id) & named)
    bad = BlockOperation(
        type=how,
        target_block_id=target.id,
        position="after" if how == "insert" else None,
        content=None if how == "delete" else f"{target.text} and something that nobody asked for",
    )
    more = [PageOperations(page_id=page.id, operations=[bad])]
    done = [*more, *gold] if first else [*gold, *more]
    evaluator = Evaluator([{"type": "anti-hallucination", "literal": literal}])
    case = Case(id="c", pages=on, expected=Expected(operations=gold))
    (one,) = evaluator.evaluate(case, Output(id="c", operations=done)).results
    assert (one.score, one.passed) == (0.0, False)
    key = {"delete": "deletedBlocks", "insert": "newBlocks", "replace": "changedBlocks"}[how]
    assert msgspec.to_builtins(one.details)[key]
