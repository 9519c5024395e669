"""Several tries of each case: does it pass often enough, how sure is the share, and which cases are flaky?"""

from collections import Counter
from enum import StrEnum

from scalepan.arguments import wrong

LISTED_FLAKY = 1000
"""How many flaky cases are listed; more are only counted."""


class CaseVerdict(StrEnum):
    """What is known about a case after its tries."""

    PASSED = "passed"
    FAILED = "failed"
    UNMEASURED = "unmeasured"


def case_verdict(passed: int, failed: int, repeats: int, needed: int) -> CaseVerdict:
    """Whether enough of the repeats pass, whatever those that were not measured would have been.

    >>> str(case_verdict(passed=4, failed=0, repeats=5, needed=4))
    'passed'
    >>> str(case_verdict(passed=3, failed=1, repeats=5, needed=4))
    'unmeasured'
    >>> str(case_verdict(passed=3, failed=2, repeats=5, needed=4))
    'failed'
    """
    if passed >= needed:
        return CaseVerdict.PASSED
    return CaseVerdict.FAILED if failed > repeats - needed else CaseVerdict.UNMEASURED


class RunTries:
    """Counts the tries of a run, which come case by case. Only the case that is being counted is held."""

    def __init__(self, repeats: int = 1, needed: int = 1) -> None:
        if repeats < 1:
            raise wrong("repeats", repeats, "at least 1")
        if not 1 <= needed <= repeats:
            raise wrong("needed", needed, f"from 1 to the number of repeats, {repeats}")
        self.repeats, self.needed = repeats, needed
        self._verdicts: Counter[CaseVerdict] = Counter()
        self.flaky_count = 0
        self.flaky: list[tuple[str, int, int]] = []
        """Cases of which some tries passed and some did not: id, how many passed, how many were measured."""
        self._chances: dict[str, float] = {}
        self._complete = 0
        self._id: str | None = None
        self._passed = self._unmeasured = self._tries = 0

    def add(self, case_id: str, number: int | None, *, passed: bool, measured: bool) -> None:
        """One more try; `number` counts those of a case from 1, and is None if there is one only."""
        # Not by the id: in a file that is resumed it may be redacted.
        if number is None or number == 1 or self._id is None:
            self._finish()
            self._id = case_id
        self._tries += 1
        self._passed += passed
        self._unmeasured += not measured

    @property
    def verdicts(self) -> Counter[CaseVerdict]:
        """How many cases passed, failed, or are not known."""
        self._finish()
        return self._verdicts

    @property
    def pass_at(self) -> dict[str, float]:
        """The chance that one of k tries passes (pass@k) and that all do (pass^k), over fully measured cases."""
        self._finish()
        if not self._complete:
            return {}
        return {name: total / self._complete for name, total in self._chances.items()}

    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 % for the share of the measured cases that pass."""
        from scalepan.stats.proportion import wilson

        verdicts = self.verdicts
        return wilson(verdicts[CaseVerdict.PASSED], verdicts.total() - verdicts[CaseVerdict.UNMEASURED])

    def bounds(self) -> tuple[float, float]:
        """The share that passes if every unmeasured case had failed, and if every one had passed."""
        verdicts = self.verdicts
        count, passed = verdicts.total(), verdicts[CaseVerdict.PASSED]
        if not count:
            return 0.0, 1.0
        return passed / count, (passed + verdicts[CaseVerdict.UNMEASURED]) / count

    def _finish(self) -> None:
        """The case that was counted has had its last try."""
        if self._id is None:
            return
        measured = self._tries - self._unmeasured
        self._verdicts[case_verdict(self._passed, measured - self._passed, self.repeats, self.needed)] += 1
        if 0 < self._passed < measured:
            self.flaky_count += 1
            if len(self.flaky) < LISTED_FLAKY:
                self.flaky.append((self._id, self._passed, measured))
        if self.repeats > 1 and measured == self.repeats:
            self._complete += 1
            for name, chance in _chances(self._passed, self.repeats).items():
                self._chances[name] = self._chances.get(name, 0.0) + chance
        self._id = None
        self._passed = self._unmeasured = self._tries = 0


def _chances(passed: int, tries: int) -> dict[str, float]:
    """What one user who tries k times can count on, for one try and for all of them."""
    from scalepan.stats.proportion import pass_all_k, pass_at_k

    return {
        "pass@1": pass_at_k(passed, tries, 1) or 0.0,
        f"pass@{tries}": pass_at_k(passed, tries, tries) or 0.0,
        f"pass^{tries}": pass_all_k(passed, tries, tries) or 0.0,
    }
