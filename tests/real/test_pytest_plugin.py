"""Golden cases in real runs of pytest, with and without xdist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CASES = """\
- {id: answer-yes-001, userMessage: yes, expected: {output: "yes"}}
- {id: answer-no-001, userMessage: maybe, expected: {output: "no"}}
- {id: answer-open-001, userMessage: fail, expected: {output: "x"}}
- id: edit-001
  pages: [{id: p, blocks: [{id: b1, content: Basket}]}]
  expected:
    operations:
      - {pageId: p, operations: [{type: replace, targetBlockId: b1, expectedContentPatterns: [Cart]}]}
"""
AGENT = """\
def answer(case):
    assert not case.expected.output and case.scorers is None
    if case.pages:
        done = {"type": "replace", "targetBlockId": "b1", "content": "Crate"}
        return {"operations": [{"pageId": "p", "operations": [done]}]}
    if case.user_message == "fail":
        raise OSError("no model")
    return str(case.user_message)
"""
MARKED = """\
import pytest

@pytest.mark.scalepan("cases.yaml", scorers=[{"type": "short"}, {"type": "exact"}], scorers_from="own.py")
def test_answers(case):
    assert not hasattr(case, "expected")
    case.check(case.user_message)
"""
OWN = """\
import scalepan

@scalepan.scorer("short", threshold=1.0)
def short(actual, expected):
    return len(str(actual.output)) < 20
"""


def run(folder: Path, *args: str) -> tuple[int, str]:
    """Run pytest as a user does. Other plugins of this project's environment have no part in it."""
    command = [sys.executable, "-m", "pytest", "-p", "no:schemathesis", "-p", "no:faker", "-p", "no:cacheprovider"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    env = {name: value for name, value in env.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, *args], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "shop.scalepan.yaml").write_text(CASES.replace("userMessage: yes", 'userMessage: "yes"'))
    (tmp_path / "pytest.ini").write_text("[pytest]\nscalepan_task = agent:answer\naddopts = --strict-markers\n")
    return tmp_path


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_file_of_cases_is_collected_one_test_per_case(suite: Path, workers: tuple[str, ...]) -> None:
    code, said = run(suite, "-v", *workers)
    assert code == 1
    results = dict(re.findall(r"shop\.scalepan\.yaml::(\S+) (PASSED|FAILED)", said)) or {
        name: verdict for verdict, name in re.findall(r"(PASSED|FAILED) shop\.scalepan\.yaml::(\S+)", said)
    }
    assert results == {
        "answer-yes-001": "PASSED",
        "answer-no-001": "FAILED",
        "answer-open-001": "FAILED",
        "edit-001": "FAILED",
    }
    assert "case answer-no-001 did not pass" in said
    assert "case answer-open-001 could not be judged" in said
    assert "no model" in said
    assert re.search(r"-Basket\n\+Crate", said)
    assert "Traceback" not in said
    assert "3 failed, 1 passed" in said


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_marked_test_runs_once_per_case_with_scorers_of_its_own(tmp_path: Path, workers: tuple[str, ...]) -> None:
    (tmp_path / "cases.yaml").write_text(
        '- {id: a, userMessage: "yes", expected: {output: "yes"}}\n- {id: b, userMessage: x, expected: {output: y}}\n'
    )
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "test_it.py").write_text(MARKED)
    code, said = run(tmp_path, "--strict-markers", *workers)
    assert (code, "1 failed, 1 passed" in said) == (1, True)
    assert "test_answers[b]" in said
    assert "expected  output: y" in said


def test_a_file_that_is_named_with_outputs_needs_no_special_name(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text("- {id: a, expected: {output: x}}\n")
    (tmp_path / "o.jsonl").write_text('{"id": "a", "output": "x"}\n')
    code, said = run(tmp_path, "cases.yaml", "--scalepan-outputs", "o.jsonl")
    assert (code, "1 passed" in said) == (0, True)
    code, said = run(tmp_path, "--scalepan-outputs", "o.jsonl")  # not named, not collected
    assert (code, "no tests ran" in said) == (5, True)


@pytest.mark.parametrize(
    ("content", "more", "said"),
    [
        ("- {id: a}\n", ["--scalepan-task", "x"], "expected"),
        ("- {id: a, expected: {output: x}}\n", [], "set scalepan_task or scalepan_outputs"),
        ("- {id: a, expected: {output: x}}\n", ["--scalepan-task", "none:f"], "cannot be loaded"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(tmp_path: Path, content: str, more: list[str], said: str) -> None:
    (tmp_path / "x.scalepan.yaml").write_text(content)
    code, out = run(tmp_path, *more)
    assert (code, said in out, "Traceback" in out) == (2, True, False)


def test_other_runs_of_pytest_load_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n    assert 'scalepan.pytest_plugin' in sys.modules\n"
        "    assert not {'msgspec', 'numpy', 'duckdb', 'rich', 'scalepan.evals'} & set(sys.modules)\n"
    )
    code, said = run(tmp_path)
    assert (code, "1 passed" in said) == (0, True), said
