"""Traces to try Karat on: ten domains of agent work, English and Japanese, some bad on purpose."""

from pathlib import Path

from karat.trace.model import ReasoningTrace

TRACES = Path(__file__).with_name("traces.jsonl")


def sample_trace() -> ReasoningTrace:
    """The first sample: an agent reconciles payments and recovers from three errors.

    >>> sample_trace().id
    'kp:trace:finance-0001'
    """
    with TRACES.open("rb") as file:
        return ReasoningTrace.from_json(file.readline())
