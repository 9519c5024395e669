"""The reference: every constant has a reason, a range or legal set, and its place in the docs."""

from scalepan.policy import Layer, Policy, resolve
from scalepan.policy.reference import constants, origins

LISTED = constants(Policy())


def test_every_constant_says_why() -> None:
    assert [constant.path for constant in LISTED if not constant.why] == []


def test_every_number_has_a_unit_and_a_range() -> None:
    numbers = [c for c in LISTED if isinstance(c.value, (int, float)) and not isinstance(c.value, bool)]
    assert len(numbers) > 30
    assert [c.path for c in numbers if not c.unit or not c.range] == []


def test_constants_are_named_as_a_policy_file_names_them() -> None:
    shown = {c.path: c.shown for c in LISTED}
    assert shown["value.gate"] == "0.75"
    assert shown["value.budget_ms"] == "100.0"
    assert shown["value.novelty.ttl_ms"] == "null"
    assert shown["value.profiles.medical.outcome_confidence"] == "0.55"
    assert shown["embed.model"] == "auto"


def test_who_set_a_constant_last() -> None:
    layers = [Layer("scalepan.yaml", {"value": {"gate": 0.1}}), Layer("SCALEPAN_VALUE__GATE", {"value": {"gate": 0.2}})]
    assert origins(layers) == {"value.gate": "SCALEPAN_VALUE__GATE"}
    assert {c.path: c.value for c in constants(resolve(layers))}["value.gate"] == 0.2
