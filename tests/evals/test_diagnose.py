"""diagnose: from a low score to a cause, with its evidence and its place."""

from typing import Any

import msgspec
import pytest

from scalepan.evals import Case, Cause, Evaluator, Output, diagnose
from scalepan.evals.diagnose import grouped
from scalepan.policy import Policy

POLICY = Policy()
TEXTS = ["start one", "start two", "middle one", "middle two", "end one", "end two"]
PAGE = {"id": "p", "blocks": [{"id": f"b{i}", "content": text} for i, text in enumerate(TEXTS)]}


def replace(block: str, content: str = "new") -> dict[str, Any]:
    return {"type": "replace", "targetBlockId": block, "content": content}


def causes(expected: list[dict[str, Any]], actual: list[dict[str, Any]], page: Any = PAGE) -> list[Cause]:
    case = msgspec.convert(
        {"id": "c", "pages": [page], "expected": {"operations": [{"pageId": "p", "operations": expected}]}}, Case
    )
    output = msgspec.convert({"id": "c", "operations": [{"pageId": "p", "operations": actual}]}, Output)
    result = Evaluator("strict", POLICY).evaluate(case, output)
    return diagnose(case, output, result, POLICY.evals).causes


def wanted(block: str, pattern: str | None = None, **more: Any) -> dict[str, Any]:
    operation = {"type": "replace", "targetBlockId": block, **more}
    return operation | ({"expectedContentPatterns": [pattern]} if pattern else {})


@pytest.mark.parametrize(
    ("expected", "actual", "key", "cause", "where", "evidence"),
    [
        ([wanted("b0")], [{"type": "delete", "targetBlockId": "b0"}], "operation_accuracy_low", "wrong type", "start",
         "page 'p': expected replace 'b0', done: delete 'b0'"),
        ([wanted("b3")], [replace("b4")], "operation_accuracy_low", "wrong target", "middle",
         "page 'p': expected replace 'b3', done: replace 'b4'"),
        ([wanted("b5", type="insert", position="after")], [{**replace("b5"), "type": "insert", "position": "before"}],
         "operation_accuracy_low", "wrong position", "end",
         "page 'p': expected insert after 'b5', done: insert before 'b5'"),
        ([wanted("b0"), wanted("b5")], [replace("b0")], "operation_accuracy_low", "missing", "end",
         "page 'p': expected replace 'b5'"),
        ([], [replace("b2")], "operation_accuracy_low", "extra", "middle", "page 'p': replace 'b2' was not asked for"),
        ([wanted("b3")], [replace("b4")], "target_precision_low", "target missed", "middle",
         "page 'p': expected 'b3', hit 'b4'"),
        ([wanted("b0", "Shopping Cart")], [replace("b0", "the shoping cart")], "content_quality_low",
         "pattern nearly matched", "start", "'Shopping Cart' nearly matches 'shoping cart' at 4, 3 off"),
        ([wanted("b5", "要約")], [replace("b5", "本文")], "content_quality_low", "pattern not found", "end",
         "page 'p': '要約'"),
        ([wanted("b0")], [replace("b0"), {**replace("b5"), "type": "insert", "position": "after"}],
         "anti_hallucination_failed", "invented block", "end", "page 'p', block 'new-2'"),
        ([wanted("b0")], [replace("b0"), {"type": "delete", "targetBlockId": "b3"}], "anti_hallucination_failed",
         "block lost", "middle", "page 'p', block 'b3'"),
        ([wanted("b0")], [replace("b0"), replace("b1", "changed")], "anti_hallucination_failed",
         "untouched block changed", "start", "page 'p', block 'b1'"),
    ],
)  # fmt: skip
def test_a_cause_has_its_key_its_evidence_and_its_place(
    expected: list[dict[str, Any]], actual: list[dict[str, Any]], key: str, cause: str, where: str, evidence: str
) -> None:
    found = [c for c in causes(expected, actual) if (c.key, c.cause) == (key, cause)]
    assert len(found) == 1, causes(expected, actual)
    assert found[0].where == where
    assert evidence in found[0].evidence


def test_a_changed_block_has_its_diff() -> None:
    (changed,) = [c for c in causes([], [replace("b1", "start 2")]) if c.cause == "untouched block changed"]
    assert changed.diff.splitlines()[1:] == ["-start two", "+start 2"]
    assert changed.mode == "hallucination"


@pytest.mark.parametrize(
    ("blocks", "block", "mode"),
    [
        (30, "b0", "content not as asked"),
        (30, "b29", "context loss in a long document"),
        (6, "b5", "content not as asked"),  # at the end, but of a short page
    ],
)
def test_what_is_lost_late_in_a_long_document_points_to_context_loss(blocks: int, block: str, mode: str) -> None:
    page = {"id": "p", "blocks": [{"id": f"b{i}", "content": "text"} for i in range(blocks)]}
    tried = causes([wanted(block, "要約")], [replace(block)], page=page)
    (cause,) = [c for c in tried if c.key == "content_quality_low"]
    assert cause.mode == mode


def test_a_passing_case_has_no_cause() -> None:
    assert causes([wanted("b0", "new")], [replace("b0")]) == []


def test_a_failed_output_is_not_judged() -> None:
    case = msgspec.convert({"id": "c", "pages": [PAGE], "expected": {}}, Case)
    output = Output(id="c", error="the tool crashed")
    found = diagnose(case, output, Evaluator("standard", POLICY).evaluate(case, output), POLICY.evals)
    assert {(c.cause, c.evidence) for c in found.causes} == {("not judged", "the tool crashed")}


def test_faults_of_the_golden_case_are_pointed_out() -> None:
    case = msgspec.convert(
        {
            "id": "c",
            "pages": [PAGE],
            "expected": {"operations": [{"pageId": "p", "operations": [wanted("b0", "^start 1$")]}]},
        },
        Case,
    )
    output = msgspec.convert({"operations": [{"pageId": "p", "operations": [replace("b0")]}]}, Output)
    found = diagnose(case, output, Evaluator("standard", POLICY).evaluate(case, output), POLICY.evals)
    assert len(found.golden_faults) == 1
    assert "matches only a whole page" in found.golden_faults[0]


def test_causes_are_grouped_by_cause_and_place_most_frequent_first() -> None:
    lost = [Cause(case_id, "operation_accuracy_low", "missing", "", "end") for case_id in ("x", "z", "z")]
    listed = [lost[0], Cause("y", "operation_accuracy_low", "extra", "", "start"), *lost[1:]]
    assert grouped(listed) == [("missing", "end", 3, ["x", "z"]), ("extra", "start", 1, ["y"])]
