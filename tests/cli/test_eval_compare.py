"""scalepan eval compare: verdicts as words, JSON and exit codes."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.evals.test_compare import failed, run_of


def write(file: Path, rows: list[dict[str, object]]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.parametrize(
    ("after", "code", "said"),
    [
        ("+" * 100, 0, "SAME, within 0.05 of each other"),
        ("-" * 20 + "+" * 80, 1, "WORSE in passed, exact"),
        ("-" * 3 + "+" * 97, 3, "NOT ENOUGH DATA: about "),
    ],
)
def test_verdict_and_exit_code(run: Run, tmp_path: Path, after: str, code: int, said: str) -> None:
    main, branch = write(tmp_path / "main.jsonl", run_of("+" * 100)), write(tmp_path / "b.jsonl", run_of(after))
    done = run("eval", "compare", main, branch)
    assert (done.code, done.err) == (code, "")
    assert said in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_better_in_the_other_direction(run: Run, tmp_path: Path) -> None:
    main = write(tmp_path / "main.jsonl", run_of("-" * 20 + "+" * 80))
    branch = write(tmp_path / "branch.jsonl", run_of("+" * 100))
    done = run("eval", "compare", main, branch, "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert (found["verdict"], len(found["gained"]), found["lost"]) == ("better", 20, [])


def test_unmeasured_cases_are_not_green_unless_the_user_says_so(run: Run, tmp_path: Path) -> None:
    main = write(tmp_path / "main.jsonl", [*run_of("+" * 100), {**run_of("+")[0], "id": "judged"}])
    branch = write(tmp_path / "branch.jsonl", [*run_of("+" * 100), failed("judged")])
    done = run("eval", "compare", main, branch)
    assert done.code == 3
    assert "1 case not measured in a run: judged" in done.out
    assert run("eval", "compare", main, branch, "--allow-unmeasured").code == 0


def test_bad_input_is_one_line(run: Run, tmp_path: Path) -> None:
    done = run("eval", "compare", tmp_path / "none.jsonl", tmp_path / "none.jsonl")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "none.jsonl: cannot be read: No such file or directory" in done.err
