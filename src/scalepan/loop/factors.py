"""Factors of confidence from the result of another question: from a trace, from a recall."""

from collections.abc import Sequence

from scalepan.confidence import ConfidenceFactors
from scalepan.loop.steps import has_failed
from scalepan.memory import Recall
from scalepan.trace import ReasoningTrace


def factors_from_trace(trace: ReasoningTrace, *, query_coverage: float = 0.0) -> ConfidenceFactors:
    """How sure an agent may be of a trace's outcome, by its tool calls, observations and stated confidence.

    A tool call failed if it says so, or if an error recovery comes before the next one. Observations are the sources.

    >>> from scalepan.samples import sample_trace
    >>> factors = factors_from_trace(sample_trace())
    >>> factors.tool_execution_count, factors.tool_success_count
    (6, 3)
    """
    outcomes: list[bool] = []
    observed = told = 0
    for step in trace.steps:
        if step.type == "tool_call":
            outcomes.append(not has_failed(step))
            told += has_failed(step)
        elif step.type == "error_recovery" and told:
            told -= 1  # it belongs to a failure that is already counted
        elif step.type == "error_recovery" and outcomes:
            outcomes[-1] = False
        elif step.type == "observation":
            observed += 1
    return ConfidenceFactors.from_steps(
        None,
        outcomes,
        range(observed),
        llm_self_confidence=trace.outcome.confidence if trace.outcome.confidence is not None else 0.5,
        query_coverage=query_coverage,
    )


def factors_from_recall(
    found: Recall, tool_calls: Sequence[bool] = (), *, llm_self_confidence: float = 0.5, query_coverage: float = 0.0
) -> ConfidenceFactors:
    """How sure an agent may be of an answer based on recalled claims: they are the search results and the sources."""
    scores = [one.strength for one in found.claims if not one.below_threshold]
    return ConfidenceFactors.from_steps(
        scores,
        tool_calls,
        scores,
        llm_self_confidence=llm_self_confidence,
        query_coverage=query_coverage,
        is_search_step=False,
    )
