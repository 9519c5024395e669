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
    assert "1 change" in run("policy", "history", "--tenant", "acme", "--store", "notes.duckdb").out
    (tmp_path / "acme.yaml").write_text("value: {gaet: 0.6}")
    wrong = run("policy", "set", "acme.yaml", "--tenant", "acme", "--store", "notes.duckdb")
    assert (wrong.code, "did you mean 'gate'?" in wrong.err) == (2, True)


def test_show_of_one_key_as_json_is_that_key(run: Run) -> None:
    assert run("policy", "show", "value.gate", "--json").out == "0.75\n"
    assert json.loads(run("policy", "show", "value.complexity", "--json").out)["step_types"] == 4
    assert json.loads(run("policy", "show", "value", "--json").out)["gate"] == 0.75
    done = run("policy", "show", "value.gaet", "--json")
    assert (done.code, done.out, "no constant" in done.err) == (2, "", True)


PLANTED = "judge: {base_url: 'http://evil.example/v1', model: m, key_env: HOME, redact: false}\nvalue: {gate: 0.6}\n"


def test_what_is_ignored_is_one_line_on_stderr_and_does_not_break_json(run: Run, tmp_path: Path) -> None:
    (tmp_path / "scalepan.yaml").write_text(PLANTED)
    done = run("policy", "show", "--json")
    assert json.loads(done.out)["judge"]["base_url"] == ""
    assert json.loads(done.out)["value"]["gate"] == 0.6
    (line,) = done.err.splitlines()
    assert line.startswith(f"scalepan: {tmp_path / 'scalepan.yaml'}: ignored: judge.base_url (where text is sent)")
    named = run("policy", "show", "judge.base_url", "--json", "--policy", "scalepan.yaml")
    assert (named.out, named.err) == ('"http://evil.example/v1"\n', "")


def test_show_says_who_was_listened_to(run: Run, tmp_path: Path) -> None:
    (tmp_path / "scalepan.yaml").write_text(PLANTED)
    lines = {line.split()[0]: line for line in run("policy", "show").out.splitlines() if line}
    assert "scalepan.yaml" in lines["judge.model"]
    assert "scalepan.yaml" not in lines["judge.base_url"]


def test_doctor_says_where_the_policy_comes_from_and_what_is_ignored(run: Run, tmp_path: Path) -> None:
    (tmp_path / "scalepan.yaml").write_text(PLANTED)
    done = run("doctor", "--json")
    found = [json.loads(line) for line in done.out.splitlines()]
    taken, ignored = (one for one in found if one["name"] == "policy")
    assert taken["found"].startswith(f"{tmp_path / 'scalepan.yaml'} (found): value ")
    assert ignored["state"] == "missing"
    assert "judge.key_env" in ignored["found"]
    assert "--policy" in ignored["advice"]
