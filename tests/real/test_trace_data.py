"""Public sets of traces, read whole: every row a trace, every step accounted for, the outcome as it is stated."""

import json
from pathlib import Path
from typing import Any

import pytest

from scalepan.trace.readers import TraceLine, open_path, read_source

DATA = Path(__file__).parents[2].parent / "shared" / "data"
TYPES = {"user_message": "observation", "agent_message": "thought"}


def expected_types(steps: list[dict[str, Any]]) -> list[str]:
    """The type of every step; a call after a failure of the same tool is a recovery."""
    types: list[str] = []
    failing: set[str] = set()
    tool = ""
    for step in steps:
        type_ = TYPES.get(step["type"], step["type"])
        tool = step.get("tool", tool)
        if step["type"] == "observation":
            failing = failing | {tool} if step.get("error") else failing - {tool}
        types.append("error_recovery" if type_ == "tool_call" and tool in failing else type_)
    return types


@pytest.mark.parametrize(
    ("name", "count", "succeeded"),
    [("tau_bench_airline", 100, 46), ("intercode", 1628, 650), ("fireact_hotpotqa", 722, 243)],
)
def test_a_set(name: str, count: int, succeeded: int) -> None:
    file = DATA / name / "traces.dev.jsonl"
    if not file.exists():
        pytest.skip(f"{file} is absent: real traces are read there, and never copied here")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    with open_path(file) as source:
        lines = list(read_source(source))
    traces = [line.trace for line in lines if isinstance(line, TraceLine)]
    assert len(traces) == len(rows) == count
    for trace, row in zip(traces, rows, strict=True):
        assert (trace.metadata.success, trace.metadata.task_domain) == (row["outcome"]["success"], row["domain"])
        assert [step.content or "" for step in trace.steps] == [step.get("content") or "" for step in row["steps"]]
        assert [step.type for step in trace.steps] == expected_types(row["steps"])
    assert sum(trace.metadata.success is True for trace in traces) == succeeded
