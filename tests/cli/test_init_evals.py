"""scalepan init evals: a suite that works as it is written."""

from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run

FILES = [".github/workflows/evals.yml", "README.md", "cases.yaml", "outputs.jsonl", "scorers.py"]


def files_in(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("folder", [".", "my/evals"])
def test_the_suite_is_green_as_it_is_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    done = run("init", "evals", *([] if folder == "." else [folder]))
    assert done.code == 0
    assert files_in(tmp_path / folder) == FILES
    monkeypatch.chdir(tmp_path / folder)
    command = done.out.splitlines()[-1].partition("scalepan ")[2].split()
    judged = run(*command, "--html", "report.html", "--name", "main")
    assert (judged.code, "4 of 4 cases passed" in judged.out, "brief" in judged.out) == (0, True, True)
    assert run("eval", "lint", "cases.yaml", "--scorers-from", "scorers.py").code == 0
    assert run("eval", "bless", "main").code == 0


def test_the_workflow_runs_commands_that_exist(run: Run, tmp_path: Path) -> None:
    run("init", "evals")
    workflow = yaml.safe_load((tmp_path / ".github" / "workflows" / "evals.yml").read_text())
    (line,) = [one for step in workflow["jobs"]["evals"]["steps"] if "eval run" in (one := step.get("run", ""))]
    assert run(*line.split()[1:]).code == 0
    assert {"run.jsonl", "junit.xml", "summary.txt", "report.html"} <= set(files_in(tmp_path))


def test_nothing_is_overwritten_and_half_a_suite_is_not_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text("mine")
    done = run("init", "evals")
    assert (done.code, "already has cases.yaml" in done.err) == (2, True)
    assert files_in(tmp_path) == ["cases.yaml"]


@pytest.mark.parametrize("args", [["one", "two"], ["evals", "--user"], ["claude-code", "x"]])
def test_what_does_not_go_together_is_refused(run: Run, tmp_path: Path, args: list[str]) -> None:
    assert run("init", *args).code == 2
    assert files_in(tmp_path) == []
