"""What a confidence was computed from, and how it is recomputed."""

from collections.abc import Mapping
from typing import Any

import msgspec

from scalepan.check import resolved
from scalepan.confidence.decide import InterventionLevel, decide
from scalepan.confidence.evidence import level_by
from scalepan.confidence.factors import ConfidenceFactors
from scalepan.confidence.formula import ConfidenceScore, confidence
from scalepan.policy.confidence import Confidence
from scalepan.score import Rule, Score
from scalepan.store.receipts import LostError

CONSTANTS = ("search_quality", "weights", "applies", "penalties", "thresholds", "places")
"""The keys of the policy section that the formula and the decision look at."""
resolved(Score, ConfidenceScore)


def constants_of(policy: Confidence) -> dict[str, Any]:
    """The constants in force, as they are kept with a number."""
    section: dict[str, Any] = msgspec.to_builtins(policy)
    return {name: section[name] for name in CONSTANTS}


def inputs_of(factors: Any, score: Any, constants: Any, version: str, gate: Any = None) -> dict[str, Any]:
    """What is kept: the factors, or where a finished score was given, that score itself; and what the gate asked for.

    `gate` is `evidence`, as the policy has it, and `raised_to`, the level that the action itself calls for.
    """
    made_of = {"factors": factors} if factors is not None else {"score": score}
    return {**made_of, "policy": constants, "policy_version": version, **({"gate": gate} if gate else {})}


def recompute(inputs: Mapping[str, Any]) -> Score:
    """The score once more. LostError says what is missing.

    >>> factors = {"search_result_count": 5, "search_max_score": 0.8, "source_count": 2}
    >>> float(recompute(inputs_of(factors, None, constants_of(Confidence()), "")))
    0.733
    """
    policy, version = _policy(inputs), inputs.get("policy_version", "")
    if "factors" in inputs:
        return confidence(ConfidenceFactors.from_dict(inputs["factors"]), policy, version)
    given = inputs["score"]
    score = msgspec.convert(given, ConfidenceScore) if "evidence" in given else msgspec.convert(given, Score)
    return _added_up(score, version)


def level_of(inputs: Mapping[str, Any]) -> InterventionLevel:
    """What the score calls for, by the thresholds, the evidence and the rules that were in force."""
    score = recompute(inputs)
    decision = decide(score, _policy(inputs).thresholds)
    gate = inputs.get("gate") or {}
    return level_by(decision, score, gate.get("evidence", "optional"), gate.get("raised_to"))


def _policy(inputs: Mapping[str, Any]) -> Confidence:
    if not inputs.get("policy"):
        raise LostError("an older version of Scalepan stored it without the constants of its formula")
    return msgspec.convert(inputs["policy"], Confidence)


def _added_up(score: Score, version: str) -> Score:
    """A score that was given as it is: its parts are weighed again, and its rules change the sum as they did."""
    if score.value is None:
        return msgspec.structs.replace(score, policy=version)
    if not score.parts:
        raise LostError("it was given as a bare number, without parts")
    base = 0.0
    for part in score.parts:
        base = base + part.weight * part.value
    at, rules = base, []
    for rule in score.rules:
        rules.append(Rule(rule.name, at, at + (rule.after - rule.before), rule.note))
        at = rules[-1].after
    return msgspec.structs.replace(score, value=at, base=base, rules=tuple(rules), policy=version)
