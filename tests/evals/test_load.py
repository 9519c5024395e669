"""Golden cases and outputs from files: everything is checked first, and every problem has its file and line."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from scalepan.errors import InputError
from scalepan.evals import Case, CaseFile, OutputFile, cases_schema, outputs_schema
from scalepan.policy.evals import Evals

GOOD = """\
- id: shop-rename-001
  name: カートの改名
  userMessage: Call the basket cart
  pages:
    - id: p1
      title: Shop
      version: 3
      blocks:
        - {id: b1, type: heading, content: [{type: text, text: Basket}]}
        - {id: b2, type: list, children: [{id: b2a, content: [{type: text, text: one}]}]}
  expected:
    operations:
      - pageId: p1
        operations:
          - {type: replace, targetBlockId: b1, expectedContentPatterns: ["Cart|カート"]}
    totalSuccessCount: 1
  scorers:
    - {type: operation-accuracy, weight: 2, threshold: 0.9}
    - {type: response-time, maxAcceptableMs: 800}
- id: shop-nothing-001
  expected: {operations: [], totalSuccessCount: 0}
"""


def write(folder: Path, text: str, name: str = "cases.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def load(path: Path) -> list[Case]:
    return list(CaseFile(path, Evals()))


def test_yaml_and_jsonl_give_the_same_cases(tmp_path: Path) -> None:
    from_yaml = load(write(tmp_path, GOOD))
    lines = "\n".join(json.dumps(case) for case in yaml.safe_load(GOOD))
    assert load(write(tmp_path, lines, "cases.jsonl")) == from_yaml
    first = from_yaml[0]
    assert (first.id, first.user_message, first.pages[0].version) == ("shop-rename-001", "Call the basket cart", 3)
    assert [block.id for block in first.pages[0].walk()] == ["b1", "b2", "b2a"]
    assert first.expected.operations[0].operations[0].expected_content_patterns == ["Cart|カート"]


FIRST = "case shop-rename-001"
OPERATION = f"{FIRST}: expected.operations[0].operations[0]"


@pytest.mark.parametrize(
    ("old", "new", "line", "error"),
    [
        ("type: replace", "type: change", 15, f"{OPERATION}.type: 'change' is not one of insert, replace, delete"),
        ("targetBlockId", "targetBlokId", 15, f"{OPERATION}.targetBlokId: unknown key; did you mean 'targetBlockId'?"),
        ("Cart|カート", "Cart(", 15, f"{OPERATION}.expectedContentPatterns[0]: 'Cart(' is not a regular expression"),
        (
            "type: operation-acc",
            "type: operation-ac",
            18,
            f"{FIRST}: scorers[0]: no scorer 'operation-acuracy'; did you",
        ),
        ("threshold: 0.9", "threshold: 1.9", 18, f"{FIRST}: scorers[0].threshold: 1.9 is not between 0 and 1"),
        ("weight: 2", "weight: -2", 18, f"{FIRST}: scorers[0].weight: -2 is not between 0 and 1,000,000"),
        ("maxAcceptableMs", "maxAcceptableS", 19, f"{FIRST}: scorers[1].maxAcceptableS: unknown key; did you mean"),
        (", maxAcceptableMs: 800", "", 19, f"{FIRST}: scorers[1].maxAcceptableMs: is missing"),
        ("id: shop-nothing-001", "id: shop-rename-001", 20, f"{FIRST}: id: 'shop-rename-001' occurs twice"),
        ("Count: 0", "Count: -1", 21, "case shop-nothing-001: expected.totalSuccessCount: -1 is not at least 0"),
        ("title: Shop", "title: 7", 6, f"{FIRST}: pages[0].title: 7 is not text"),
        ("- id: shop-nothing-001\n  expected", "- expected", 20, "id: is missing"),
    ],
)
def test_a_problem_has_its_line_its_case_its_path_and_what_is_legal(
    tmp_path: Path, old: str, new: str, line: int, error: str
) -> None:
    assert old in GOOD
    file = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        load(file)
    assert str(caught.value).startswith(f"{file}:{line}: {error}")


def test_every_problem_is_reported_not_just_the_first(tmp_path: Path) -> None:
    broken = GOOD.replace("type: replace", "type: change").replace("title: Shop", "title: 7").replace(": 0}", ": x}")
    with pytest.raises(InputError) as caught:
        load(write(tmp_path, broken))
    assert [line.split(": ")[-2] for line in caught.value.lines] == [
        "expected.operations[0].operations[0].type",
        "pages[0].title",
        "expected.totalSuccessCount",
    ]


def test_jsonl_problems_have_their_line_too(tmp_path: Path) -> None:
    good = json.dumps({"id": "a", "expected": {}})
    file = write(tmp_path, f"{good}\n\n{{cut\n{good}\n[]\n", "cases.jsonl")
    with pytest.raises(InputError) as caught:
        load(file)
    lines = [line.removeprefix(str(file)) for line in caught.value.lines]
    assert lines[0].startswith(":3: is not JSON: ")
    assert lines[1:] == [":4: case a: id: 'a' is on line 1 too", ":5: a list is not an object"]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "is not a list of cases"),
        (b"[]", "has no case"),
        (b"cases: []", "is not a list of cases"),
        (b"- {id: a, id: b}", ":1: not YAML: 'id' occurs twice"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"- [", "not YAML"),
        (b"- 7", ":1: 7 is not an object"),
    ],
)
def test_a_file_that_holds_no_cases(tmp_path: Path, content: bytes, error: str) -> None:
    file = tmp_path / "cases.yaml"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(file)
    assert error in str(caught.value)


def test_problems_of_every_kind_are_reported_at_once(tmp_path: Path) -> None:
    broken = (
        GOOD.replace("title: Shop", "titel: Shop")
        .replace("Cart|カート", "Cart(")
        .replace("threshold: 0.9", "threshold: 2")
        .replace("maxAcceptableMs", "max")
        .replace("children:", "chldren:")
    )
    with pytest.raises(InputError) as caught:
        load(write(tmp_path, broken))
    assert (
        sorted(line.split(": ")[2] for line in caught.value.lines)
        == [
            "expected.operations[0].operations[0].expectedContentPatterns[0]",
            "pages[0].blocks[1].chldren",
            "pages[0].titel",
            "scorers[0].threshold",
            "scorers[1].max",
            "scorers[1].maxAcceptableMs",
        ][: len(caught.value.lines)]
    )
    assert len(caught.value.lines) >= 5


def test_many_problems_do_not_take_long(tmp_path: Path) -> None:
    bad = "".join(f"- {{id: c{i}, expected: {{}}, nmae: x}}\n" for i in range(2000))
    with pytest.raises(InputError) as caught:
        load(write(tmp_path, bad))
    assert caught.value.lines[1].startswith(f"{tmp_path / 'cases.yaml'}:2: case c1: nmae: unknown key")
    assert caught.value.lines[-1] == "and 1,899 more"


@pytest.mark.parametrize("word", ["no", "12:30", "2024-01-02", "on", "0x10", "007"])
def test_a_bare_word_in_yaml_is_the_text_that_one_reads(tmp_path: Path, word: str) -> None:
    (case,) = load(write(tmp_path, f"- {{id: a, expected: {{output: {word}}}}}"))
    assert case.expected.output == word


def test_yaml_anchors_and_merge_keys_work_and_endless_ones_are_refused(tmp_path: Path) -> None:
    text = "- &a {id: a, name: x, expected: {output: 1e3}}\n- {<<: *a, id: b}\n"
    assert [(case.id, case.name, case.expected.output) for case in load(write(tmp_path, text))] == [
        ("a", "x", 1000.0),
        ("b", "x", 1000.0),
    ]
    with pytest.raises(InputError, match="refers to itself"):
        load(write(tmp_path, "- {id: a, expected: {output: &o [*o]}}"))


def test_an_insert_in_a_golden_case_needs_a_position(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="position: is missing; an insert is before or after its target"):
        load(write(tmp_path, GOOD.replace("type: replace", "type: insert")))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for name in ("none.yaml", "none.jsonl"):
        with pytest.raises(InputError, match="cannot be read: No such file"):
            load(tmp_path / name)
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        OutputFile(tmp_path)


def test_outputs_are_found_by_case(tmp_path: Path) -> None:
    lines = [{"id": "a", "output": "x", "durationMs": 3}, {"id": "b", "operations": [], "x_unknown": 1}]
    file = OutputFile(write(tmp_path, "\ufeff" + "\r\n".join(map(json.dumps, lines)), "out.jsonl"))
    cases = [Case(id=id_, expected={}) for id_ in ("b", "a", "c")]  # type: ignore[arg-type]
    outputs = [file.get(case) for case in cases]
    file.close()
    assert [(output.id, output.duration_ms) for output in outputs] == [("b", None), ("a", 3), ("c", None)]
    assert outputs[2].error == f"no output for this case in {file.path}"


def test_outputs_are_checked_before_anything_runs(tmp_path: Path) -> None:
    rows = [{"id": "a"}, {"id": "a"}, {"output": 1}, {"id": "d", "operations": [{"pageId": "p", "operations": [{}]}]}]
    with pytest.raises(InputError) as caught:
        OutputFile(write(tmp_path, "\n".join(map(json.dumps, rows)), "out.jsonl"))
    assert [line.partition("out.jsonl:")[2] for line in caught.value.lines] == [
        "2: case a: id: 'a' has an output already",
        "3: id: is missing",
        "4: operations[0].operations[0].type: is missing",
    ]


def test_the_schemas_accept_what_the_loader_accepts() -> None:
    cases = jsonschema.Draft202012Validator(cases_schema())
    assert cases.is_valid(yaml.safe_load(GOOD))
    assert not cases.is_valid(yaml.safe_load(GOOD.replace("type: replace", "type: change")))
    assert not cases.is_valid(yaml.safe_load(GOOD.replace("targetBlockId", "targetBlokId")))
    outputs = jsonschema.Draft202012Validator(outputs_schema())
    assert outputs.is_valid({"id": "a", "operations": [], "durationMs": 3})
    assert not outputs.is_valid({"id": "a", "durationMs": -3})
