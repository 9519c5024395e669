"""The redact section of the policy: error messages, and lower layers can only tighten it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scalepan.check import problems
from scalepan.errors import PolicyError
from scalepan.policy import Layer, load_policy
from scalepan.policy.redact import Redact, UserRule, tighten


def merged(*layers: dict[str, Any]) -> Redact:
    section: dict[str, Any] = msgspec.to_builtins(Redact())
    for layer in layers:
        tighten(section, layer)
    return msgspec.convert(section, Redact)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"kinds": {"emial": False}}, "kinds has no 'emial'; did you mean 'email'?"),
        ({"rules": [{"name": "x", "pattern": "("}]}, "rules[0]: '(' is not a regular expression: missing )"),
        ({"rules": [{"name": "x", "pattern": "a*"}]}, "rules[0]: 'a*' matches the empty text"),
        ({"rules": [{"name": "email", "pattern": "a"}]}, "rules[0]: 'email' is built in"),
        ({"rules": [{"name": "Big One", "pattern": "a"}]}, "rules[0].name: 'Big One' does not match"),
        (
            {"rules": [{"name": "x", "pattern": "a", "category": "pi"}]},
            "rules[0].category: 'pi' is not one of secret, pii",
        ),
        ({"rules": [{"name": "x", "patern": "a"}]}, "rules[0].patern: unknown key; did you mean 'pattern'?"),
        ({"timeout_ms": 0}, "timeout_ms: 0 is not more than 0"),
        ({"store_pii": "yes"}, "store_pii: 'yes' is not true or false"),
    ],
)
def test_an_error_names_the_value(section: dict[str, Any], said: str) -> None:
    assert str(problems(section, Redact)[0]).startswith(said)


def test_a_user_rule_may_be_named_among_the_kinds() -> None:
    rule = UserRule(name="badge", pattern=r"B\d{4}")
    assert Redact(rules=[rule], kinds={"badge": False}).looks_for("badge") is False


def test_a_lower_layer_cannot_switch_off() -> None:
    assert merged({"kinds": {"email": False}}).looks_for("email")
    assert merged({"store_pii": True}).store_pii is False


def test_a_lower_layer_can_switch_on_and_add() -> None:
    section = msgspec.to_builtins(Redact(kinds={"phone": False}, store_pii=True))
    tighten(section, {"kinds": {"phone": True}, "store_pii": False, "rules": [{"name": "x", "pattern": "a"}]})
    policy = msgspec.convert(section, Redact)
    assert policy.looks_for("phone")
    assert not policy.store_pii
    assert [rule.name for rule in policy.rules] == ["x"]


def test_rules_with_the_same_name_are_kept_and_equal_rules_are_merged() -> None:
    one, other = {"name": "x", "pattern": "a"}, {"name": "x", "pattern": "b"}
    assert [rule.pattern for rule in merged({"rules": [one]}, {"rules": [other, one]}).rules] == ["a", "b"]


def test_the_last_label_and_time_limit_win() -> None:
    policy = merged({"version": "a", "timeout_ms": 5}, {"version": "b"})
    assert (policy.version, policy.timeout_ms) == ("b", 5)


@pytest.mark.parametrize("layer", [{"kinds": ["email"]}, {"kinds": {"email": "no"}}, {"rules": "x"}, {"store_pii": 1}])
def test_a_wrong_type_is_merged_so_that_validation_can_name_it(layer: dict[str, Any]) -> None:
    section = msgspec.to_builtins(Redact())
    tighten(section, layer)
    assert problems(section, Redact)


def test_only_the_file_can_relax(tmp_path: Path) -> None:
    file = tmp_path / "scalepan.yaml"
    file.write_text("redact: {kinds: {phone: false, email: false}, store_pii: true, rules: [{name: x, pattern: a}]}")
    alone = load_policy(file, env={}).redact
    assert (alone.looks_for("phone"), alone.store_pii) == (False, True)
    relaxed = {"kinds": {"card": False, "x": False}, "store_pii": True, "rules": []}
    layers = [Layer("tenant", {"redact": {"kinds": {"phone": True}}}), Layer("project", {"redact": relaxed})]
    env = {"SCALEPAN_REDACT__KINDS__PHONE": "false", "SCALEPAN_REDACT__STORE_PII": "false"}
    policy = load_policy(file, layers=layers, env=env, overrides={"redact": relaxed}).redact
    assert {kind: policy.looks_for(kind) for kind in ("phone", "email", "card", "x")} == {
        "phone": True,  # the tenant switched it on; the environment cannot switch it off again
        "email": False,
        "card": True,
        "x": True,
    }
    assert policy.store_pii is False
    assert [rule.name for rule in policy.rules] == ["x"]


def test_without_a_file_the_built_in_section_is_the_floor() -> None:
    assert load_policy(env={}, overrides={"redact": {"kinds": {"email": False}}}).redact.looks_for("email")


def test_a_lower_layer_cannot_call_a_secret_personal_data() -> None:
    rules = [{"name": "x", "pattern": "a"}]
    layers = [Layer("tenant", {"redact": {"rules": rules}})]
    with pytest.raises(PolicyError, match="rules call 'x' both secret and pii"):
        load_policy(env={}, layers=layers, overrides={"redact": {"rules": [{**rules[0], "category": "pii"}]}})


@pytest.mark.parametrize("said", [{"redact": 1}, {"redact": {"kinds": 1}}, {"redact": {"nothing": 1}}])
def test_a_layer_that_does_not_fit_is_blamed(said: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=r"^tenant: redact"):
        load_policy(env={}, layers=[Layer("tenant", said)])


@pytest.mark.parametrize("fault", ["kinds: 1", "rules: x", "store_pii: 3"])
def test_a_later_layer_does_not_hide_an_error_in_the_file(tmp_path: Path, fault: str) -> None:
    file = tmp_path / "scalepan.yaml"
    file.write_text(f"redact: {{{fault}}}")
    said = {"kinds": {"email": True}, "rules": [], "store_pii": False}
    with pytest.raises(PolicyError, match=f"redact.{fault.partition(':')[0]}: "):
        load_policy(file, env={}, overrides={"redact": said})
