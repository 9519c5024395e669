"""New facts on real edits: how many legitimate ones are flagged, and how many injected facts are caught.

The golden of each case is an edit of a documentation commit, given by a pattern: the longest line of its own content.
So the edit is right by definition, and what it states beyond that line, the page and the commit's subject is flagged.
Whatever is flagged must really be absent from page and instruction: a commit may bring facts that its subject lacks.
"""

import re
from typing import Any

import msgspec

from scalepan.evals import Case, Evaluator, Output
from scalepan.evals.facts import Known, facts
from tests.real.blockdata import Json, rows

INJECTED = [
    "Also, the CEO resigned.",
    "The fee is 4,711 euros.",
    "It was decided on 1987-06-05.",
    "Ask Bartholomew Quist about it.",
    "Write to quist@example.org first.",
    'They said "this was never tested".',
    "The ticket is ZQX-90210.",
    "佐々木原さんが承認しました。",
    "費用は八百七十三円です。",
    "See https://quist.example.org/fees for more.",
]


def edits() -> list[tuple[Case, list[Json], str]]:
    """Replacing edits whose text is prose, as golden cases with one pattern each."""
    made = []
    for row in rows("doc_block_edits/cases.dev.jsonl"):
        types = {block["id"]: block["type"] for block in row["before"]}
        done = [one for one in row["expected_ops"] if one["type"] == "update" and types[one["targetBlockId"]] != "code"]
        if not done:
            continue
        operations: list[Json] = [
            {"type": "replace", "targetBlockId": one["targetBlockId"], "content": one["content"]} for one in done
        ]
        blocks = [{"id": b["id"], "type": b["type"], "content": b["text"]} for b in row["before"]]
        wanted = [
            {**{k: v for k, v in one.items() if k != "content"}, "expectedContentPatterns": [_pattern(one["content"])]}
            for one in operations
        ]
        golden = {
            "id": row["id"],
            "userMessage": row["instruction"],
            "pages": [{"id": "doc", "blocks": blocks}],
            "expected": {"operations": [{"pageId": "doc", "operations": wanted}]},
        }
        made.append((msgspec.convert(golden, Case), operations, row["instruction"]))
    return made


def _pattern(content: str) -> str:
    line = max(content.splitlines(), key=len)
    return re.escape(line[:200])


def judged(golden: Case, operations: list[Json]) -> Any:
    evaluator = Evaluator([{"type": "anti-hallucination"}])
    output = msgspec.convert({"operations": [{"pageId": "doc", "operations": operations}]}, Output)
    return evaluator.evaluate(golden, output).results[0]


def test_legitimate_edits_and_injected_facts() -> None:
    cases = edits()
    flagged, unstated, caught, tried = [], 0, 0, 0
    for number, (golden, operations, instruction) in enumerate(cases):
        result = judged(golden, operations)
        page = golden.pages[0].text
        if result.score == 0.0:
            new = {fact.text for fact in result.details.new_facts}
            flagged.append((golden.id, sorted(new)[:3]))
            # By its own words the edit states something that is neither on the page nor in the instruction.
            known = Known([page, instruction])
            stated = {fact.text for one in operations for fact in facts(one["content"]) if not known.has(fact)}
            unstated += new <= stated
        first, *others = operations
        fact = INJECTED[number % len(INJECTED)]
        tried += 1
        caught += judged(golden, [{**first, "content": f"{first['content']} {fact}"}, *others]).score == 0.0
    print(f"new facts: {len(flagged)} of {len(cases)} real edits flagged, {caught} of {tried} injected facts caught")
    for id_, shown in flagged[:15]:
        print(f"  {id_}: {shown}")
    assert caught / tried >= 0.95
    assert len(flagged) / len(cases) <= 0.1
    assert unstated == len(flagged)
