"""Whatever file is given to `eval`: one clear line, no traceback, no hang."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scalepan.errors import InputError
from scalepan.evals import CaseFile, Evaluator, Output
from scalepan.evals.facts import Known, facts
from scalepan.evals.patterns import check_pattern
from scalepan.policy import Policy
from scalepan.policy.evals import Evals, Patterns
from tests.cli.conftest import Run, run
from tests.evals.spec import case

__all__ = ["run"]

PATTERNS = {
    "recursion": "(?R)",
    "recursion into a group": "(a(?1)?b)",
    "recursion by name": "(?P<x>a(?&x)?)",
    "a long alternation": "|".join(f"word{number}" for number in range(450_000)),  # 4.5 MB
    "a deep group": "(" * 4_000 + "a" + ")" * 4_000,
    "a huge repeat": "a{99999999}",
    "repeats of repeats": "(?:" * 50 + "a" + "{1,9})" * 50,
    "no pattern": "(",
    "no property": r"\p{Nothing}",
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_hostile_pattern_is_an_input_error_when_it_is_loaded(run: Run, tmp_path: Path, name: str) -> None:
    """Contract evals.15 and evals.17: patterns are regular expressions; an invalid one is an error at load time."""
    pattern = PATTERNS[name]
    operation = {"type": "replace", "targetBlockId": "b", "expectedContentPatterns": [pattern]}
    groups = [{"pageId": "p", "operations": [operation]}]
    cases = [
        {"id": "a", "pages": [{"id": "p", "blocks": [{"id": "b"}]}], "expected": {"operations": groups}},
        {"id": "b", "expected": {"matches": ["fine", pattern]}},
        {"id": "c", "expected": {"output": pattern}, "scorers": [{"type": "regex"}]},
    ]
    (tmp_path / "o.jsonl").write_text('{"id": "a"}')
    for one, path in zip(
        cases,
        ("expected.operations[0].operations[0].expectedContentPatterns[0]", "expected.matches[1]", "expected.output"),
        strict=True,
    ):
        (tmp_path / "cases.jsonl").write_text(json.dumps(one))
        for args in (["lint", "cases.jsonl"], ["run", "cases.jsonl", "--outputs", "o.jsonl"]):
            done = run("eval", *args)
            assert (done.code, len(done.err.splitlines())) == (2, 1)
            assert path in done.err
            assert len(done.err) < 400


def test_a_hostile_pattern_that_was_not_loaded_from_a_file_fails_and_does_not_raise() -> None:
    for pattern in PATTERNS.values():
        golden = case({"matches": pattern}, [])
        result = Evaluator(None, Policy()).evaluate(golden, Output(output="a" * 100))
        assert (result.passed, result.results[0].status) == (False, "failed")


@pytest.mark.parametrize("pattern", ["(?:ab){100}", "[(?R)]", r"\(?R\)", "a{3}b{2,4}", "(?P<n>a)(?P=n)", "x" * 1000])
def test_an_ordinary_pattern_is_none_of_these(pattern: str) -> None:
    check_pattern(pattern, Patterns())


def test_the_limit_of_length_is_a_policy_key() -> None:
    check_pattern("x" * 1001, Patterns(longest=1001))
    with pytest.raises(InputError, match="has 1,001 characters"):
        check_pattern("x" * 1001, Patterns())


FILES: dict[str, bytes] = {
    "binary": bytes(range(256)) * 40,
    "empty": b"",
    "a list of numbers": b"[1, 2]",
    "a text": b"just words",
    "a mapping": b'{"id": "a"}',
    "deep": b"[" * 100_000,
    "deep and whole": b"[" * 20_000 + b"]" * 20_000,
    "a deep case": b'[{"id": "a", "expected": {"output": ' + b"[" * 50_000 + b"]" * 50_000 + b"}}]",
    "surrogates": b'[{"id": "a", "expected": {"\\ud800": 1}}]',
    "a surrogate id": b'[{"id": "\\ud800", "expected": 7}]',
    "bytes": b"[{id: !!binary aGk=, expected: {}}]",
    "a python tag": b"- !!python/object/apply:os.system [exit]",
    "infinite": b"[{id: a, expected: {}, scorers: [{type: exact, weight: .inf}]}]",
    "a long tolerance": b"[{id: a, expected: {output: 1}, scorers: [{type: numeric, tolerance: .inf}]}]",
}


@pytest.mark.parametrize("suffix", ["yaml", "jsonl"])
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_of_cases_is_one_line(run: Run, tmp_path: Path, name: str, suffix: str) -> None:
    (tmp_path / f"cases.{suffix}").write_bytes(FILES[name])
    (tmp_path / "good.yaml").write_text("[{id: a, expected: {output: x}}]")
    (tmp_path / "o.jsonl").write_text('{"id": "a"}')
    for args in (
        ["lint", f"cases.{suffix}"],
        ["run", f"cases.{suffix}", "--outputs", "o.jsonl"],
        ["run", "good.yaml", "--outputs", "o.jsonl", "--scorers", f"cases.{suffix}"],
    ):
        done = run("eval", *args)
        assert done.code == 2, done
        assert done.err.splitlines()[0].startswith(("scalepan: ", "Error: ", "Usage")), done.err
        assert max(map(len, done.err.splitlines())) < 500


@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_of_outputs_is_one_line_or_an_output_that_failed(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "cases.yaml").write_text("[{id: a, expected: {output: x}}]")
    (tmp_path / "o.jsonl").write_bytes(FILES[name])
    assert run("eval", "run", "cases.yaml", "--outputs", "o.jsonl").code in (1, 2, 3)


def test_a_folder_is_one_line(run: Run, tmp_path: Path) -> None:
    for name in ("cases.yaml", "cases.jsonl", "o.jsonl", "s.yaml", "mine.py"):
        (tmp_path / name).mkdir()
    (tmp_path / "good.yaml").write_text("[{id: a, expected: {output: x}}]")
    (tmp_path / "good.jsonl").write_text('{"id": "a"}')
    for args in (
        ["lint", "cases.yaml"],
        ["lint", "cases.jsonl"],
        ["run", "good.yaml", "--outputs", "o.jsonl"],
        ["run", "good.yaml", "--outputs", "good.jsonl", "--scorers", "s.yaml"],
        ["run", "good.yaml", "--outputs", "good.jsonl", "--scorers-from", "mine.py"],
        ["run", "good.yaml", "--outputs", "good.jsonl", "--out", "mine.py"],
    ):
        done = run("eval", *args)
        assert (done.code, len(done.err.splitlines())) == (2, 1), args


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": float("inf")}, {"a": 1}),
        ({"a": [float("nan"), 1]}, {"a": [2, 1]}),
        (1, {"x": float("-inf")}),
    ],
)
def test_details_of_json_equal_are_json(expected: Any, actual: Any) -> None:
    listed = [{"type": "json-equal"}, {"type": "exact"}]
    result = Evaluator(listed, Policy()).evaluate(case({"output": expected}, []), Output(output=actual))
    plain = msgspec.to_builtins(result.to_dict())
    json.dumps(plain, allow_nan=False)


def test_a_path_may_be_a_text_and_the_policy_is_the_one_in_force(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text("[{id: a, expected: {output: x}}]")
    assert len(CaseFile(str(tmp_path / "cases.yaml"))) == len(CaseFile(tmp_path / "cases.yaml", Evals())) == 1


SHAPES = [
    "a",
    "A",
    "1",
    "a-",
    "a.",
    "a_",
    "/a",
    "一",
    "ア",
    "ア・",
    "「",
    '"',
    "`",
    "Aa ",
    "1 ",
    "1,",
    "aA",
    "@a",
    "年",
]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_long_text_of_one_shape_is_searched_for_facts_and_that_ends(shape: str) -> None:
    text = shape * (100_000 // len(shape))
    known = Known([text])
    assert all(known.has(fact) in (True, False) for fact in islice(facts(text), 50))
    assert sum(1 for _ in facts(text)) >= 0
