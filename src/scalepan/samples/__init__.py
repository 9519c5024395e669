"""Samples to try Scalepan on, English and Japanese, some bad on purpose: traces, golden cases, outputs, claims."""

from pathlib import Path

from scalepan.trace.model import ReasoningTrace

TRACES = Path(__file__).with_name("traces.jsonl")
CASES = Path(__file__).with_name("cases.yaml")
OUTPUTS = Path(__file__).with_name("outputs.jsonl")
CLAIMS = Path(__file__).with_name("claims.jsonl")
FACTORS = Path(__file__).with_name("factors.jsonl")
POLICY = Path(__file__).with_name("scalepan.yaml")
PROJECT = (TRACES, CASES, OUTPUTS, FACTORS, CLAIMS, POLICY, Path(__file__).with_name("README.md"))
"""What `scalepan init` writes."""
_EVALS = Path(__file__).with_name("evals")
SUITE = {
    **{name: _EVALS / name for name in ("cases.yaml", "outputs.jsonl", "scorers.py", "README.md")},
    ".github/workflows/evals.yml": _EVALS / "evals.yml",
}
"""What `scalepan init evals` writes, by the path in the new folder."""


def sample_trace() -> ReasoningTrace:
    """The first sample: an agent reconciles payments and recovers from three errors.

    >>> sample_trace().id
    'kp:trace:finance-0001'
    """
    with TRACES.open("rb") as file:
        return ReasoningTrace.from_json(file.readline())
