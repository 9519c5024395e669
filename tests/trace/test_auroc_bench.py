"""The figures about success in docs/benchmarks.md rest on this: the outcome is not in what is measured."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench.traces_auroc import SHORTNESS, blinded, load, measures
from tests.trace.traces import trace

STEPS = [{"type": "thought", "content": "look"}, {"type": "tool_call", "tool": "bash", "input": "ls"}]


@pytest.mark.parametrize("types", [("thought",), ("thought", *("error_recovery",) * 3), ("tool_call", "observation")])
def test_how_a_run_ended_changes_nothing(types: tuple[str, ...]) -> None:
    runs = [trace(types, confidence=sure, success=won) for sure in (0.0, 1.0) for won in (False, True)]
    for name, values in measures([blinded(run) for run in runs], None).items():
        assert len(set(values.tolist())) == 1, name


def test_parts_by_hand() -> None:
    # 3 types, 3 steps: C = 3/4 x .5 + 3/20 x .2 = .405; 1 tool in 3 steps: D = 1; .25 x .405 + .15 x 1 = .25125;
    # and half of novelty and outcome, .175 + .125, less .1 for a single tool: .45125.
    found = measures([blinded(trace())], None)
    assert {name: values.tolist() for name, values in found.items()} == {
        "C, complexity": [pytest.approx(0.405)],
        "D, tool diversity": [1.0],
        "C and D, weighted as in the formula": [pytest.approx(0.25125)],
        "value without outcome, no encoder": [pytest.approx(0.45125)],
        SHORTNESS: [-3.0],
    }


def test_runs_are_loaded_with_their_task_and_label(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"run-{number}",
            "domain": "code",
            "strategy": strategy,
            "task_group": task,
            "task": {"objective": "list files"},
            "steps": STEPS,
            "outcome": {"success": won},
        }
        for number, (strategy, task, won) in enumerate(
            [("react", "a", True), ("try_again", "a", False), ("react", "b", False)]
        )
    ]
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    runs = load(file, "react")
    assert [(run.task, run.success) for run in runs] == [("a", True), ("b", False)]
    assert len(load(file, None)) == 3
    assert {(run.trace.metadata.success, run.trace.outcome.confidence) for run in runs} == {(None, None)}
    assert np.array_equal(measures([run.trace for run in runs], None)[SHORTNESS], [-2.0, -2.0])
