"""What a score_final was made of, and how it is made again."""

from collections.abc import Mapping
from typing import Any

import msgspec

from scalepan.memory.claim import SECONDS_A_DAY, moment
from scalepan.memory.rank import Gains, fuse, recency, score_best, score_final
from scalepan.memory.recall.answers import Recall, Recalled
from scalepan.memory.recall.population import Population
from scalepan.policy.evidence import EvidenceWeights
from scalepan.policy.retrieval import Rerank, Retrieval
from scalepan.score import Part, Score

FACTORS = ("utility", "confidence", "recency", "quality")
MEASURED = ("text_rank", "vector_rank", "bm25", "cos", "score_div")
"""Features that lead to others, or to the order, and follow from nothing that is kept."""


def inputs_of(one: Recalled, answer: Recall, now: float, policy: Retrieval) -> dict[str, Any]:
    """What is kept of a claim that was recalled: numbers alone, neither its text nor its id."""
    claim, rerank = one.claim, policy.rerank
    by = one.score_final.parts
    if answer.profile == "best":
        relevance: dict[str, Any] = {
            "observed": {part.name: part.value for part in by},
            "worth": {part.name: getattr(policy.evidence.best, part.name) for part in by},
            "bias": policy.evidence.best.bias,
            "sides": {"s_vec": one.features.s_vec, "s_text": one.features.s_text, "S": one.features.S},
        }
    else:
        weight = one.score_final.part("s_vec").weight
        relevance = {"s_vec": one.features.s_vec, "s_text": one.features.s_text, "weight": weight}
    return {
        **relevance,
        "utility": claim.utility,
        "population": dict(zip(("mean", "deviation"), answer.population, strict=True)),
        "confidence": claim.confidence,
        "age_days": (now - moment(claim.updated_at or claim.created_at)) / SECONDS_A_DAY,
        "half_life_days": policy.half_life(claim.kind),
        "quality": claim.quality if rerank.use_quality else None,
        "policy": {name: msgspec.to_builtins(getattr(rerank, name)) for name in FACTORS},
        "policy_version": answer.policy_version,
        "measured": {name: getattr(one.features, name) for name in MEASURED},
    }


def recompute(inputs: Mapping[str, Any]) -> Score:
    """The score once more: fused, then scaled by use, certainty, age and quality."""
    rerank = msgspec.convert(inputs["policy"], Rerank)
    if "observed" in inputs:
        weights = EvidenceWeights(bias=inputs["bias"], **inputs["worth"])
        return score_best(inputs["observed"], weights, gains_of(inputs), rerank, inputs["policy_version"])
    weight = inputs["weight"]
    s_vec = Part("s_vec", inputs["s_vec"] or 0.0, weight)
    s_text = Part("s_text", inputs["s_text"] or 0.0, 1 - weight)
    return score_final(s_vec, s_text, gains_of(inputs), rerank, inputs["policy_version"])


def gains_of(inputs: Mapping[str, Any]) -> Gains:
    """What g is made of, from the claim's own numbers."""
    quality = inputs["quality"]
    return Gains(
        Population(**inputs["population"]).gain(inputs["utility"]),
        min(max(inputs["confidence"], 0.0), 1.0),
        recency(inputs["age_days"], inputs["half_life_days"]),
        min(max(quality, 0.0), 1.0) if quality is not None else None,
    )


def features_of(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The features that an active context keeps beside the score."""
    gains = {name: gain for name, gain in gains_of(inputs)._asdict().items() if gain is not None}
    if "sides" in inputs:
        return {**inputs["sides"], "g": gains, **inputs["measured"]}
    s_vec, s_text = inputs["s_vec"], inputs["s_text"]
    fused = fuse(s_vec or 0.0, s_text or 0.0, inputs["weight"])
    return {"s_vec": s_vec, "s_text": s_text, "S": fused, "g": gains, **inputs["measured"]}
