"""What is large, deep or slow comes to an end. The guards are generous: they catch a hang, not a slow day."""

import time

import pytest

from scalepan.evals import (
    Block,
    BlockOperation,
    Case,
    Evaluator,
    Expected,
    Output,
    Page,
    PageOperations,
    apply,
    diagnose,
    lint,
)
from scalepan.policy import load_policy

GUARD_S = 60.0
SLOW = "(a+)+$"
HARMLESS_END = "a" * 50_000 + "b"


def limited(ms: float) -> dict[str, dict[str, dict[str, float]]]:
    return {"evals": {"patterns": {"timeout_ms": ms}}}


def seconds_since(start: float) -> float:
    return time.perf_counter() - start


def edit(*operations: BlockOperation) -> list[PageOperations]:
    return [PageOperations(page_id="p", operations=list(operations))]


@pytest.mark.parametrize("pattern", [SLOW, r"(a|a)*$", r"^(\w+\s?)*$", r"(.*a){25}$", "(a*)*c"])
@pytest.mark.parametrize("name", ["content-quality", "operation-result"])
def test_a_slow_pattern_is_a_failed_score_within_its_limit(pattern: str, name: str) -> None:
    wanted = BlockOperation(type="replace", target_block_id="b", expected_content_patterns=[pattern])
    case = Case(
        id="slow-1",
        pages=[Page("p", blocks=[Block("b", content=HARMLESS_END)])],
        expected=Expected(operations=edit(wanted)),
    )
    start = time.perf_counter()
    (one,) = Evaluator([{"type": name}], load_policy(overrides=limited(200))).evaluate(case, Output()).results
    # The engine may find its answer in time; what it must not do is take its time.
    assert seconds_since(start) < 5.0
    if one.status == "failed":
        assert one.passed is False
        assert "200 ms" in one.reason


def test_the_issues_pattern_fails_and_says_so() -> None:
    wanted = BlockOperation(type="replace", target_block_id="b", expected_content_patterns=[SLOW])
    case = Case(
        id="slow-2",
        pages=[Page("p", blocks=[Block("b", content=HARMLESS_END)])],
        expected=Expected(operations=edit(wanted)),
    )
    policy = load_policy(overrides=limited(300))
    output = Output(operations=edit(BlockOperation(type="replace", target_block_id="b", content=HARMLESS_END)))
    start = time.perf_counter()
    result = Evaluator([{"type": "content-quality"}], policy).evaluate(case, output)
    diagnosis = diagnose(case, output, result, policy.evals)
    on_the_page = Evaluator([{"type": "content-quality", "scope": "page"}], policy)
    findings = lint(case, on_the_page.bound, policy.evals)
    assert seconds_since(start) < 10.0
    (one,) = result.results
    assert (one.status, one.passed, result.passed) == ("failed", False, False)
    assert SLOW in one.reason
    assert diagnosis.causes
    assert any("300 ms" in finding.message for finding in findings)


def test_the_regex_scorer_has_the_same_limit() -> None:
    case = Case(id="slow-3", expected=Expected(output=SLOW), scorers=[{"type": "regex"}])
    start = time.perf_counter()
    (one,) = Evaluator(None, load_policy(overrides=limited(200))).evaluate(case, Output(output=HARMLESS_END)).results
    assert seconds_since(start) < 5.0
    assert (one.status, one.passed) == ("failed", False)


def large(count: int = 10_000) -> tuple[Page, list[BlockOperation]]:
    """A page of 1 MB and an operation on each of its blocks: a third each inserted behind, replaced and deleted."""
    page = Page("p", blocks=[Block(f"b{i}", content=f"{i:05} " + "語x" * 24 + "....") for i in range(count)])
    operations = []
    for i in range(count):
        match i % 3:
            case 0:
                one = BlockOperation(type="insert", target_block_id=f"b{i}", position="after", content=f"new {i}")
            case 1:
                one = BlockOperation(type="replace", target_index=i, content=f"changed {i}")
            case _:
                one = BlockOperation(type="delete", target_block_id=f"b{i}")
        operations.append(one)
    return page, operations


def test_a_page_of_1_mb_and_10_000_operations() -> None:
    page, operations = large()
    assert len(page.text.encode()) > 1_000_000
    start = time.perf_counter()
    applied = apply([page], edit(*operations))
    assert all(outcome.applied for outcome in applied.outcomes)
    assert len(applied.pages[0].blocks) == 10_000 + 3_334 - 3_333
    names = [
        "operation-accuracy",
        "target-block-precision",
        "content-quality",
        "operation-result",
        "anti-hallucination",
    ]
    evaluator = Evaluator([{"type": name} for name in names])
    case = Case(id="large", pages=[page], expected=Expected(operations=edit(*operations)))
    result = evaluator.evaluate(case, Output(operations=edit(*operations)))
    took = seconds_since(start)
    print(f"1 MB page, 10,000 operations, 5 scorers: {took:.2f} s")
    assert [one.score for one in result.results] == [1.0] * 5
    assert took < GUARD_S


def test_10_000_wrong_operations_are_explained() -> None:
    page, operations = large()
    wrong = [BlockOperation(type="delete", target_block_id=f"b{i}") for i in range(10_000)]
    case = Case(id="large", pages=[page], expected=Expected(operations=edit(*operations)))
    output = Output(operations=edit(*wrong))
    policy = load_policy()
    start = time.perf_counter()
    result = Evaluator("strict", policy).evaluate(case, output)
    judged = seconds_since(start)
    causes = diagnose(case, output, result, policy.evals).causes
    print(f"10,000 wrong operations: judged in {judged:.2f} s, diagnosed in {seconds_since(start) - judged:.2f} s")
    assert not result.passed
    assert causes
    assert seconds_since(start) < GUARD_S


@pytest.mark.parametrize("same", ["id", "index"])
def test_10_000_operations_on_one_target(same: str) -> None:
    """The hardest for an assignment: everything could be paired with everything."""
    target = BlockOperation(
        type="insert",
        target_block_id="b0" if same == "id" else None,
        target_index=0 if same == "index" else None,
        position="after",
        content="x",
    )
    page, _ = large(10)
    case = Case(id="one-target", pages=[page], expected=Expected(operations=edit(*[target] * 10_000)))
    start = time.perf_counter()
    result = Evaluator("strict").evaluate(case, Output(operations=edit(*[target] * 9_000)))
    assert seconds_since(start) < GUARD_S
    assert [one.score for one in result.results][:2] == [0.9, 0.9]


@pytest.mark.parametrize("levels", [200])
def test_200_levels_are_judged_explained_and_linted(levels: int) -> None:
    block = Block(f"b{levels}", content="deepest")
    for level in range(levels - 1, 0, -1):
        block = Block(f"b{level}", content=f"level {level}", children=[block])
    deep = BlockOperation(type="replace", target_block_id=f"b{levels}", content="changed")
    wrong = BlockOperation(type="delete", target_block_id="b150")
    case = Case(id="deep", pages=[Page("p", blocks=[block])], expected=Expected(operations=edit(deep)))
    policy = load_policy()
    evaluator = Evaluator("strict", policy)
    assert evaluator.evaluate(case, Output(operations=edit(deep))).passed
    output = Output(operations=edit(wrong))
    failed = evaluator.evaluate(case, output)
    assert not failed.passed
    causes = {cause.cause for cause in diagnose(case, output, failed, policy.evals).causes}
    assert causes >= {"block lost", "wrong type", "target missed"}
    assert lint(case, evaluator.bound, policy.evals) == []
