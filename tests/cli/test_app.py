"""The scalepan command itself: unknown commands, versions, doctor and demo."""

import json

import pytest

from tests.cli.conftest import Run


def test_an_unknown_command_is_one_line_with_a_suggestion(run: Run) -> None:
    done = run("valeu")
    assert done.code == 2
    assert "no command 'valeu'; did you mean 'value'?" in done.err


def test_version_and_help(run: Run) -> None:
    assert run("--version").out == "scalepan, version 0.1.0\n"
    assert "scalepan value traces.jsonl" in run("--help").out


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


def test_the_demo_values_traces_judges_outputs_and_explains_one_of_each(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    done = run("demo")
    assert done.code == 0
    for expected in (
        "finance-ja-0001",
        "30 traces",
        "4 bad rows were reported",
        "customer_service-0003",
        "encoder: none",
    ):
        assert expected in done.out
    for expected in ("3 of 6 cases passed", "untouched block changed", "+資料は三日前までに送ります。"):
        assert expected in done.out
