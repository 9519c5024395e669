"""scalepan eval, as people, programs and CI use it."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.conftest import Run

CASES = """\
- id: shop-rename-001
  name: Rename
  userMessage: Call the basket cart
  pages:
    - {id: p1, blocks: [{id: b1, content: Basket}, {id: b2, content: Put it into the basket}, {id: b3, content: End}]}
  expected:
    operations:
      - pageId: p1
        operations:
          - {type: replace, targetBlockId: b1, expectedContentPatterns: [Cart]}
          - {type: replace, targetBlockId: b2, expectedContentPatterns: [into the cart]}
- id: shop-nothing-001
  pages: [{id: p1, blocks: [{id: b1, content: x}]}]
  expected: {operations: []}
"""
GOOD = {"type": "replace", "targetBlockId": "b1", "content": "Cart"}
BAD = {"type": "replace", "targetBlockId": "b3", "content": "into the crt"}
RIGHT = {"type": "replace", "targetBlockId": "b2", "content": "Put it into the cart"}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "cases.yaml").write_text(CASES)
    for name, second in [("bad.jsonl", BAD), ("good.jsonl", RIGHT)]:
        rows = [
            {"id": "shop-rename-001", "operations": [{"pageId": "p1", "operations": [GOOD, second]}]},
            {"id": "shop-nothing-001", "operations": []},
        ]
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_json_is_one_line_a_case_with_the_agreed_keys(run: Run, files: Path) -> None:
    done = run("eval", "run", "cases.yaml", "--outputs", "bad.jsonl", "--json")
    first, second = map(json.loads, done.out.splitlines())
    assert done.code == 1
    assert (first["id"], first["passed"], first["weighted_average"]) == ("shop-rename-001", False, 0.5)
    assert set(first["scores"]) == {"operation-accuracy", "target-block-precision", "content-quality"}
    accuracy = first["scores"]["operation-accuracy"]
    assert (accuracy["value"], accuracy["status"], accuracy["threshold"], accuracy["passed"]) == (0.5, "ok", 0.8, False)
    assert accuracy["details"]["unmatchedOperations"][0]["reason"] == "target mismatch"
    assert (second["passed"], second["scores"]["content-quality"]["status"]) == (True, "not_applicable")
    assert second["scores"]["content-quality"]["value"] is None
    assert second["scores"]["content-quality"]["passed"] is None


def test_exit_codes_say_passed_failed_or_bad_input(run: Run, files: Path) -> None:
    assert run("eval", "run", "cases.yaml", "--outputs", "good.jsonl").code == 0
    assert run("eval", "run", "cases.yaml", "--outputs", "bad.jsonl").code == 1
    for args in (
        ["none.yaml", "--outputs", "good.jsonl"],
        ["cases.yaml", "--outputs", "none.jsonl"],
        ["cases.yaml"],
        ["cases.yaml", "--outputs", "good.jsonl", "--task", "x"],
        ["cases.yaml", "--outputs", "good.jsonl", "--preset", "sloppy"],
        ["cases.yaml", "--outputs", "good.jsonl", "--preset", "strict", "--scorers", "x.yaml"],
        ["cases.yaml", "--outputs", "good.jsonl", "--explain", "nobody"],
        ["cases.yaml", "--outputs", "good.jsonl", "--resume"],
        ["cases.yaml", "--task", "x", "--retries", "-1"],
        ["cases.yaml", "--task", "x", "--jobs", "0"],
        ["cases.yaml", "--task", "x", "--timeout", "0"],
    ):
        assert run("eval", "run", *args).code == 2, args


def test_people_see_a_table_by_scorer_and_grouped_failures(run: Run, files: Path) -> None:
    out = run("eval", "run", "cases.yaml", "--outputs", "bad.jsonl", "--preset", "strict").out
    for words in (
        "anti-hallucination",
        "not applicable",
        "wrong target",
        "middle",
        "1 of 2 cases passed",
        "hallucination",
    ):
        assert words in out


def test_explain_shows_one_case_with_the_page_diff(run: Run, files: Path) -> None:
    done = run(
        "eval", "run", "cases.yaml", "--outputs", "bad.jsonl", "--preset", "strict", "--explain", "shop-rename-001"
    )
    assert done.code == 1
    for words in (
        "wrong target",
        "untouched block changed",
        "page p1",
        "-Basket",
        "+Cart",
        "+into the crt",
        "Call the basket",
    ):
        assert words in done.out


def test_scorers_from_a_file(run: Run, files: Path) -> None:
    (files / "s.yaml").write_text("scorers: [{type: operation-accuracy, threshold: 0.5}]")
    done = run("eval", "run", "cases.yaml", "--outputs", "bad.jsonl", "--scorers", "s.yaml", "--json")
    assert done.code == 0
    assert [list(json.loads(line)["scores"]) for line in done.out.splitlines()] == [["operation-accuracy"]] * 2


def test_a_case_without_an_output_is_not_measured_and_an_output_without_a_case_is_told(run: Run, files: Path) -> None:
    (files / "some.jsonl").write_text('{"id": "shop-nothing-001"}\n{"id": "stranger"}')
    done = run("eval", "run", "cases.yaml", "--outputs", "some.jsonl", "--json")
    row = json.loads(done.out.splitlines()[0])
    assert (done.code, "1 case could not be judged" in done.err) == (3, True)
    assert row["weighted_average"] is None
    assert row["scores"]["operation-accuracy"]["status"] == "failed"
    assert "no output for this case" in row["scores"]["operation-accuracy"]["reason"]
    assert "1 output of no case, such as 'stranger'" in done.err


def test_a_run_is_kept_and_goes_on_where_it_was_stopped(run: Run, files: Path) -> None:
    args = ["eval", "run", "cases.yaml", "--outputs", "good.jsonl", "--out", "run.jsonl"]
    assert run(*args).code == 0
    whole = (files / "run.jsonl").read_bytes()
    assert [json.loads(line)["id"] for line in whole.splitlines()[1:]] == ["shop-rename-001", "shop-nothing-001"]
    again = run(*args)
    assert (again.code, "run.jsonl: already has results" in again.err) == (2, True)
    header, first_line = whole.splitlines(keepends=True)[:2]
    (files / "run.jsonl").write_bytes(header + first_line + b'{"id": "shop-noth')  # killed while writing
    assert run(*args, "--resume").code == 0
    assert (files / "run.jsonl").read_bytes() == whole


def test_a_resumed_run_counts_what_failed_before(run: Run, files: Path) -> None:
    args = ["eval", "run", "cases.yaml", "--outputs", "bad.jsonl", "--out", "run.jsonl"]
    assert run(*args).code == 1
    again = run(*args, "--resume")
    assert (again.code, "1 of 2 cases passed" in again.out) == (1, True)


@pytest.mark.parametrize("content", [CASES, '{"id": "a", "expected": {}}\n', "no line end"])
def test_what_is_no_run_is_not_resumed(run: Run, files: Path, content: str) -> None:
    (files / "run.jsonl").write_text(content)
    done = run("eval", "run", "cases.yaml", "--outputs", "good.jsonl", "--out", "run.jsonl", "--resume")
    assert (done.code, "is not a result of a run" in done.err) == (2, True)
    assert (files / "run.jsonl").read_text() == content


def test_free_text_that_is_wrong_is_told_like_anything_else(run: Run, files: Path) -> None:
    (files / "c.yaml").write_text("- {id: a, expected: {output: no}, scorers: [{type: exact}]}")
    (files / "o.jsonl").write_text('{"id": "a", "output": "bye"}')
    done = run("eval", "run", "c.yaml", "--outputs", "o.jsonl")
    assert (done.code, "score too low" in done.out) == (1, True)


def test_a_task_makes_the_outputs(run: Run, files: Path) -> None:
    (files / "tool.sh").write_text(f"grep -h \"$1\" '{files}/good.jsonl'")
    done = run("eval", "run", "cases.yaml", "--task", f"sh '{files}/tool.sh' {{id}}", "--json")
    assert (done.code, len(done.out.splitlines())) == (0, 2)


def test_lint_lists_faults_and_says_so_by_its_exit_code(run: Run, files: Path) -> None:
    assert run("eval", "lint", "cases.yaml").code == 0
    (files / "cases.yaml").write_text(CASES.replace("[Cart]", '["x*"]'))
    done = run("eval", "lint", "cases.yaml")
    assert done.code == 1
    assert (
        "case shop-rename-001: expected.operations[0].operations[0].expectedContentPatterns[0]: 'x*' matches"
        in done.out
    )
    (row,) = map(json.loads, run("eval", "lint", "cases.yaml", "--json").out.splitlines())
    assert row["kind"] == "never-fails"


def test_the_schemas_are_schemas(run: Run) -> None:
    for args in ([], ["--outputs"]):
        jsonschema.Draft202012Validator.check_schema(json.loads(run("eval", "schema", *args).out))
