"""Policy: who wins, what is refused and in what words, and when a version changes."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from scalepan.errors import PolicyError
from scalepan.policy import Layer, Policy, load_policy, resolve, schema


def write(folder: Path, text: str) -> Path:
    file = folder / "policy.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_without_any_file_the_policy_is_the_specs() -> None:
    assert load_policy(env={}) == Policy()


def test_later_layers_win() -> None:
    layers = [Layer(name, {"value": {"gate": gate}}) for name, gate in [("tenant", 0.2), ("project", 0.3)]]
    gate = 0.75
    assert resolve([]).value.gate == gate
    assert resolve(layers[:1]).value.gate == 0.2
    assert resolve(layers).value.gate == 0.3


def test_the_order_is_file_tenant_project_environment_call(tmp_path: Path) -> None:
    file = write(tmp_path, "value: {gate: 0.1}")
    tenant_and_project = [Layer("tenant", {"value": {"gate": 0.2}}), Layer("project", {"value": {"gate": 0.3}})]
    env = {"SCALEPAN_VALUE__GATE": "0.4"}
    call = {"value": {"gate": 0.5}}
    steps = [
        load_policy(file, env={}),
        load_policy(file, layers=tenant_and_project[:1], env={}),
        load_policy(file, layers=tenant_and_project, env={}),
        load_policy(file, layers=tenant_and_project, env=env),
        load_policy(file, layers=tenant_and_project, env=env, overrides=call),
    ]
    assert [policy.value.gate for policy in steps] == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_a_file_says_only_what_differs(tmp_path: Path) -> None:
    policy = load_policy(write(tmp_path, "value:\n  complexity:\n    length_worth: 0.1\n"), env={})
    assert policy.value.complexity.length_worth == 0.1
    assert policy.value.complexity.types_worth == 0.5
    assert policy.embed == Policy().embed


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    assert load_policy(write(tmp_path, "# nothing yet\n"), env={}) == Policy()
    assert load_policy(write(tmp_path, "value:\n  # gate: 0.6\n"), env={}) == Policy()


def test_numbers_may_be_written_with_an_exponent(tmp_path: Path) -> None:
    assert load_policy(write(tmp_path, "value: {gate: 1e-3}"), env={}).value.gate == 0.001
    assert load_policy(env={"SCALEPAN_VALUE__GATE": "2E-1"}).value.gate == 0.2


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("value: &v\n  gate: 0.5\n  aliases: *v\n", "refers to itself"),
        ("value: {profiles: {code: {toolDiversity: 0.3, tool_diversity: 0.3}}}", "is set twice"),
    ],
)
def test_what_yaml_lets_pass_is_refused(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(PolicyError, match=error):
        load_policy(write(tmp_path, text), env={})


def test_the_file_is_found_by_variable_or_upward_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scalepan.yaml").write_text("value: {gate: 0.1}")
    named = write(tmp_path, "value: {gate: 0.2}")
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert load_policy(env={}).value.gate == 0.1
    assert load_policy(env={"SCALEPAN_POLICY": str(named)}).value.gate == 0.2


@pytest.mark.parametrize(
    ("name", "text", "path", "value"),
    [
        ("SCALEPAN_VALUE__GATE", "0.4", "gate", 0.4),
        ("SCALEPAN_VALUE__BUDGET_MS", "null", "budget_ms", None),
        ("SCALEPAN_VALUE__ALIASES", "{coding: code}", "aliases", {"coding": "code"}),
    ],
)
def test_the_environment_speaks_yaml(name: str, text: str, path: str, value: object) -> None:
    assert getattr(load_policy(env={name: text}).value, path) == value


def test_variables_that_are_not_about_the_policy_are_left_alone() -> None:
    assert load_policy(env={"SCALEPAN_CACHE": "/x", "SCALEPAN_STORE": "y", "HOME": "/z"}) == Policy()


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"value": {"gaet": 0.6}}, "value.gaet: unknown key; did you mean 'gate'?"),
        ({"valeu": {}}, "valeu: unknown key; did you mean 'value'?"),
        ({"value": {"gate": 3}}, "value.gate: 3 is not between 0 and 1"),
        ({"value": {"gate": "high"}}, "value.gate: 'high' is not a number"),
        ({"value": {"gate": float("nan")}}, "value.gate: nan is not a finite number"),
        ({"value": {"budget_ms": 0}}, "value.budget_ms: 0 is not more than 0"),
        ({"value": 7}, "value: 7 is not an object"),
        ({"value": {"complexity": None}}, "value.complexity: null is not an object"),
        ({"value": {"profiles": {"law": {"novelty": 1}}}}, "value.profiles.law.complexity: is missing (and 2 more)"),
        ({"value": {"profiles": {"code": {"novelty": 0.4}}}}, "value.profiles.code: the weights add up to 1.1, not 1"),
        ({"value": {"aliases": {"a": "b"}}}, "value: alias 'a' names the profile 'b', which does not exist"),
        ({"embed": {"pooling": "men"}}, "embed.pooling: 'men' is not one of cls, last, max, mean"),
        ({"embed": {"threads": 1.5}}, "embed.threads: 1.5 is not a whole number"),
    ],
)
def test_what_is_wrong_is_said_with_its_path_and_what_is_legal(values: dict[str, Any], error: str) -> None:
    with pytest.raises(PolicyError) as caught:
        resolve([Layer("policy.yaml", values)])
    assert str(caught.value) == f"policy.yaml: {error}"


def test_an_error_names_the_layer_that_said_it(tmp_path: Path) -> None:
    file = write(tmp_path, "value: {gate: 0.1}")
    with pytest.raises(PolicyError, match=r"^SCALEPAN_VALUE__GATE: value.gate: 'abc' is not a number$"):
        load_policy(file, env={"SCALEPAN_VALUE__GATE": "abc"})


def test_every_problem_is_reported() -> None:
    with pytest.raises(PolicyError) as caught:
        resolve([Layer("p.yaml", {"value": {"gate": 3, "x": 1}, "embed": {"threads": -1}})])
    assert caught.value.lines == [
        "p.yaml: value.x: unknown key; known: " + ", ".join(Policy().value.__struct_fields__),
        "p.yaml: value.gate: 3 is not between 0 and 1",
        "p.yaml: embed.threads: -1 is not at least 0",
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("embed: {}\nvalue: ]\n", ":2: not YAML"),
        ("value: {gate: 0.1}\nvalue: {}\n", ":2: not YAML: 'value' occurs twice"),
        ("- a\n- b\n", ": a policy is a table of sections"),
        ("1: {}\n", ":1: not YAML: the key 1 is not text"),
        ("just text", ": a policy is a table of sections"),
    ],
)
def test_a_file_that_is_no_policy(tmp_path: Path, text: str, error: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(PolicyError) as caught:
        load_policy(file, env={})
    assert str(caught.value).startswith(f"{file}{error}")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read: No such file"):
        load_policy(tmp_path / "none.yaml", env={})
    with pytest.raises(PolicyError, match="cannot be read: Is a directory"):
        load_policy(tmp_path, env={})
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match="is not UTF-8 text"):
        load_policy(tmp_path / "binary.yaml", env={})


def test_the_version_of_a_section_is_a_label_and_a_hash_of_its_content() -> None:
    plain = Policy()
    labeled = resolve([Layer("x", {"value": {"version": "2026-q4"}})])
    changed = resolve([Layer("x", {"value": {"version": "2026-q4", "gate": 0.6}})])
    assert labeled.version("value") == f"2026-q4+{plain.version('value')}"  # a label changes no number
    assert changed.version("value").startswith("2026-q4+")
    assert changed.version("value") != labeled.version("value")
    assert changed.version("embed") == plain.version("embed")


def test_the_version_of_a_section_is_made_once() -> None:
    policy = Policy()
    assert policy.version("confidence") is policy.version("confidence")
    changed = msgspec.structs.replace(policy.confidence, places=5)
    assert changed.label_and_hash != policy.version("confidence")
    assert msgspec.structs.replace(changed, places=policy.confidence.places).label_and_hash == policy.version(
        "confidence"
    )
    assert "label_and_hash" not in msgspec.to_builtins(policy.confidence)
    assert Policy().confidence == policy.confidence  # one has been asked, the other has not


def test_the_schema_knows_what_the_loader_knows() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    for text, sound in [
        ("value: {gate: 0.5}", True),
        ("value: {profiles: {code: {novelty: 0.4, tool_diversity: 0.2}}}", True),
        ("value: {budget_ms: null}", True),
        ("value: {gate: 5}", False),
        ("value: {gaet: 0.5}", False),
        ("embed: {pooling: men}", False),
    ]:
        assert validator.is_valid(yaml.safe_load(text)) is sound, text
    assert json.dumps(schema())
