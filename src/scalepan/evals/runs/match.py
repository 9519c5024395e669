"""Which golden case does a row of a run belong to? Ids in a run are redacted, so several may look alike."""

from collections import deque
from collections.abc import Iterable

from scalepan.evals.cases import Case
from scalepan.evals.runs.row import StoredRow
from scalepan.redact import Redactor


class CaseMatch:
    """Golden cases by their redacted ids. Those that look alike are told apart by the order of the file."""

    def __init__(self, cases: Iterable[Case], redactor: Redactor) -> None:
        self._cases: dict[str, deque[Case]] = {}
        for case in cases:
            self._cases.setdefault(redactor.redact(case.id).text, deque()).append(case)

    def of(self, row: StoredRow) -> Case | None:
        """The case of a row, if there is one. Ask once per row, in order."""
        waiting = self._cases.get(row.id)
        if waiting is None:
            return None
        if row.number in (None, 1):
            waiting.rotate(-1)
        return waiting[-1]
