"""One judged output as a row of a run: for the terminal, for `--json`, and as a run file keeps it."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from scalepan.check import resolved
from scalepan.evals.cases import Case, Output
from scalepan.evals.diagnose import Diagnosis
from scalepan.evals.result import ScorerResult, is_measured
from scalepan.evals.run import CaseResult
from scalepan.evals.runs.column import ScorerColumn
from scalepan.evals.runs.digest import digest
from scalepan.score import Status


class CaseRow(NamedTuple):
    """A case that was judged, and, where it did not pass, what broke."""

    case: Case
    output: Output
    result: CaseResult
    diagnosis: Diagnosis | None
    number: int | None = None
    """Which try it is, from 1, if there are several."""

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        told = self.result.to_dict()
        if self.number is not None:
            told = {"id": told.pop("id"), "try": self.number, **told}
        return told if self.diagnosis is None else {**told, "diagnosis": self.diagnosis.to_dict()}

    def to_stored(self, columns: Iterable[ScorerColumn]) -> dict[str, Any]:
        """As a run file keeps it: also the output, and what is needed to score it again."""
        told = self.to_dict()
        return stored(told, self.case, self.output, self.result.results, columns)


def stored(
    told: dict[str, Any],
    case: Case,
    output: Output,
    results: Iterable[ScorerResult],
    columns: Iterable[ScorerColumn],
) -> dict[str, Any]:
    """A row with the scorers' identities, the group, the output, and digests of what was asked and expected."""
    for score, result, column in zip(told["scores"].values(), results, columns, strict=True):
        score |= {"weight": result.weight, **msgspec.structs.asdict(column)}
    if case.group is not None:
        told["group"] = case.group
    told["output"] = msgspec.to_builtins(msgspec.structs.replace(output, id=""), enc_hook=str)
    return told | {"input": input_digest(case), "expected": digest(case.expected)}


def input_digest(case: Case) -> str:
    """A digest of what the task is given: if it changes, the output is an answer to another question."""
    return digest(msgspec.structs.replace(case.without_answer(), tags=[], group=None, name=""))


class StoredScore(msgspec.Struct, kw_only=True):
    """One scorer's number in a row. Files of earlier versions lack the scorer's identity."""

    value: float | None = None
    status: Status = "ok"
    threshold: float = 0.0
    passed: bool | None = None
    details: Any = None
    reason: str = ""
    weight: float = 1.0
    scorer: str = ""
    version: str = ""
    options: str = ""

    def as_result(self, name: str) -> ScorerResult:
        """As the scorer gave it, except that details are plain data."""
        return ScorerResult(
            type=self.scorer or name.partition("#")[0],
            score=self.value,
            threshold=self.threshold,
            weight=self.weight,
            status=self.status,
            reason=self.reason,
            details=self.details,
        )


class StoredRow(msgspec.Struct, kw_only=True):
    """A row as it is read from a run file; a golden case is not one."""

    id: str
    passed: bool
    scores: dict[str, StoredScore]
    number: int | None = msgspec.field(default=None, name="try")
    group: str | None = None
    output: Output | None = None
    """None in files of earlier versions."""
    input: str = ""
    expected: str = ""
    weighted_average: float | None = None
    diagnosis: dict[str, Any] = msgspec.field(default_factory=dict)

    def results(self) -> list[ScorerResult]:
        """The verdicts, by scorer."""
        return [score.as_result(name) for name, score in self.scores.items()]

    @property
    def is_measured(self) -> bool:
        """Whether it is known if the case passes."""
        return bool(self.scores) and is_measured(self.passed, self.results())


resolved(StoredRow)
