"""The block model on 438 documentation commits: operations give the recorded document, candidates their verdicts."""

from collections import Counter
from typing import Any

import msgspec

from scalepan.evals import Case, Evaluator, Output, apply
from tests.real.blockdata import Json, rows


def operations(raw: list[Json]) -> list[Json]:
    """The data's `update` is the contract's `replace`; `position` says something of an insert only."""
    return [{**one, "type": "replace" if one["type"] == "update" else one["type"]} for one in raw]


def documents() -> dict[str, Case]:
    made = {}
    for row in rows("doc_block_edits/cases.dev.jsonl"):
        blocks = [{"id": b["id"], "type": b["type"], "content": b["text"]} for b in row["before"]]
        groups = [{"pageId": "doc", "operations": operations(row["expected_ops"])}]
        case = {"id": row["id"], "pages": [{"id": "doc", "blocks": blocks}], "expected": {"operations": groups}}
        made[row["id"]] = msgspec.convert(case, Case)
    return made


def test_expected_operations_give_the_recorded_document() -> None:
    cases = documents()
    recorded = {row["id"]: row["after"] for row in rows("doc_block_edits/cases.dev.jsonl")}
    equal = 0
    for id_, case in cases.items():
        applied = apply(case.pages, case.expected.operations)
        after = [{"type": block.type, "text": block.text} for block in applied.pages[0].blocks]
        assert [outcome.reason for outcome in applied.outcomes if not outcome.applied] == []
        equal += after == recorded[id_]
    print(f"doc_block_edits: {equal} of {len(cases)} give the recorded document")
    assert (equal, len(cases)) == (438, 438)


def test_derived_candidates_get_their_recorded_verdicts() -> None:
    cases = documents()
    evaluator = Evaluator([{"type": "operation-accuracy"}, {"type": "anti-hallucination"}])
    recorded = {row["id"]: row["after"] for row in rows("doc_block_edits/cases.dev.jsonl")}
    wrong: list[tuple[str, str, Any, Any]] = []
    kinds: Counter[str] = Counter()
    for row in rows("doc_block_edits/derived_candidates.dev.jsonl"):
        case = cases[row["case_id"]]
        groups = [{"pageId": "doc", "operations": operations(row["ops"])}]
        output = msgspec.convert({"id": case.id, "operations": groups}, Output)
        accuracy, only = (one.score for one in evaluator.evaluate(case, output).results)
        after = [{"type": b.type, "text": b.text} for b in apply(case.pages, output.operations).pages[0].blocks]
        expect = row["expect"]
        stated = (expect["operation_accuracy"], expect["only_expected_changes"], expect["result_equals_after"])
        got = (round(accuracy or 0.0, 4), only == 1.0, after == recorded[row["case_id"]])
        kinds[row["kind"]] += 1
        if got != stated:
            wrong.append((row["case_id"], row["kind"], stated, got))
    total = sum(kinds.values())
    print(f"doc_block_edits: {total - len(wrong)} of {total} candidates get their verdict: {dict(kinds)}")
    assert wrong == []
    assert total == 2_695
