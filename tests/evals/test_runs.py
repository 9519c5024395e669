"""Runs as files: a header, outputs and identities of scorers; not measured is neither passed nor failed."""

import json
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from scalepan.evals.runs.git import git_revision
from scalepan.evals.tries import RunTries
from tests.cli.conftest import Done, Run, run

__all__ = ["run"]

CASES = [
    {"id": "a", "userMessage": "Say yes", "expected": {"output": "yes"}, "group": "words"},
    {"id": "b", "userMessage": "Say no", "expected": {"output": "no"}},
    {"id": "c", "userMessage": "Say so", "expected": {"contains": "so"}},
]
OUTPUTS = [{"id": "a", "output": "yes"}, {"id": "b", "output": "nope"}, {"id": "c", "output": "so be it"}]
KEEP = ["eval", "run", "cases.yaml", "--outputs", "outputs.jsonl", "--name", "main"]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "cases.yaml").write_text(yaml.safe_dump(CASES))
    (tmp_path / "outputs.jsonl").write_text("\n".join(map(json.dumps, OUTPUTS)))
    return tmp_path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_named_run_has_a_header_and_rows_that_can_be_scored_again(run: Run, suite: Path) -> None:
    assert run(*KEEP).code == 1
    header, first, *others = rows_of(suite / "runs" / "main.jsonl")
    assert set(header["run"]) >= {"date", "scalepan", "policy", "cases", "data", "scorers", "outputs", "outputs_data"}
    assert header["run"]["cases"] == "cases.yaml"
    assert [row["id"] for row in others] == ["b", "c"]
    assert (first["output"], first["group"]) == ({"output": "yes"}, "words")
    score = first["scores"]["exact"]
    assert (score["scorer"], score["version"], score["weight"], len(score["options"])) == ("exact", "1", 1.0, 16)


@pytest.mark.parametrize("name", ["../main", "a/b", "", ".hidden"])
def test_a_name_is_not_a_path(run: Run, suite: Path, name: str) -> None:
    assert run(*KEEP[:-1], name).code == 2
    assert not (suite / "runs").exists()


def test_duckdb_reads_a_run_in_place(run: Run, suite: Path) -> None:
    run(*KEEP)
    sql = "select id, passed, scores.exact.value from '{}' where run is null order by id"
    found = duckdb.sql(sql.format(suite / "runs" / "main.jsonl")).fetchall()
    assert found == [("a", True, 1.0), ("b", False, 0.0), ("c", True, None)]


def test_a_run_does_not_go_on_with_other_cases_or_scorers(run: Run, suite: Path) -> None:
    run(*KEEP)
    before = (suite / "runs" / "main.jsonl").read_bytes()
    (suite / "own.yaml").write_text("- {type: exact, ignoreCase: true}")
    other = run(*KEEP, "--resume", "--scorers", "own.yaml")
    assert (other.code, "the scorers, their options or the policy have changed" in other.err) == (2, True)
    (suite / "cases.yaml").write_text(yaml.safe_dump([*CASES, {"id": "d", "expected": {"output": "x"}}]))
    changed = run(*KEEP, "--resume")
    assert (changed.code, "the golden cases have changed" in changed.err) == (2, True)
    assert (suite / "runs" / "main.jsonl").read_bytes() == before


def test_a_file_without_a_header_is_resumed_and_compared(run: Run, suite: Path) -> None:
    run(*KEEP)
    path = suite / "runs" / "main.jsonl"
    whole = path.read_text().splitlines(keepends=True)
    old = [json.loads(line) for line in whole[1:]]
    for row in old:
        del row["output"], row["input"], row["expected"]
        row["scores"] = {name: {"value": s["value"], "passed": s["passed"]} for name, s in row["scores"].items()}
    path.write_text("".join(json.dumps(row) + "\n" for row in old[:2]))
    done = run(*KEEP, "--resume")
    assert (done.code, "2 of 3 cases passed" in done.out) == (1, True)
    assert run("eval", "compare", "main", "main").code == 3
    refused = run("eval", "rescore", "main", "cases.yaml")
    assert (refused.code, "has no outputs: an earlier version wrote it" in refused.err) == (2, True)


# What was not measured is neither passed nor failed


def failing_task(suite: Path, *, fails: str) -> list[str]:
    (suite / "agent.py").write_text(
        "ANSWERS = {'a': 'yes', 'b': 'no', 'c': 'so'}\n"
        f"def answer(case):\n    if case.id in {fails!r}:\n        raise OSError('no model')\n"
        "    return ANSWERS[case.id]\n"
    )
    return ["eval", "run", "cases.yaml", "--task", "agent:answer", "--out", "run.jsonl"]


@pytest.fixture
def own_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "agent", raising=False)


