"""One case of a run as reports show it: the verdict on its tries, its scores, what broke, expected beside actual."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scalepan.errors import shorten
from scalepan.evals.cases import Case, Output
from scalepan.evals.diagnose import SENTENCES
from scalepan.evals.report.pairs import expected_and_actual, page_diffs
from scalepan.evals.runs.file import run_header, run_rows
from scalepan.evals.runs.match import CaseMatch
from scalepan.evals.runs.row import StoredRow
from scalepan.evals.summary import RunSummary
from scalepan.evals.tries import CaseVerdict, case_verdict
from scalepan.redact import Redactor

MOST_CHARACTERS = 20_000
"""How much of one text a report shows."""


class ReportScore(NamedTuple):
    """One scorer's verdict."""

    name: str
    value: float | None
    threshold: float
    passed: bool | None
    reason: str


class ReportEntry(NamedTuple):
    """A case. Every text in it is redacted."""

    id: str
    title: str
    asked: str
    """What the agent was told."""
    group: str
    verdict: CaseVerdict
    passed: int
    """How many of its tries passed."""
    tries: int
    average: float | None
    scores: tuple[ReportScore, ...]
    """Of the try that is shown: the first that did not pass, else the first."""
    sentences: tuple[str, ...]
    """What broke."""
    pairs: tuple[tuple[str, str], ...]
    """Expected and actual."""
    diffs: tuple[tuple[str, str], ...]
    """Pages that were changed, and how."""
    duration_ms: float | None

    @property
    def why(self) -> str:
        """The first reason why it did not pass, in one line."""
        if self.sentences:
            return self.sentences[0]
        return next((score.reason for score in self.scores if score.passed is False and score.reason), "")


class RunReport:
    """A run file with its golden cases, to be written as reports. It is read from the file each time."""

    def __init__(self, path: Path, match: CaseMatch, redactor: Redactor) -> None:
        self.path, self._match, self._redactor = path, match, redactor
        self.header = run_header(path)
        self.repeats = self.header.repeats if self.header else 1
        self.needed = self.header.needed if self.header else 1

    def summary(self) -> RunSummary:
        """How the run went."""
        summary = RunSummary(self.repeats, self.needed)
        for row in run_rows(self.path):
            summary.add_stored(row)
        return summary

    def entries(self, detailed: Callable[[CaseVerdict], bool]) -> Iterator[ReportEntry]:
        """The cases in the order of the run, tries together; only those that `detailed` asks for have their texts."""
        tries: list[StoredRow] = []
        case: Case | None = None
        for row in run_rows(self.path):
            if tries and row.number in (None, 1):
                yield self._entry(tries, case, detailed)
                tries = []
            case = self._match.of(row)
            tries.append(row)
        if tries:
            yield self._entry(tries, case, detailed)

    def _entry(self, tries: list[StoredRow], case: Case | None, detailed: Callable[[CaseVerdict], bool]) -> ReportEntry:
        shown = next((row for row in tries if not row.passed), tries[0])
        passed = sum(row.passed for row in tries)
        failed = sum(row.is_measured and not row.passed for row in tries)
        output = shown.output or Output()
        verdict = case_verdict(passed, failed, self.repeats, self.needed)
        case = case if detailed(verdict) else None
        averages = [row.weighted_average for row in tries if row.weighted_average is not None]
        return ReportEntry(
            id=shown.id,
            title=self._safe(shorten(case.name or case.user_message, 300)) if case else "",
            asked=self._safe(case.user_message) if case else "",
            group=shown.group or "",
            verdict=verdict,
            passed=passed,
            tries=len(tries),
            average=sum(averages) / len(averages) if averages else None,
            scores=tuple(
                ReportScore(name, one.value, one.threshold, one.passed, one.reason)
                for name, one in shown.scores.items()
            ),
            sentences=tuple(_sentences(shown.diagnosis)),
            pairs=self._all_safe(expected_and_actual(case, output)) if case else (),
            diffs=self._all_safe(page_diffs(case, output)) if case and not output.error else (),
            duration_ms=output.duration_ms,
        )

    def _safe(self, text: str) -> str:
        return self._redactor.redact(text[:MOST_CHARACTERS]).text

    def _all_safe(self, pairs: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        return tuple((self._safe(one), self._safe(other)) for one, other in pairs)


def _sentences(diagnosis: dict[str, Any]) -> Iterator[str]:
    for key, found in diagnosis.items():
        if key == "golden_faults":
            yield from (f"The golden case may be at fault: {fault}." for fault in found)
            continue
        for cause in found.get("causes", []):
            place = f" ({cause['where']} of the document)" if cause.get("where") else ""
            name = cause.get("cause", "")
            yield f"{SENTENCES.get(name, name)}{place}: {cause.get('evidence', '')}."
