"""Score a run again: only the columns whose scorer, options or expectation changed, from the outputs in the file."""

import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from scalepan.errors import InputError, quoted
from scalepan.evals.cases import Case, Output
from scalepan.evals.diagnose import diagnose, key_of
from scalepan.evals.load import CaseFile
from scalepan.evals.registry import Bound
from scalepan.evals.result import ScorerResult
from scalepan.evals.run import CaseResult, Evaluator, free_names, judge_one, unmeasured
from scalepan.evals.runs.column import Columns, ScorerColumn
from scalepan.evals.runs.digest import digest
from scalepan.evals.runs.file import run_header, run_rows
from scalepan.evals.runs.header import RunHeader, make_header
from scalepan.evals.runs.match import CaseMatch
from scalepan.evals.runs.redaction import redacted_json
from scalepan.evals.runs.row import StoredRow, StoredScore, input_digest, stored
from scalepan.redact import Redactor

ASKED_DIFFERENTLY = "what is asked has changed since the run, so its output answers another question; run it again"


class RescoredRow(NamedTuple):
    """A row after its changed columns were scored again."""

    before: StoredRow
    result: CaseResult
    line: bytes
    scored: int
    """How many of its columns were scored again; the others were taken over."""


class Rescore:
    """A run file, the golden cases and the scorers of today."""

    def __init__(self, path: Path, cases: CaseFile, evaluator: Evaluator, redactor: Redactor) -> None:
        self.path, self._evaluator, self._redactor = path, evaluator, redactor
        self._cases_file = cases.path
        self._columns = Columns(evaluator.policy)
        self._match = CaseMatch(cases, redactor)

    def header(self) -> RunHeader:
        """The header of the file that is written: what stays as it was is the run, what is new are the scorers."""
        made = make_header(self._cases_file, self._evaluator.bound, self._evaluator.policy, self._redactor)
        found = run_header(self.path)
        if found is None:
            return made
        return msgspec.structs.replace(
            found, scalepan=made.scalepan, policy=made.policy, cases=made.cases, data=made.data, scorers=made.scorers
        )

    def rows(self) -> Iterator[RescoredRow]:
        """Every row of the run, in its order."""
        for row in run_rows(self.path):
            yield self._again(row, self._case_of(row))

    def _case_of(self, row: StoredRow) -> Case:
        case = self._match.of(row)
        if case is None:
            raise InputError(
                f"case {quoted(row.id)} is not in {self._cases_file}; name the cases of this run", file=str(self.path)
            )
        return case

    def _again(self, row: StoredRow, case: Case) -> RescoredRow:
        if row.output is None:
            raise InputError("has no outputs: an earlier version wrote it; run it again", file=str(self.path))
        output = row.output
        context = self._evaluator.context_of(case, output)
        bound = self._evaluator.bound_for(case)
        columns = [self._columns.of(one) for one in bound]
        is_same = row.expected == digest(case.expected)
        asked_differently = row.input != input_digest(case)
        results, fresh = [], []
        for name, one, column in zip(free_names(one.type for one in bound), bound, columns, strict=True):
            old = row.scores.get(name)
            if asked_differently:
                result = unmeasured(one, "failed", ASKED_DIFFERENTLY)
            elif old is not None and is_same and _still_holds(old, column, output):
                results.append(_taken_over(old, name, one))
                continue
            else:
                result = judge_one(one, case, output, context)
            results.append(result)
            fresh.append(result)
        verdict = self._evaluator.verdict(row.id, tuple(results), output.duration_ms)
        told = verdict.to_dict()
        if row.number is not None:
            told = {"id": told.pop("id"), "try": row.number, **told}
        if not verdict.passed:
            told["diagnosis"] = self._diagnosis(row, case, output, verdict, fresh)
        line = redacted_json(stored(told, case, row.output, results, columns), self._redactor) + b"\n"
        return RescoredRow(row, verdict, line, len(fresh))

    def _diagnosis(
        self, row: StoredRow, case: Case, output: Output, result: CaseResult, fresh: list[ScorerResult]
    ) -> dict[str, Any]:
        """What broke: found anew where a column was scored again, and as it was where not."""
        new_ids = set(map(id, fresh))
        kept = {
            key: row.diagnosis[key]
            for one in result.results
            if id(one) not in new_ids and one.passed is False and (key := key_of(one.type)) in row.diagnosis
        }
        new = tuple(one for one in result.results if id(one) in new_ids or key_of(one.type) not in kept)
        found = diagnose(case, output, msgspec.structs.replace(result, results=new), self._evaluator.policy.evals)
        return {**kept, **found.to_dict()}


def _still_holds(old: StoredScore, column: ScorerColumn, output: Output) -> bool:
    """Whether a number can be taken over. A scorer that failed is tried again; a task that failed is not called."""
    same = column.holds(ScorerColumn(old.scorer, old.version, old.options))
    return same and (old.status != "failed" or bool(output.error))


def _taken_over(old: StoredScore, name: str, one: Bound) -> ScorerResult:
    return msgspec.structs.replace(old.as_result(name), threshold=one.threshold, weight=one.weight)


def write_rescored(rescore: Rescore, out: Path) -> Generator[RescoredRow, None, None]:
    """The rows as they are written. The file appears when all are; until then the old one stays as it was."""
    handle, draft = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")  # for its owner alone
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(rescore.header().line())
            for row in rescore.rows():
                file.write(row.line)
                yield row
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, out)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
