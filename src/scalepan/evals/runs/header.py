"""The first line of a run file: when it was made, from which data, and by which scorers."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

import scalepan
from scalepan import clock
from scalepan.check import resolved
from scalepan.evals.registry import Bound
from scalepan.evals.run import free_names
from scalepan.evals.runs.column import Columns
from scalepan.evals.runs.digest import file_digest
from scalepan.evals.runs.git import git_revision
from scalepan.policy import Policy
from scalepan.redact import Redactor

PREFIX = b'{"run":'


class HeaderScorer(msgspec.Struct, frozen=True, kw_only=True):
    """A scorer of the run, for cases that do not name their own."""

    name: str
    scorer: str
    version: str
    options: str
    threshold: float
    weight: float


class RunHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run was made of. A resumed run keeps the header that it began with."""

    date: str
    scalepan: str
    policy: str
    """The version of the section `evals`."""
    cases: str
    """The file of golden cases, as it was named."""
    data: str
    """A digest of that file."""
    scorers: list[HeaderScorer]
    git: str | None = None
    task: str | None = None
    outputs: str | None = None
    outputs_data: str | None = None
    """A digest of the file of outputs."""
    repeats: int = 1
    needed: int = msgspec.field(default=1, name="pass")
    """How many of the repeats must pass."""

    def line(self) -> bytes:
        """The line of the file."""
        return msgspec.json.encode({"run": self}) + b"\n"

    def differs(self, other: "RunHeader") -> str:
        """What makes it another run than `other`, in words; empty if nothing does."""
        fields = {
            "data": "the golden cases have changed",
            "scorers": "the scorers, their options or the policy have changed",
            "outputs_data": "the outputs have changed",
            "repeats": "the number of repeats has changed",
            "needed": "the number of repeats that must pass has changed",
        }
        return "; ".join(said for key, said in fields.items() if getattr(self, key) != getattr(other, key))


class _HeaderLine(msgspec.Struct):
    run: RunHeader


resolved(_HeaderLine)
_LINE = msgspec.json.Decoder(_HeaderLine)


def read_header(line: bytes) -> RunHeader | None:
    """The header in the first line of a file; None if the file begins with a row."""
    if not line.startswith(PREFIX):
        return None
    try:
        return _LINE.decode(line).run
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def make_header(
    cases: Path,
    scorers: Sequence[Bound],
    policy: Policy,
    redactor: Redactor,
    *,
    task: str | None = None,
    outputs: Path | None = None,
    repeats: int = 1,
    needed: int = 1,
) -> RunHeader:
    """The header of a run that begins now. The task's command line may hold a secret, so it is redacted."""
    columns = Columns(policy)
    names = free_names(one.type for one in scorers)
    return RunHeader(
        date=datetime.fromtimestamp(clock.time(), UTC).isoformat(timespec="seconds"),
        scalepan=scalepan.__version__,
        git=git_revision(Path()),
        policy=policy.version("evals"),
        cases=redactor.redact(str(cases)).text,
        data=file_digest(cases),
        scorers=[_scorer(name, one, columns) for name, one in zip(names, scorers, strict=True)],
        task=redactor.redact(task).text if task is not None else None,
        outputs=redactor.redact(str(outputs)).text if outputs is not None else None,
        outputs_data=file_digest(outputs) if outputs is not None else None,
        repeats=repeats,
        needed=needed,
    )


def _scorer(name: str, one: Bound, columns: Columns) -> HeaderScorer:
    column: dict[str, Any] = msgspec.structs.asdict(columns.of(one))
    return HeaderScorer(name=name, threshold=one.threshold, weight=one.weight, **column)
