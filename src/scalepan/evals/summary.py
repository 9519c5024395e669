"""The summary of a run: how each scorer did, what failed, and why, grouped."""

from collections.abc import Iterable, Sequence

from scalepan.evals.diagnose import Cause, Diagnosis
from scalepan.evals.result import ScorerResult
from scalepan.evals.run import CaseResult, free_names
from scalepan.evals.runs.row import StoredRow
from scalepan.evals.tries import CaseVerdict, RunTries

KEPT_CAUSES = 10_000
"""How many causes are held for grouping; beyond that only counts grow, so memory does not grow with the run."""


class ScorerSummary:
    """How one scorer did over a run."""

    def __init__(self) -> None:
        self.passed = self.low = self.failed = self.not_applicable = 0
        self.total = 0.0

    @property
    def measured(self) -> int:
        """How many outputs it gave a number."""
        return self.passed + self.low

    @property
    def mean(self) -> float | None:
        """The mean of the scores that were measured; None if none was."""
        return self.total / self.measured if self.measured else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The mean if every failed one were 0, and if every one were 1; None if nothing was to be measured."""
        count = self.measured + self.failed
        return (self.total / count, (self.total + self.failed) / count) if count else None


class RunSummary:
    """Counts that grow with each result; the results themselves are not held. A case is counted after its last try."""

    def __init__(self, repeats: int = 1, needed: int = 1) -> None:
        self.tries = RunTries(repeats, needed)
        self.scorers: dict[str, ScorerSummary] = {}
        self.failures: list[str] = []
        self.causes: list[Cause] = []
        self.golden_faults: dict[str, Sequence[str]] = {}

    def add(self, result: CaseResult, diagnosis: Diagnosis | None, number: int | None = None) -> None:
        """Add one result, with the diagnosis if the case did not pass, and the number of the try."""
        self.tries.add(result.id, number, passed=result.passed, measured=result.is_measured)
        self._count(free_names(one.type for one in result.results), result.results)
        if diagnosis is not None and len(self.causes) < KEPT_CAUSES:
            if self.failures[-1:] != [result.id]:
                self.failures.append(result.id)
            self.causes += diagnosis.causes
            if diagnosis.golden_faults:
                self.golden_faults[result.id] = diagnosis.golden_faults

    def add_stored(self, row: StoredRow) -> None:
        """Add a result of an earlier part of the run. It counts; why it failed is in its row."""
        self.tries.add(row.id, row.number, passed=row.passed, measured=row.is_measured)
        self._count(row.scores, row.results())

    def _count(self, names: Iterable[str], results: Sequence[ScorerResult]) -> None:
        for name, one in zip(names, results, strict=True):
            scorer = self.scorers.setdefault(name, ScorerSummary())
            if one.status == "not_applicable":
                scorer.not_applicable += 1
            elif one.score is None:
                scorer.failed += 1
            else:
                scorer.total += one.score
                scorer.passed += one.score >= one.threshold
                scorer.low += one.score < one.threshold

    def count(self, verdict: CaseVerdict) -> int:
        """How many cases have this verdict."""
        return self.tries.verdicts[verdict]

    @property
    def passed(self) -> int:
        """Cases that passed."""
        return self.count(CaseVerdict.PASSED)

    @property
    def cases(self) -> int:
        """All cases."""
        return self.tries.verdicts.total()

    @property
    def measured(self) -> int:
        """Cases of which it is known whether they passed."""
        return self.cases - self.count(CaseVerdict.UNMEASURED)

    def is_green(self, *, allow_unmeasured: bool = False) -> bool:
        """Whether no case failed and all were measured; or, if the user allows it, at least one."""
        if self.count(CaseVerdict.FAILED):
            return False
        return self.measured > 0 if allow_unmeasured else self.measured == self.cases
