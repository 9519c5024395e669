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
from tests.trace.readers.samples import SAMPLES


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


MAY_FAIL = " diff | eval (run|rescore|report) "


def shell(line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a line in a folder that has a store of its own."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HOME": str(folder / "home"), "SCALEPAN_STORE": str(folder / "scalepan.duckdb")}
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, timeout=120
    )


def _leave_logs(folder: Path) -> None:
    """What agents leave behind, where the pages look for it."""
    places = {
        ("claude-code", "session"): "home/.claude/projects/-work-shop/s-1.jsonl",
        ("codex", "rollout"): "home/.codex/sessions/2026/01/31/rollout-1.jsonl",
        ("native", "gzip"): "logs/traces.jsonl.gz",
        ("langsmith", "answer"): "export.json",
    }
    for sample in SAMPLES:
        if place := places.get((sample.reader, sample.form)):
            file = folder / place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(sample.data)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_examples_run(page: Path, tmp_path: Path) -> None:
    """Every `scalepan` line of a sh block, as written, in a folder that has the samples and a scalepan.yaml."""
    for name in ("traces.jsonl", "cases.yaml", "outputs.jsonl", "factors.jsonl"):
        shutil.copy(SOURCE / "samples" / name, tmp_path)
    _leave_logs(tmp_path)
    (tmp_path / "scalepan.yaml").write_text("value: {gate: 0.8}\n")
    (tmp_path / "my_scorers.py").write_text(
        "import scalepan\n\n@scalepan.scorer('brief', threshold=1.0)\ndef brief(actual, expected):\n    return 1.0\n"
    )
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if re.search(r"\bscalepan ", line)]
    for line in lines:
        if re.search(r"--fetch-model|^pip |--events http", line):
            continue  # needs a network, or a collector
        done = shell(line, tmp_path)
        # 1: they differ, some case failed; 3: not enough data
        allowed = {0, 1, 3} if " eval compare " in line else {0, 1} if re.search(MAY_FAIL, line) else {0}
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
