"""What a case's average and verdict were computed from, and how they are recomputed."""

from collections.abc import Mapping
from typing import Any

import msgspec

from scalepan.evals.result import ScorerResult, judged
from scalepan.evals.run import CaseResult
from scalepan.score import Score

KEPT = ("score", "threshold", "weight", "status")
"""What is stored of a scorer's verdict: numbers only, because reasons and details quote the output."""


def inputs_of(result: CaseResult) -> dict[str, Any]:
    """What is stored of a case: each scorer's score, threshold and weight."""
    scorers = {
        name: {"type": one.type, **{key: getattr(one, key) for key in KEPT}}
        for name, one in zip(result.to_dict()["scores"], result.results, strict=True)
    }
    return {"scorers": scorers, "policy_version": result.score.policy}


def body_of(result: CaseResult) -> dict[str, Any]:
    """The average as it is stored, with the verdict."""
    score = result.score
    reason = "" if score.value is not None else f"no scorer gave a number ({score.status})"
    return msgspec.structs.replace(score, reason=reason, details={"verdict": _verdict(result.passed)}).to_dict()


def recompute(inputs: Mapping[str, Any]) -> Score:
    """The average recomputed, and whether the case passes."""
    results = [ScorerResult(**one, reason="not measured") for one in inputs["scorers"].values()]
    passed, score = judged(results, inputs["policy_version"])
    return msgspec.structs.replace(score, details={"verdict": _verdict(passed)})


def _verdict(passed: bool) -> str:
    return "passed" if passed else "failed"