@pytest.mark.usefixtures("own_modules")
def test_a_task_that_failed_leaves_the_run_open(run: Run, suite: Path) -> None:
    args = failing_task(suite, fails="b")
    done = run(*args)
    assert done.code == 3
    assert "measured 2 of 3 cases: 66.7% to 100.0% pass" in done.out
    assert "1.000 (0.500 to 1.000)" in done.out  # exact: one of two measured
    row = rows_of(suite / "run.jsonl")[2]
    assert (row["passed"], row["weighted_average"], row["scores"]["exact"]["status"]) == (False, None, "failed")
    assert "no model" in row["output"]["error"]
    (suite / "run.jsonl").unlink()
    assert run(*args, "--allow-unmeasured").code == 0


@pytest.mark.usefixtures("own_modules")
def test_nothing_measured_is_not_green_even_if_allowed(run: Run, suite: Path) -> None:
    assert run(*failing_task(suite, fails="abc"), "--allow-unmeasured").code == 3


# Rescore

SCORER = """\
import scalepan
from pathlib import Path

@scalepan.scorer("brief", threshold=0.5)
def brief(actual, expected):
    with open("calls.txt", "a") as file:
        print(actual.output, file=file)
    return {value}
"""
LIST = "- {type: brief}\n- {type: levenshtein, threshold: 0.1}\n"


def brief(run: Run, suite: Path, command: str, value: float, scorers: str = LIST) -> Done:
    (suite / "own.py").write_text(SCORER.replace("{value}", str(value)))
    (suite / "list.yaml").write_text(scorers)
    (suite / "calls.txt").unlink(missing_ok=True)
    args = ["--scorers-from", "own.py", "--scorers", "list.yaml"]
    if command == "run":
        return run("eval", "run", "cases.yaml", "--outputs", "outputs.jsonl", "--name", "main", *args)
    return run("eval", "rescore", "main", *args)


def calls(suite: Path) -> int:
    return len((suite / "calls.txt").read_text().splitlines()) if (suite / "calls.txt").exists() else 0


def test_only_the_column_of_the_changed_scorer_is_scored_again(run: Run, suite: Path) -> None:
    only_text = [{**case, "expected": {"output": "yes"}} for case in CASES]
    (suite / "cases.yaml").write_text(yaml.safe_dump(only_text))
    brief(run, suite, "run", 1.0)
    (suite / "outputs.jsonl").unlink()  # no output is made or read again
    same = brief(run, suite, "rescore", 1.0)
    assert "0 of 6 scores computed again, 0 verdicts changed" in same.err
    assert calls(suite) == 0
    changed = brief(run, suite, "rescore", 0.25)
    assert "3 of 6 scores computed again" in changed.err
    assert (changed.code, calls(suite)) == (1, 3)
    assert [row["scores"]["brief"]["value"] for row in rows_of(suite / "runs" / "main.jsonl")[1:]] == [0.25] * 3


def test_a_new_threshold_changes_verdicts_and_computes_nothing(run: Run, suite: Path) -> None:
    brief(run, suite, "run", 0.6, "- {type: brief}")
    done = brief(run, suite, "rescore", 0.6, "- {type: brief, threshold: 0.7}")
    assert "0 of 3 scores computed again, 3 verdicts changed" in done.err
    assert done.code == 1
    row = rows_of(suite / "runs" / "main.jsonl")[1]
    assert row["diagnosis"]["brief_low"]["causes"][0]["cause"] == "score too low"


def test_a_rescored_run_equals_one_that_was_run_with_the_new_scorers(run: Run, suite: Path) -> None:
    run(*KEEP)
    (suite / "list.yaml").write_text("- {type: exact, ignoreCase: true}\n- {type: contains}\n")
    run("eval", "rescore", "main", "--scorers", "list.yaml")
    run(*KEEP[:-1], "new", "--scorers", "list.yaml")
    old, new = (rows_of(suite / "runs" / f"{name}.jsonl") for name in ("main", "new"))
    assert old[1:] == new[1:]
    assert {**old[0]["run"], "date": ""} == {**new[0]["run"], "date": ""}


