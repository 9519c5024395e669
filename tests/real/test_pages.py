"""What the pages show is what happens: their Python runs, their commands run and print what stands there."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.pages import PAGES, SOURCE, WITH_ENCODER, blocks


@pytest.mark.parametrize("module", WITH_ENCODER)
def test_docstring_examples_run(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run_in_the_order_they_stand(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(SOURCE / "samples" / "traces.jsonl", tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks(page, "python"):
        if page.name == "README.md":
            names = {"__name__": "example"}  # each of its blocks runs alone
        parser = doctest.DocTestParser()
        if ">>>" in block:
            example = parser.get_doctest(block, names, page.name, str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            assert runner.run(example, clear_globs=False).failed == 0
            names.update(example.globs)
        else:
            exec(compile(block, str(page), "exec"), names)


def shell(line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a line in a folder that has a store of its own."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "SCALEPAN_STORE": str(folder / "scalepan.duckdb")}
    return subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, env=env)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_examples_run(page: Path, tmp_path: Path) -> None:
    """Every `scalepan` line of a sh block, as written, in a folder that has the samples and a scalepan.yaml."""
    for name in ("traces.jsonl", "cases.yaml", "outputs.jsonl", "factors.jsonl"):
        shutil.copy(SOURCE / "samples" / name, tmp_path)
    (tmp_path / "scalepan.yaml").write_text("value: {gate: 0.8}\n")
    (tmp_path / "my_scorers.py").write_text(
        "import scalepan\n\n@scalepan.scorer('brief', threshold=1.0)\ndef brief(actual, expected):\n    return 1.0\n"
    )
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if re.search(r"\bscalepan ", line)]
    for line in lines:
        if "--fetch-model" in line or line.startswith("pip "):
            continue  # needs a network
        done = shell(line, tmp_path)
        allowed = (0, 1) if re.search(" diff | eval run ", line) else (0,)  # 1: they differ, some case failed
        assert done.returncode in allowed, f"{line}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_of_a_command_is_what_it_prints(page: Path, tmp_path: Path) -> None:
    """A console block: `$ command`, then its output; `...` stands for lines that differ from run to run."""
    for name in ("traces.jsonl", "cases.yaml", "outputs.jsonl", "factors.jsonl"):
        shutil.copy(SOURCE / "samples" / name, tmp_path)
    for block in blocks(page, "console"):
        line, _, expected = block.removeprefix("$ ").partition("\n")
        done = shell(line, tmp_path)
        printed = "\n".join(text.rstrip() for text in done.stdout.splitlines()) + "\n"
        assert doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS), printed
