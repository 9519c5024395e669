"""The formulas of recall: normalize, fuse, rerank (contract memory.14 to memory.36). Pure functions."""

from collections.abc import Mapping, Sequence
from math import ceil, exp
from typing import NamedTuple

from scalepan.errors import counted
from scalepan.memory.halflife import recency as recency
from scalepan.policy.evidence import EvidenceWeights
from scalepan.policy.retrieval import Normalize, Rerank, Retrieval
from scalepan.score import Part, Rule, Score
from scalepan.text import has_fragment, word_count

DEFAULT_NORMALIZE = Normalize()
DEFAULT_RERANK = Rerank()


def norm_cos(sim: float) -> float:
    """Cosine similarity, -1 to 1, as a score from 0 to 1.

    >>> norm_cos(-1.0), norm_cos(0.0), norm_cos(1.0)
    (0.0, 0.5, 1.0)
    """
    # Rounding makes the cosine of a vector with itself 1.0000001.
    return min(max((sim + 1) / 2, 0.0), 1.0)


def norm_bm25(scores: Sequence[float], policy: Normalize = DEFAULT_NORMALIZE) -> list[float]:
    """BM25 scores of all candidates, min-max; where all are equal each is 1, or 0 by `minmax_tie: zero`.

    >>> norm_bm25([2.0, 5.0, 8.0])
    [0.0, 0.5, 1.0]
    >>> norm_bm25([3.0])
    [1.0]
    """
    if not scores:
        return []
    low, high = min(scores), max(scores)
    # Sums of the same numbers in another order differ in their last digit, and are equal all the same.
    if high - low < policy.epsilon and policy.minmax_tie == "one":
        return [1.0] * len(scores)
    span = max(high - low, policy.epsilon)
    return [(score - low) / span for score in scores]


def norm_rank(rank: int) -> float:
    """A rank, counted from 1, as a score: for ILIKE, which finds but does not weigh.

    >>> norm_rank(1), norm_rank(3)
    (0.5, 0.25)
    """
    return 1 / (1 + rank)


def fuse(s_vec: float, s_text: float, alpha: float) -> float:
    """S: meaning and words in one number.

    >>> round(fuse(0.91, 0.55, 0.65), 3)
    0.784
    """
    return alpha * s_vec + (1 - alpha) * s_text


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), for any x.

    >>> sigmoid(0.0), sigmoid(-1000.0)
    (0.5, 0.0)
    """
    return 1 / (1 + exp(-x)) if x > -700 else 0.0


def linear_utility(utility: float) -> float:
    """What stands in for sigma(z) where the population has no spread: utility, -1 to 1, as 0 to 1.

    >>> linear_utility(0.0), linear_utility(-1.0)
    (0.5, 0.0)
    """
    return min(max((utility + 1) / 2, 0.0), 1.0)


def g(
    utility_z: float,
    confidence: float,
    recency: float,
    quality: float | None = None,
    policy: Rerank = DEFAULT_RERANK,
) -> float:
    """The coefficient of reranking: how use, certainty, age and, if given, quality scale relevance.

    >>> round(g(0.0, 0.5, 1.0), 6)
    0.6
    >>> round(g(0.0, 0.5, 1.0, quality=0.5), 6)
    0.45
    """
    product = 1.0
    for _, factor in g_factors(Gains(sigmoid(utility_z), confidence, recency, quality), policy):
        product *= factor
    return product


class Gains(NamedTuple):
    """What g is made of, each from 0 to 1: the breakdown `util`, `conf`, `rec`."""

    util: float
    conf: float
    rec: float
    qual: float | None = None
    """None where quality does not count."""


def g_factors(gains: Gains, policy: Rerank = DEFAULT_RERANK) -> list[tuple[str, float]]:
    """The factors of g by name, in the contract's order."""
    factors = [
        ("utility", policy.utility.scale(gains.util)),
        ("confidence", policy.confidence.scale(gains.conf)),
        ("recency", policy.recency.scale(gains.rec)),
    ]
    if gains.qual is not None:
        factors.append(("quality", policy.quality.scale(gains.qual)))
    return factors


