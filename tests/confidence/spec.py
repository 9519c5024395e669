"""The documents' own arithmetic of confidence in plain Python, and factors to try it with."""

from typing import Any

from hypothesis import strategies as st

from scalepan.confidence.calculator import ConfidenceCalculator
from scalepan.confidence.factors import ConfidenceFactors
from scalepan.confidence.formula import ConfidenceScore
from tests.law import assert_law

KEYS = {"search_quality", "source_agreement", "llm_self_eval", "tool_success", "query_coverage"}
NOTHING, FAILED, UNSOURCED = "no_search_results", "tool_failures(rate=0.50)", "no_sources"


def score(**factors: Any) -> ConfidenceScore:
    """Under the built-in constants. The law holds for every score that this file makes."""
    found = ConfidenceCalculator().calculate(ConfidenceFactors(**factors))
    assert_law(found)
    return found


def found(**factors: Any) -> dict[str, Any]:
    """Factors of a search step that found something, which does without sources."""
    return {"is_search_step": True, "search_result_count": 3, **factors}


SHARES = st.floats(0, 1) | st.sampled_from([0.0, 0.1, 0.5, 0.6, 0.8, 1.0])
COUNTS = st.integers(0, 3) | st.integers(0, 10**6)


@st.composite
def some_factors(draw: st.DrawFn) -> ConfidenceFactors:
    runs = draw(COUNTS)
    return ConfidenceFactors(
        search_result_count=draw(COUNTS),
        search_avg_score=draw(SHARES),
        search_max_score=draw(SHARES),
        search_score_variance=draw(st.floats(0, 1) | st.floats(0, 1e308)),
        source_agreement=draw(SHARES),
        source_count=draw(COUNTS),
        llm_self_confidence=draw(SHARES),
        tool_success_rate=draw(SHARES),
        tool_execution_count=runs,
        tool_success_count=draw(st.integers(0, runs)),
        query_coverage=draw(SHARES),
        is_search_step=draw(st.booleans()),
    )


def value_of(f: ConfidenceFactors) -> float:
    """Contract confidence.3 to confidence.9 in plain Python, in its order."""
    if f.search_result_count == 0 and f.search_max_score == 0:
        quality = 0.0
    elif f.search_max_score >= 0.6:
        quality = f.search_max_score
    else:
        quality = 0.7 * f.search_max_score + 0.3 * f.search_avg_score - min(0.15, 0.3 * f.search_score_variance)
        quality = max(quality, 0.0)
    tools = f.tool_success_count / f.tool_execution_count if f.tool_execution_count else f.tool_success_rate
    if f.is_search_step:
        at = quality * tools if tools < 1 else quality
    else:
        total = weight = 0.0
        if quality > 0:
            total, weight = total + 0.6 * quality, weight + 0.6
        total, weight = total + 0.4 * tools, weight + 0.4
        if f.source_count > 1:
            total, weight = total + 0.2 * f.source_agreement, weight + 0.2
        if f.llm_self_confidence > 0.6:
            total, weight = total + 0.3 * f.llm_self_confidence, weight + 0.3
        if f.query_coverage > 0.1:
            total, weight = total + 0.1 * f.query_coverage, weight + 0.1
        at = total / weight
    if f.is_search_step and f.search_result_count == 0:
        at *= 0.5
    if f.tool_success_rate < 1:
        at *= 0.8 + 0.2 * f.tool_success_rate
    waived = f.search_result_count > 0 if f.is_search_step else f.llm_self_confidence >= 0.8
    if f.source_count == 0 and not waived:
        at *= 0.7
    return round(max(0.0, min(1.0, at)), 3)
