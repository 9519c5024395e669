"""The scalepan command itself: unknown commands, versions, doctor and demo."""

import json
import subprocess
import sys

import click
import pytest

from scalepan.cli import scalepan
from scalepan.cli._app import COMMANDS
from scalepan.cli._summaries import SUMMARIES
from tests.cli.conftest import Run


def test_an_unknown_command_is_one_line_with_a_suggestion(run: Run) -> None:
    done = run("valeu")
    assert done.code == 2
    assert "no command 'valeu'; did you mean 'value'?" in done.err


def test_version_and_help(run: Run) -> None:
    assert run("--version").out == "scalepan, version 0.1.0\n"
    assert "scalepan value traces.jsonl" in run("--help").out


def test_the_table_of_summaries_says_what_the_commands_say() -> None:
    context = click.Context(scalepan)
    said = {name: scalepan.get_command(context, name) for name in COMMANDS}
    assert {name: command.get_short_help_str(1000) for name, command in said.items() if command} == SUMMARIES


def test_help_lists_every_command_and_loads_none() -> None:
    code = """
import sys
from scalepan.cli import main
sys.argv = ["scalepan", "--help"]
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stderr.split() if name.startswith("scalepan.")}
    assert loaded == {
        f"scalepan.{name}"
        for name in ("cli", "cli._app", "cli._common", "cli._streams", "cli._summaries", "errors", "lazy", "repeat")
    }
    assert {"numpy", "rich", "yaml", "duckdb"}.isdisjoint(done.stderr.split())
    for name in COMMANDS:
        assert f"  {name} " in done.stdout


def test_help_of_a_command_that_the_table_forgot_is_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SUMMARIES, "redact")
    assert "Remove secrets and personal data from text." in run("--help").out


def test_doctor_says_what_is_there(run: Run) -> None:
    done = run("doctor", "--json")
    rows = {row["name"]: row for row in map(json.loads, done.out.splitlines())}
    assert done.code == 0
    assert rows["python"]["state"] == "ok"
    assert rows["cache"]["state"] == "ok"
    assert rows["policy"]["found"].startswith("built in: value ")
    assert "runtime" in run("doctor").out


def test_doctor_says_what_is_broken(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "/no/such/folder")
    done = run("doctor")
    assert done.code == 1
    assert "/no/such/folder" in done.out
    monkeypatch.setenv("SCALEPAN_VALUE__GATE", "7")
    assert "value.gate: 7 is not between 0 and 1" in run("doctor").out


def test_doctor_says_where_the_cache_cannot_be_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALEPAN_CACHE", "/dev/null/cache")
    rows = {row["name"]: row for row in map(json.loads, run("doctor", "--json").out.splitlines())}
    assert rows["cache"]["state"] == "missing"
    assert "SCALEPAN_CACHE" in rows["cache"]["advice"]


def test_the_demo_values_traces_judges_outputs_and_explains_one_of_each(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    done = run("demo")
    assert done.code == 0
    for expected in (
        "finance-ja-0001",
        "30 traces",
        "4 bad rows reported",
        "customer_service-0003",
        "clm_cancel",
        "Approve refund(order=17, amount=250)? The agent is 47.7 % confident; below 70 % it must ask.",
        "only by its own word",
        "encoder: none",
    ):
        assert expected in done.out
    for expected in ("5 of 9 cases passed", "untouched block changed", "+資料は三日前までに送ります。"):
        assert expected in done.out
