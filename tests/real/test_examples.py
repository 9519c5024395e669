"""The example agent as a user runs it: in process and over MCP, with a person who says yes, no, or is not there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")

AGENT = Path(__file__).parents[2] / "examples" / "agent.py"
MODES: list[list[str]] = [[], ["--mcp"]]


def run(tmp_path: Path, *options: str, said: str = "") -> tuple[str, str]:
    """What it prints for the first task, and for the second."""
    done = subprocess.run(
        [sys.executable, str(AGENT), *options],
        input=said,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "SCALEPAN_EMBED__MODEL": "none"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split("\nCancel the annual plan of customer 23\n")
    return first, second


def confidence(text: str) -> float:
    found = re.search(r"^ *confidence +(0\.\d{3})", text, re.MULTILINE)
    assert found, text
    return float(found[1])


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_the_second_task_recalls_what_the_first_learned(tmp_path: Path, mode: list[str]) -> None:
    first, second = run(tmp_path, *mode, said="y\n")
    assert "find_order failed" in first or "find_order: failed" in first
    assert "recalled 0." not in first
    assert re.search(r"value +0\.\d{3}:? +share", first)
    kept = re.search(r"(?:kept|learned) +(clm_\w+)", first)
    assert kept
    assert "[y/N]" in first
    # It recalls the lesson, looks in the right place at once, is surer, asks nobody, and credits the lesson.
    assert "recalled 0." in second
    assert not re.search("^  find_order", second, re.MULTILINE)
    assert "[y/N]" not in second
    assert confidence(second) > confidence(first)
    assert re.search(rf"helpful .*{kept[1]}", second)


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("said", ["n\nn\n", ""])
def test_without_a_yes_nothing_is_cancelled(tmp_path: Path, mode: list[str], said: str) -> None:
    for task in run(tmp_path, *mode, said=said):
        assert "is cancelled" not in task
        assert "kept " not in task
        assert "learned" not in task


def test_it_remembers_from_run_to_run(tmp_path: Path) -> None:
    run(tmp_path, "--yes", "--store", "notes.duckdb")
    first, second = run(tmp_path, "--mcp", "--yes", "--store", "notes.duckdb")
    assert "recalled 0." in first
    assert "recalled 0." in second
