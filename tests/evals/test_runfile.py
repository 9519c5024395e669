"""Run files: redacted by the policy in force, for their owner alone, and resumed by redacted ids."""

import json
import stat
from pathlib import Path

import pytest
import yaml

from scalepan.evals.runs.file import RunFile
from scalepan.policy.redact import Redact
from scalepan.redact import Redactor
from tests.cli.conftest import Run, run

__all__ = ["run"]

RULE = {"name": "ticket", "pattern": "TCK-[0-9]{6}", "category": "secret"}


def write(folder: Path) -> None:
    (folder / "scalepan.yaml").write_text(yaml.safe_dump({"redact": {"rules": [RULE]}}))
    cases = [
        {"id": f"order-TCK-00000{number}", "expected": {"output": "ok"}, "userMessage": "x"} for number in range(3)
    ]
    (folder / "cases.yaml").write_text(yaml.safe_dump(cases))
    outputs = [
        {"id": f"order-TCK-00000{number}", "output": f"line\nTCK-12345{number} of ann@example.org", "more": 1}
        for number in range(3)
    ]
    (folder / "outputs.jsonl").write_text("\n".join(map(json.dumps, outputs)))


ARGS = ["eval", "run", "cases.yaml", "--outputs", "outputs.jsonl", "--out", "run.jsonl"]


def test_a_run_file_is_redacted_by_the_users_own_rules(run: Run, tmp_path: Path) -> None:
    write(tmp_path)
    assert run(*ARGS).code == 1
    kept = (tmp_path / "run.jsonl").read_text()
    assert "TCK-" not in kept
    assert "ann@example.org" not in kept
    assert "[secret:ticket]" in kept
    rows = [json.loads(line) for line in kept.splitlines()[1:]]
    assert [row["passed"] for row in rows] == [False] * 3
    assert all("exact_low" in row["diagnosis"] for row in rows)


@pytest.mark.parametrize("before", [None, 0o644, 0o666])
def test_a_run_file_is_its_owners_alone(run: Run, tmp_path: Path, before: int | None) -> None:
    write(tmp_path)
    out = tmp_path / "run.jsonl"
    if before is not None:
        out.touch()
        out.chmod(before)
    run(*ARGS)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    out.chmod(0o644)
    run(*ARGS, "--resume")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_cases_whose_redacted_ids_are_alike_are_resumed_one_by_one(run: Run, tmp_path: Path) -> None:
    write(tmp_path)
    run(*ARGS)
    whole = (tmp_path / "run.jsonl").read_text()
    header_and_first = whole.splitlines(keepends=True)[:2]
    (tmp_path / "run.jsonl").write_text("".join(header_and_first))
    assert "1 case with a result already" in run(*ARGS, "--resume").err
    assert (tmp_path / "run.jsonl").read_text() == whole


def test_a_key_announces_a_secret_and_the_line_stays_json(tmp_path: Path) -> None:
    secret = "hunter" + "2x9" + "Qw7"
    file = RunFile(tmp_path / "run.jsonl", resume=False, redactor=Redactor(Redact()))
    details = {"password": secret, "api_key": 4111_1111_1111_1111, "note": "x"}
    file.add({"id": "a", "passed": False, "scores": {"own": {"details": details}}})
    file.close()
    (row,) = map(json.loads, (tmp_path / "run.jsonl").read_text().splitlines())
    assert secret not in json.dumps(row)
    assert row["scores"]["own"]["details"]["note"] == "x"


def test_a_run_may_go_to_what_is_no_file(run: Run, tmp_path: Path) -> None:
    write(tmp_path)
    assert run("eval", "run", "cases.yaml", "--outputs", "outputs.jsonl", "--out", "/dev/null").code == 1


def test_nothing_in_a_case_acts_on_the_terminal(run: Run, tmp_path: Path) -> None:
    escape = "\x1b]0;owned\x07\x1b[31m"
    case = {"id": f"a{escape}", "name": escape, "userMessage": escape, "expected": {"output": f"x{escape}"}}
    block = {
        "id": f"b{escape}",
        "pages": [{"id": f"p{escape}", "blocks": [{"id": f"c{escape}", "content": "x"}]}],
        "expected": {"operations": [{"pageId": f"p{escape}", "operations": [
            {"type": "delete", "targetBlockId": f"z{escape}"}]}]},
    }  # fmt: skip
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, [case, block])))
    outputs = [
        {"id": f"a{escape}", "output": escape},
        {"id": f"b{escape}", "operations": [{"pageId": f"p{escape}", "operations": [
            {"type": "replace", "targetBlockId": f"c{escape}", "content": f"y{escape}"}]}]},
    ]  # fmt: skip
    (tmp_path / "outputs.jsonl").write_text("\n".join(map(json.dumps, outputs)))
    for args in (
        ["lint", "cases.jsonl"],
        ["run", "cases.jsonl", "--outputs", "outputs.jsonl", "--preset", "strict"],
        ["run", "cases.jsonl", "--outputs", "outputs.jsonl", "--preset", "strict", "--explain", f"a{escape}"],
        ["run", "cases.jsonl", "--outputs", "outputs.jsonl", "--preset", "strict", "--explain", f"b{escape}"],
        ["run", "cases.jsonl", "--outputs", "outputs.jsonl", "--explain", f"none{escape}"],
        ["run", "cases.jsonl", "--outputs", "outputs.jsonl", "--preset", f"none{escape}"],
    ):
        done = run("eval", *args)
        assert "\x1b" not in done.out + done.err
        assert "\x07" not in done.out + done.err
