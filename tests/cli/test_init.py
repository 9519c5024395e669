"""scalepan init: a folder in which every command of its README works."""

import re
import shlex
from pathlib import Path

import pytest

from scalepan.store.paths import FILE_NAME
from tests.cli.conftest import Run

SOME_FAIL = 1
"""Sample outputs are wrong on purpose, so `eval run` ends with this."""


def commands(readme: str) -> list[list[str]]:
    """The commands of a README: indented lines, each cut where two spaces and a comment begin."""
    lines = re.findall(r"^    (scalepan .*)$", readme, re.MULTILINE)
    return [shlex.split(line.partition("  ")[0])[1:] for line in lines]


def test_every_command_of_its_readme_runs(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    assert run("init", "here").code == 0
    monkeypatch.chdir(tmp_path / "here")
    listed = commands(Path("README.md").read_text())
    assert [words[0] for words in listed] == [
        *("value", "value", "eval", "memory", "memory", "confidence", "policy"),
    ]
    for words in listed:
        done = run(*words)
        assert done.code == (SOME_FAIL if words[0] == "eval" else 0), f"{words}: {done.err}"
        assert done.out
    # What was remembered stays in this folder.
    assert "clm_refund" in run("memory", "list", "--store", FILE_NAME).out


def test_its_policy_is_in_force_there(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run("init", "here")
    monkeypatch.chdir(tmp_path / "here")
    assert run("policy", "check", "scalepan.yaml").code == 0
    assert run("redact", stdin=b"see TCK-123456").out == "see [pii:ticket]"


def test_nothing_is_overwritten(run: Run) -> None:
    Path("traces.jsonl").write_text("mine")
    done = run("init")
    assert done.code == 2
    assert done.err == (
        "scalepan: .: already has traces.jsonl; nothing was written, choose another: scalepan init FOLDER\n"
    )
    assert [file.name for file in Path().iterdir()] == ["traces.jsonl"]
