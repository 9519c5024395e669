"""The summary of a run: how each scorer did, what failed, and why, grouped."""

from collections.abc import Iterable, Sequence

from scalepan.evals.diagnose import Cause, Diagnosis
from scalepan.evals.run import CaseResult

KEPT_CAUSES = 10_000
"""How many causes are held for grouping; beyond that only counts grow, so memory does not grow with the run."""


class ScorerSummary:
    """How one scorer did over a run."""

    def __init__(self) -> None:
        self.passed = self.low = self.failed = self.not_applicable = 0
        self.total = 0.0

    @property
    def mean(self) -> float | None:
        """The mean of the scores that were measured; None if none was."""
        measured = self.passed + self.low
        return self.total / measured if measured else None


class RunSummary:
    """Counts that grow with each result; the results themselves are not held."""

    def __init__(self) -> None:
        self.count = 0
        self.passed = 0
        self.scorers: dict[str, ScorerSummary] = {}
        self.failures: list[str] = []
        self.causes: list[Cause] = []
        self.golden_faults: dict[str, Sequence[str]] = {}

    def add_earlier(self, passed: Iterable[bool]) -> None:
        """Results of an earlier part of the same run: they count, though why they failed is no longer known."""
        for one in passed:
            self.count += 1
            self.passed += one

    def add(self, result: CaseResult, diagnosis: Diagnosis | None) -> None:
        """Add one result, with the diagnosis if the case did not pass."""
        self.count += 1
        self.passed += result.passed
        for one in result.results:
            scorer = self.scorers.setdefault(one.type, ScorerSummary())
            if one.status == "not_applicable":
                scorer.not_applicable += 1
            elif one.score is None:
                scorer.failed += 1
            else:
                scorer.total += one.score
                scorer.passed += one.score >= one.threshold
                scorer.low += one.score < one.threshold
        if diagnosis is not None and len(self.causes) < KEPT_CAUSES:
            self.failures.append(result.id)
            self.causes += diagnosis.causes
            if diagnosis.golden_faults:
                self.golden_faults[result.id] = diagnosis.golden_faults
