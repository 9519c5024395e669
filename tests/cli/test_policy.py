"""scalepan policy: show, check, diff, schema."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.conftest import Run


def test_show_lists_constants_with_what_is_legal_and_who_set_them(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scalepan.yaml").write_text("value: {gate: 0.8, budget_ms: null}")
    monkeypatch.setenv("SCALEPAN_VALUE__GATE", "0.9")
    lines = run("policy", "show", "value").out.splitlines()
    (gate,) = (line.split() for line in lines if line.startswith("value.gate "))
    assert gate[:4] == ["value.gate", "0.9", "share", "SCALEPAN_VALUE__GATE"]
    (budget,) = (line for line in lines if line.startswith("value.budget_ms"))
    assert "more than 0 ms" in budget
    assert "scalepan.yaml" in budget
    assert not any(line.startswith("embed.") for line in lines)
    assert lines[-1].startswith("value: version ")


def test_show_of_one_key_and_of_none(run: Run) -> None:
    assert len(run("policy", "show", "value.gate").out.splitlines()) == 3
    done = run("policy", "show", "value.gaet")
    assert (done.code, "no constant 'value.gaet'" in done.err) == (2, True)


def test_show_as_json_has_every_section_with_its_version(run: Run) -> None:
    data = json.loads(run("policy", "show", "--json").out)
    assert data["value"]["gate"] == 0.75
    assert data["value"]["version"] != data["embed"]["version"]


def test_check_lists_every_fault(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("value: {gaet: 0.6, gate: 7}")
    done = run("policy", "check", "p.yaml")
    assert done.code == 2
    assert done.err.splitlines() == [
        "scalepan: p.yaml: value.gaet: unknown key; did you mean 'gate'?",
        "scalepan: p.yaml: value.gate: 7 is not between 0 and 1",
    ]
    (tmp_path / "p.yaml").write_text("value: {gate: 0.6}")
    assert run("policy", "check", "p.yaml").out.startswith("p.yaml: sound; value ")


def test_diff_shows_what_differs_and_says_so_by_its_exit_code(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("value: {gate: 0.6}")
    (tmp_path / "b.yaml").write_text("value: {gate: 0.6, profiles: {code: {novelty: 0.2, tool_diversity: 0.4}}}")
    one = run("policy", "diff", "a.yaml")
    assert one.code == 1
    assert one.out.split()[-3:] == ["value.gate", "0.75", "0.6"]
    two = run("policy", "diff", "a.yaml", "b.yaml", "--json")
    assert json.loads(two.out) == {
        "value.profiles.code.novelty": {"from": 0.3, "to": 0.2},
        "value.profiles.code.tool_diversity": {"from": 0.3, "to": 0.4},
    }
    same = run("policy", "diff", "a.yaml", "a.yaml")
    assert (same.code, same.out) == (0, "no difference\n")


def test_the_schema_is_a_schema(run: Run) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(run("policy", "schema").out))


def test_a_tenants_policy_is_kept_with_its_history(run: Run, tmp_path: Path) -> None:
    (tmp_path / "acme.yaml").write_text("value: {gate: 0.6}")
    done = run("policy", "set", "acme.yaml", "--tenant", "acme", "--store", "notes.duckdb")
    assert done.code == 0
    assert f"{tmp_path / 'notes.duckdb'}: pol_" in done.out
    row = json.loads(run("policy", "history", "--tenant", "acme", "--store", "notes.duckdb", "--json").out)
    assert row["yaml"] == "value: {gate: 0.6}"
    assert "1 changes" in run("policy", "history", "--tenant", "acme", "--store", "notes.duckdb").out
    (tmp_path / "acme.yaml").write_text("value: {gaet: 0.6}")
    wrong = run("policy", "set", "acme.yaml", "--tenant", "acme", "--store", "notes.duckdb")
    assert (wrong.code, "did you mean 'gate'?" in wrong.err) == (2, True)