def test_a_changed_expectation_is_scored_and_a_changed_question_is_not(run: Run, suite: Path) -> None:
    run(*KEEP)
    changed = [CASES[0], {**CASES[1], "expected": {"output": "nope"}}, {**CASES[2], "userMessage": "Say what"}]
    (suite / "cases.yaml").write_text(yaml.safe_dump(changed))
    done = run("eval", "rescore", "main")
    assert done.code == 3
    _, a, b, c = rows_of(suite / "runs" / "main.jsonl")
    assert [row["passed"] for row in (a, b, c)] == [True, True, False]
    assert "run it again" in c["scores"]["contains"]["reason"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nothing.jsonl"], "cannot be read"),
        (["main", "others.yaml"], "case 'a' is not in others.yaml"),
        (["main", "none.yaml"], "none.yaml"),
    ],
)
def test_what_cannot_be_rescored_is_one_line_and_stays(run: Run, suite: Path, args: list[str], said: str) -> None:
    run(*KEEP)
    before = (suite / "runs" / "main.jsonl").read_bytes()
    (suite / "others.yaml").write_text("- {id: z, expected: {output: z}}")
    done = run("eval", "rescore", *args)
    assert (done.code, said in done.err, done.err.count("\n")) == (2, True, 1)
    assert (suite / "runs" / "main.jsonl").read_bytes() == before
    assert [file.name for file in (suite / "runs").iterdir()] == ["main.jsonl"]


# Bless


def test_a_run_alone_is_compared_with_the_blessed_one(run: Run, suite: Path) -> None:
    run(*KEEP)
    assert run("eval", "bless", "main").code == 0
    run(*KEEP[:-1], "branch")
    alone = run("eval", "compare", "branch", "--json")
    both = run("eval", "compare", "main", "branch", "--json")
    assert (alone.code, alone.out) == (both.code, both.out)
    with (suite / "runs" / "main.jsonl").open("a") as file:
        file.write('{"id":"z","passed":true,"scores":{}}\n')
    assert "has changed since it was blessed" in run("eval", "compare", "branch").err


@pytest.mark.parametrize(
    ("blessed", "said"),
    [
        (None, "has no blessed run"),
        ("{}", "does not name a blessed run"),
        ('{"run": "../main.jsonl", "data": ""}', "is not a file of this folder"),
        ('{"run": "gone.jsonl", "data": ""}', "is missing"),
    ],
)
def test_what_is_not_blessed_is_one_line(run: Run, suite: Path, blessed: str | None, said: str) -> None:
    run(*KEEP)
    if blessed is not None:
        (suite / "runs" / "blessed.json").write_text(blessed)
    done = run("eval", "compare", "main")
    assert (done.code, said in done.err, done.err.count("\n")) == (2, True, 1)


# Git


def test_the_revision_is_what_git_says(tmp_path: Path) -> None:
    def git(*args: str, folder: Path = tmp_path / "one") -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
        return subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True, text=True).stdout

    (tmp_path / "one" / "deep").mkdir(parents=True)
    assert git_revision(tmp_path / "one") is None
    git("init")
    assert git_revision(tmp_path / "one") is None  # no commit yet
    git("commit", "--allow-empty", "-m", "first")
    head = git("rev-parse", "HEAD").strip()
    assert git_revision(tmp_path / "one" / "deep") == head
    git("worktree", "add", "../two", "-b", "two")
    git("commit", "--allow-empty", "-m", "second", folder=tmp_path / "two")
    assert git_revision(tmp_path / "two") == git("rev-parse", "two").strip() != head
    git("pack-refs", "--all")
    assert git_revision(tmp_path / "one") == head
    git("checkout", "--detach")
    assert git_revision(tmp_path / "one") == head


# Tries


@pytest.mark.parametrize(
    ("tries", "needed", "verdict", "flaky"),
    [
        ("+++++", 5, "passed", False),
        ("++++-", 5, "failed", True),
        ("++++-", 4, "passed", True),
        ("+++?-", 4, "unmeasured", True),  # the unmeasured one decides
        ("++?--", 4, "failed", True),  # it does not matter any more
        ("++++?", 4, "passed", False),
        ("+++", 4, "unmeasured", False),  # cut short
        ("-----", 1, "failed", False),
    ],
)
def test_the_verdict_on_several_tries(tries: str, needed: int, verdict: str, flaky: bool) -> None:
    counted = RunTries(5, needed)
    for number, one in enumerate(tries, 1):
        counted.add("a", number, passed=one == "+", measured=one != "?")
    assert dict(counted.verdicts) == {verdict: 1}
    assert bool(counted.flaky) is flaky


def test_chances_of_one_and_of_all_tries() -> None:
    counted = RunTries(4, 4)
    for case, tries in (("a", "++++"), ("b", "+---"), ("c", "----"), ("d", "+?++")):
        for number, one in enumerate(tries, 1):
            counted.add(case, number, passed=one == "+", measured=one != "?")
    # d is not fully measured. pass@1: (1 + 1/4 + 0) / 3; pass@4: 2 of 3; pass^4: 1 of 3
    assert counted.pass_at == pytest.approx({"pass@1": 1.25 / 3, "pass@4": 2 / 3, "pass^4": 1 / 3})
    assert counted.flaky == [("b", 1, 4)]
