"""A fit as a policy file: it loads, says what it was fitted on, and the gate follows it."""

from pathlib import Path

import numpy as np
import pytest

from scalepan.confidence import ConfidenceCalculator
from scalepan.errors import InputError
from scalepan.fit import fit, policy_text
from scalepan.fit.labels import LabeledNumbers, labels_of
from scalepan.fit.policyfile import policy_values
from scalepan.policy import Policy, load_policy
from scalepan.score import Score
from tests.fit import populations


def loaded(text: str, folder: Path):  # type: ignore[no-untyped-def]
    file = folder / "fitted.yaml"
    file.write_text(text, encoding="utf-8")
    return load_policy(file)


def test_the_thresholds_are_those_of_the_fit(tmp_path: Path) -> None:
    found = fit("confidence", populations.sharp(1000))
    text = policy_text(found)
    policy = loaded(text, tmp_path)
    thresholds = policy.confidence.thresholds
    assert [thresholds.silent, thresholds.notify, thresholds.confirm] == [one.threshold for one in found.promises]
    assert f"# Fitted by 'scalepan fit confidence' on {found.date}, on 1,000 labels.\n" in text
    assert f"# Labels: sha256 {found.digest}\n" in text
    assert f"# {found.promises[0].text}\n" in text
    assert "# Calibration error 0." in text


@pytest.mark.parametrize(
    ("number", "constant"),
    [
        ("value", lambda policy: policy.value.gate),
        ("memory", lambda policy: policy.retrieval.threshold),
        ("judge", lambda policy: policy.evals.thresholds["llm-judge"]),
    ],
)
def test_each_number_has_its_constant(number: str, constant, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    found = fit(number, populations.sharp(1000))
    assert constant(loaded(policy_text(found), tmp_path)) == found.promises[0].threshold


def stricter_for_refunds() -> LabeledNumbers:
    """Refunds are wrong in 30 % below 0.8, everything else in 1 % at most."""
    random = np.random.default_rng(3)
    stated = random.random(1000)
    refunds = populations.drawn(stated, random.random(1000) < np.where(stated >= 0.6, 0.995, 0.7), "refund")
    others = populations.drawn(random.random(9000), random.random(9000) < 0.995, "search")
    return populations.together(refunds, others)


def test_a_tool_that_needs_a_higher_threshold_gets_a_rule_of_the_gate(tmp_path: Path) -> None:
    found = fit("confidence", stricter_for_refunds())
    rules = policy_values(found, Policy())["confidence"]["gate"]["rules"]
    own = next(one for one in found.groups if one.group == "refund").promises[0].threshold
    assert {"when": f"action == 'refund' && confidence < {own!r}", "then": "notify"} in rules
    assert not [rule for rule in rules if "'search'" in rule["when"]]
    policy = loaded(policy_text(found), tmp_path)
    assert policy.confidence.gate.rules[0].then == "notify"
    silent = Score(name="confidence", value=found.promises[0].threshold)
    assert ConfidenceCalculator(policy).decide_action(silent).level == "silent"


def test_a_domain_gets_a_gate_of_its_own(tmp_path: Path) -> None:
    found = fit("value", stricter_for_refunds())
    gates = loaded(policy_text(found), tmp_path).value.gates
    assert set(gates) == {"refund", "search"}
    assert gates["refund"] > gates["search"]


@pytest.mark.parametrize("name", ["it's", "a\nb", "x' || confidence > 0 || 'x"])
def test_a_name_of_a_group_cannot_change_a_rule(name: str, tmp_path: Path) -> None:
    cases = stricter_for_refunds()
    groups = tuple(name if group == "refund" else group for group in cases.groups)
    found = fit("confidence", LabeledNumbers(cases.values, cases.right, groups))
    assert "gate" not in policy_values(found, Policy())["confidence"]
    text = policy_text(found)
    loaded(text, tmp_path)
    assert all(line.startswith(("#", "confidence:", "  ")) for line in text.splitlines())


def test_no_promise_is_not_written() -> None:
    few = labels_of((n, {"value": 0.9, "label": 1}) for n in range(10))
    with pytest.raises(InputError, match="no threshold to write"):
        policy_text(fit("confidence", few))


def test_a_score_says_what_its_thresholds_were_fitted_on(tmp_path: Path) -> None:
    found = fit("confidence", populations.sharp(1000))
    text = policy_text(found, Policy())
    score = ConfidenceCalculator(loaded(text, tmp_path)).calculate({"tool_success_rate": 1.0})
    said = f"calibrated on 1,000 labels, {found.date}: SILENT at most 5 % wrong, 95 % sure"
    assert (score.details.calibrated, score.details.note) == (True, said)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"thresholds": {"silent": 0.97}}, "not calibrated: the thresholds were changed since the fit of "),
        ({"weights": {"tool_success": 0.5}}, "not calibrated: the formula was changed since the fit of "),
        ({"fitted": None}, "not calibrated"),
    ],
)
def test_a_fit_does_not_outlive_what_it_was_made_of(changed: dict[str, object], said: str, tmp_path: Path) -> None:
    file = tmp_path / "fitted.yaml"
    file.write_text(policy_text(fit("confidence", populations.sharp(1000)), Policy()), encoding="utf-8")
    policy = load_policy(file, overrides={"confidence": changed})
    score = ConfidenceCalculator(policy).calculate({"tool_success_rate": 1.0})
    assert not score.details.calibrated
    assert score.details.note.startswith(said)


def test_thresholds_chosen_by_hand_are_not_calibrated() -> None:
    assert ConfidenceCalculator(Policy()).calculate({}).details.note == "not calibrated"


def test_the_gate_may_change_without_a_new_fit(tmp_path: Path) -> None:
    file = tmp_path / "fitted.yaml"
    file.write_text(policy_text(fit("confidence", populations.sharp(1000)), Policy()), encoding="utf-8")
    policy = load_policy(file, overrides={"confidence": {"gate": {"timeout_seconds": 10}}})
    assert policy.confidence.calibration.calibrated
