"""Rows of a benchmark, whose outcome is known."""

from typing import Any

import msgspec
import pytest

from scalepan.trace.readers import SeenRecords, readers
from tests.trace.readers.mutate import read_damaged
from tests.trace.readers.rows import reader_of, rows_of, steps_of, traces_of

STEPS: list[dict[str, Any]] = [
    {"type": "user_message", "content": "Move my flight"},
    {"type": "agent_message", "content": "Which one?"},
    {"type": "thought", "content": "Look it up"},
    {"type": "tool_call", "tool": "find", "input": {"id": "X1"}},
    {"type": "observation", "tool": "find", "content": "Error: no such id", "error": True},
    {"type": "tool_call", "tool": "find", "input": "X2"},
    {"type": "observation", "content": "booked", "error": False},
    {"type": "applause", "content": "not a step"},
]
ROW: dict[str, Any] = {
    "id": "air-1",
    "source": "own/airline",
    "domain": "customer_service",
    "agent_model": "large-2",
    "task_group": "air",
    "task": {"objective": "You are Mia; move your flight to Monday"},
    "steps": [{"step_id": number, **step} for number, step in enumerate(STEPS)],
    "outcome": {"success": False, "reward": 0.0},
    "split": "dev",
}


def test_a_row_step_by_step() -> None:
    (trace,) = traces_of(ROW)
    assert steps_of(trace) == [
        ("observation", None, "Move my flight"),
        ("thought", None, "Which one?"),
        ("thought", None, "Look it up"),
        ("tool_call", "find", '{"id":"X1"}'),
        ("observation", "find", "Error: no such id"),
        ("error_recovery", "find", '"X2"'),
        ("observation", "find", "booked"),
    ]
    assert (trace.id, trace.task.objective) == ("kp:trace:dataset:air-1", "You are Mia; move your flight to Monday")
    assert (trace.metadata.success, trace.outcome.confidence) == (False, None)
    assert (trace.metadata.task_domain, trace.outcome.result_summary) == ("customer_service", "Which one?")
    assert trace.origin is not None
    assert (trace.origin.model, trace.origin.session) == ("large-2", "air")
    assert trace.origin.unmapped == {"step of unknown type": 1}


@pytest.mark.parametrize(
    ("outcome", "success", "confidence"),
    [
        ({"success": True, "confidence": 0.25}, True, 0.25),
        ({"success": True, "confidence": 7}, True, None),
        ({"success": "yes"}, None, None),
        ({"reward": 1.0, "em": True}, None, None),
        (None, None, None),
    ],
)
def test_only_what_is_stated_counts(outcome: Any, success: bool | None, confidence: float | None) -> None:
    (_, row) = rows_of([ROW, ROW | {"id": "other", "outcome": outcome}])
    trace = row.trace  # type: ignore[union-attr]
    assert (trace.metadata.success, trace.outcome.confidence) == (success, confidence)


def test_a_repeated_row_counts_once() -> None:
    seen = SeenRecords()
    assert [len(traces_of(ROW, name, seen)) for name in ("a.jsonl", "b.jsonl")] == [1, 0]


def test_a_row_without_steps_says_so() -> None:
    assert str(rows_of([ROW, ROW | {"steps": []}])[1][1]) == (
        "log.json:2: trace kp:trace:dataset:air-1: has no step of an agent"
    )


@pytest.mark.parametrize(
    ("change", "reader"),
    [
        ({}, "dataset"),
        ({"outcome": {"reward": 1}}, None),
        ({"steps": [{"type": "span"}]}, None),
        ({"@context": "x"}, "native"),
    ],
)
def test_it_is_found_by_its_fields(change: dict[str, Any], reader: str | None) -> None:
    assert reader_of(msgspec.json.encode(ROW | change)) == reader


@pytest.mark.parametrize("seed", range(150))
def test_damaged_rows_give_traces_or_reasons(seed: int) -> None:
    lines = [msgspec.json.encode(ROW | {"id": f"air-{number}"}) for number in range(3)]
    read_damaged(readers()["dataset"], b"\n".join(lines), seed, "traces.jsonl")