def score_final(s_vec: Part, s_text: Part, gains: Gains, policy: Rerank, version: str) -> Score:
    """The number of a claim: the two sides fused, then scaled by use, certainty, age and, if it counts, quality.

    >>> sides = Part("s_vec", 0.91, 0.65), Part("s_text", 0.55, 0.35)
    >>> round(score_final(*sides, Gains(0.5, 0.5, 1.0), Rerank(), ""), 6)
    0.4704
    """
    base = at = fuse(s_vec.value, s_text.value, s_vec.weight)
    rules = []
    # Without quality there is one factor fewer than gains.
    for (name, factor), gain in zip(g_factors(gains, policy), gains, strict=False):
        if at * factor != at:  # what changes nothing is no rule
            rules.append(Rule(name, at, at * factor, f"x {factor:.3f}, {name} {gain:.3f}"))
        at *= factor
    return Score("score_final", at, parts=(s_vec, s_text), base=base, rules=tuple(rules), policy=version)


def score_best(
    observed: Mapping[str, float], weights: EvidenceWeights, gains: Gains, policy: Rerank, version: str
) -> Score:
    """The number of a claim by all evidence: observations by their weights, made a probability, then scaled as ever.

    Weights of a Score add up to 1, so those of the policy are divided by their sum, which the curve multiplies by.

    >>> weights = EvidenceWeights(bias=-3.0, coverage=2.0, speaker=2.0)
    >>> score_best({"coverage": 0.5, "speaker": 1.0}, weights, Gains(1.0, 1.0, 1.0), Rerank(), "").base
    0.75
    """
    worth = {name: worth for name in weights.__struct_fields__ if name != "bias" and (worth := getattr(weights, name))}
    seen = {name: worth[name] for name in worth if name in observed}
    total = 0.0
    for weight in seen.values():
        total += weight
    parts = tuple(Part(name, observed[name], weight / total) for name, weight in seen.items())
    base = 0.0
    for part in parts:
        base += part.adds
    at = sigmoid(weights.bias + total * base)
    rules = (
        [Rule("curve", base, at, f"1 / (1 + exp(-({weights.bias:.2f} + {total:.2f} x base)))")] if at != base else []
    )
    for (name, factor), gain in zip(g_factors(gains, policy), gains, strict=False):
        if at * factor != at:
            rules.append(Rule(name, at, at * factor, f"x {factor:.3f}, {name} {gain:.3f}"))
        at *= factor
    return Score("score_final", at, parts=parts, base=base, rules=tuple(rules), policy=version)


class Parameters(NamedTuple):
    """What one recall works with, and why."""

    alpha: float
    why_alpha: str
    k_txt: int
    k_vec: int
    k_final: int


def parameters(query: str, policy: Retrieval, alpha: float | None = None, k: int | None = None) -> Parameters:
    """Alpha and k for a query: set by the call, the query or the policy (contract memory.24 to memory.26).

    >>> parameters("billing", Retrieval())
    Parameters(alpha=0.4, why_alpha='at most 2 words', k_txt=48, k_vec=96, k_final=12)
    >>> parameters("how is a plan cancelled", Retrieval(), k=3)[2:]
    (12, 24, 3)
    """
    chosen, why = (alpha, "by the call") if alpha is not None else _alpha(query, policy)
    hybrid = policy.hybrid
    k_final = k if k is not None else hybrid.k_final
    # Four and eight times k_final in the built-in policy; a call with another k keeps the proportion.
    k_txt, k_vec = (ceil(side * k_final / hybrid.k_final) for side in (hybrid.k_txt, hybrid.k_vec))
    return Parameters(chosen, why, k_txt, k_vec, k_final)


def _alpha(query: str, policy: Retrieval) -> tuple[float, str]:
    dynamic = policy.dynamic
    if dynamic.alpha:
        if has_fragment(query):
            return dynamic.lexical_alpha, "a piece of code, a quote or a URL"
        words = word_count(query, policy.morphology)
        if words <= dynamic.lexical_terms:
            return dynamic.lexical_alpha, f"at most {counted(dynamic.lexical_terms, 'word')}"
        if words >= dynamic.semantic_terms:
            return dynamic.semantic_alpha, f"{counted(dynamic.semantic_terms, 'word')} or more"
    return policy.hybrid.alpha, "by the policy"
