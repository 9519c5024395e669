"""The formula: factors to a number, every change to it named (contract confidence.3 to confidence.11)."""

import msgspec

from scalepan.confidence.factors import ConfidenceFactors
from scalepan.errors import counted
from scalepan.policy.confidence import Confidence
from scalepan.score import Part, Rule, Score, Source

DEFAULTS = Confidence()
NO_VARIANCE = ConfidenceFactors().search_score_variance


class ConfidenceScore(Score, frozen=True):
    """How sure the agent may be, and why."""

    breakdown: dict[str, float] = msgspec.field(default_factory=dict)
    penalties: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    """What it rests on beside the agent's own word: `search`, `tools`, `sources`."""


def search_quality(factors: ConfidenceFactors, policy: Confidence = DEFAULTS) -> float:
    """What the search results alone are worth.

    >>> search_quality(ConfidenceFactors(search_result_count=3, search_max_score=0.8))
    0.8
    """
    constants = policy.search_quality
    best = factors.search_max_score
    if factors.search_result_count == 0 and best == 0:
        return 0.0
    if best >= constants.good_max:
        return best
    spread = min(constants.variance_limit, constants.variance_factor * factors.search_score_variance)
    return max(0.0, constants.max_weight * best + constants.avg_weight * factors.search_avg_score - spread)


def tool_success(factors: ConfidenceFactors) -> float:
    """Successes over executions where tools ran, else the rate that was given."""
    if factors.tool_execution_count > 0:
        return factors.tool_success_count / factors.tool_execution_count
    return factors.tool_success_rate


def confidence(factors: ConfidenceFactors, policy: Confidence = DEFAULTS, version: str = "") -> ConfidenceScore:
    """The score of one step, with its parts, rules and penalties."""
    quality, tools = search_quality(factors, policy), tool_success(factors)
    if factors.is_search_step:
        parts: tuple[Part, ...] = (Part("search_quality", quality, 1.0, *_searched(factors, policy)),)
        base = quality
    else:
        parts, base = _weighted(factors, quality, tools, policy)
    chain = _Chain(base)
    if factors.is_search_step and tools < 1.0:
        chain.times("tool_success", tools, f"x {tools:g}, of a search step")
    penalties = [chain.times(name, factor, f"x {factor:g}") for name, factor in penalties_of(factors, policy)]
    chain.to("clamp", min(max(chain.at, 0.0), 1.0), "between 0 and 1")
    chain.to("round", round(chain.at, policy.places), f"to {counted(policy.places, 'place')}")
    language_model = 0.0 if factors.is_search_step else 1.0
    return ConfidenceScore(
        "confidence",
        chain.at,
        parts=parts,
        base=base,
        rules=tuple(chain.rules),
        details=policy.calibration,
        policy=version,
        breakdown={
            "search_quality": quality,
            "source_agreement": factors.source_agreement,
            "llm_self_eval": factors.llm_self_confidence * language_model,
            "tool_success": tools,
            "query_coverage": factors.query_coverage * language_model,
        },
        penalties=tuple(penalties),
        evidence=evidence_in(factors, quality),
    )


def evidence_in(factors: ConfidenceFactors, quality: float) -> tuple[str, ...]:
    """What was found, done or cited, beside what a model says of itself. A search of no quality found nothing.

    >>> evidence_in(ConfidenceFactors(search_result_count=3), 0.0), evidence_in(ConfidenceFactors(source_count=1), 0.0)
    ((), ('sources',))
    """
    found = (
        ("search", factors.search_result_count > 0 and quality > 0),
        ("tools", factors.tool_success_count > 0),
        ("sources", factors.source_count > 0),
    )
    return tuple(name for name, there in found if there)


def _weighted(
    factors: ConfidenceFactors, quality: float, tools: float, policy: Confidence
) -> tuple[tuple[Part, ...], float]:
    """The weighted mean of the factors that apply, in the contract's order."""
    weights, applies = policy.weights, policy.applies
    measured: Source = "measured"
    rows = [
        ("search_quality", quality, weights.search_quality, quality > 0, _searched(factors, policy)),
        ("tool_success", tools, weights.tool_success, True, _called(factors)),
        (
            "source_agreement",
            factors.source_agreement,
            weights.source_agreement,
            factors.source_count > 1,
            (measured, counted(factors.source_count, "source")),
        ),
        (
            "llm_self_eval",
            factors.llm_self_confidence,
            weights.llm_self_eval,
            factors.llm_self_confidence > applies.llm_self_eval,
            (measured, ""),
        ),
        (
            "query_coverage",
            factors.query_coverage,
            weights.query_coverage,
            factors.query_coverage > applies.query_coverage,
            (measured, ""),
        ),
    ]
    total = weight = 0.0
    for _, value, share, holds, _ in rows:
        if holds:
            total += value * share
            weight += share
    parts = tuple(Part(name, value, share / weight, *origin) for name, value, share, holds, origin in rows if holds)
    return parts, total / weight


def penalties_of(factors: ConfidenceFactors, policy: Confidence) -> list[tuple[str, float]]:
    """The penalties that apply, by name, each a factor, in the contract's order."""
    constants = policy.penalties
    found = []
    if factors.is_search_step and factors.search_result_count == 0:
        found.append(("no_search_results", constants.no_search_results))
    rate = factors.tool_success_rate
    if rate < 1.0:
        factor = constants.tool_failures_floor + constants.tool_failures_span * rate
        found.append((f"tool_failures(rate={rate:.2f})", factor))
    if factors.source_count == 0 and not _does_without_sources(factors, policy):
        found.append(("no_sources", constants.no_sources))
    return found


def _does_without_sources(factors: ConfidenceFactors, policy: Confidence) -> bool:
    if factors.is_search_step:
        return factors.search_result_count > 0
    return factors.llm_self_confidence >= policy.penalties.sources_waived


class _Chain:
    """A number and the rules that changed it; what changes nothing is no rule."""

    def __init__(self, at: float) -> None:
        self.at = at
        self.rules: list[Rule] = []

    def to(self, name: str, after: float, note: str) -> str:
        if after != self.at:
            self.rules.append(Rule(name, self.at, after, note))
            self.at = after
        return name

    def times(self, name: str, factor: float, note: str) -> str:
        return self.to(name, self.at * factor, note)


def _searched(factors: ConfidenceFactors, policy: Confidence) -> tuple[Source, str]:
    """Where search quality comes from. Below `good_max` the variance counts, and 1.0 stands for one not given.

    Scores from 0 to 1 have no variance above 0.25, so no search ever measured 1.0.
    """
    note = f"{counted(factors.search_result_count, 'result')}, the best {factors.search_max_score:g}"
    mixed = 0 < factors.search_max_score < policy.search_quality.good_max
    if mixed and factors.search_score_variance == NO_VARIANCE:
        return "default", f"{note}; the variance was not given, and counts as {NO_VARIANCE:g}"
    return "measured", note


def _called(factors: ConfidenceFactors) -> tuple[Source, str]:
    if factors.tool_execution_count:
        return "measured", f"{factors.tool_success_count} of {counted(factors.tool_execution_count, 'call')}"
    if factors.tool_success_rate == 1:
        return "default", "no tool was called"
    return "measured", f"a rate of {factors.tool_success_rate:g}"
