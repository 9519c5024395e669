"""Where 'scalepan value' writes besides the screen: rows, rejects, kept and converted traces, events."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from scalepan.cli._common import complain
from scalepan.errors import ScalepanError, counted
from scalepan.files import make_folder, write_private
from scalepan.policy import Policy
from scalepan.trace.batch import Skipped, TraceItem
from scalepan.trace.output import LinesFile, RowsFile
from scalepan.trace.readers import BadRow, TraceLine
from scalepan.trace.value import TraceValuer
from scalepan.trace.valued import Valued

if TYPE_CHECKING:
    from scalepan.trace.model import ReasoningTrace

FORMATS = ("native", "atif")
"""What `--to` takes."""
UNDELIVERED = 1
"""Exit code if events were not delivered."""


Write = Callable[[TraceItem, Valued], object]


class Outputs:
    """Every file that a run writes."""

    def __init__(self) -> None:
        self.complete = False
        """Whether the run came to its end."""
        self._rows: RowsFile | None = None
        self._each: list[Write] = []
        self._kept: KeptFile | None = None
        self._rejects: Callable[[TraceItem], object] | None = None

    @property
    def before(self) -> int:
        """How many rows an earlier run has written."""
        return self._rows.rows if self._rows is not None else 0

    def has(self, item: TraceItem) -> bool:
        """Whether an earlier run has written the row of this trace."""
        return self._rows is not None and isinstance(item.row, TraceLine) and self._rows.has(item.file, item.number)

    def unwritten(self, items: Iterable[TraceItem | Skipped], valuer: TraceValuer) -> Iterator[TraceItem | Skipped]:
        """The items without those that have a row, but with the last of them, which novelty is compared with."""
        left_out = self.before
        if remembers := valuer.remembers:
            # Whole rounds, so that each vector is where it would have been: its place decides how sums are rounded.
            left_out = max(self.before // remembers - 1, 0) * remembers
        for item in items:
            if isinstance(item, TraceItem) and self.has(item):
                self._read_again(item)
                left_out -= 1
                if left_out >= 0:
                    continue
            yield item

    def _read_again(self, item: TraceItem) -> None:
        """A trace that an earlier run has written: it may have changed, and belongs into the file of kept ones."""
        assert self._rows is not None  # noqa: S101 - some run has written it there
        assert isinstance(item.row, TraceLine)  # noqa: S101 - only traces have rows
        shared = self._rows.read_again(item.file, item.number, item.row.trace.id)
        if shared and self._kept is not None:
            self._kept.add(item.row.trace)

    def finish(self, files: Iterable[str]) -> None:
        """All files were read to their ends."""
        if self._rows is not None:
            self._rows.check_read(files)
        self.complete = True

    def add(self, item: TraceItem, row: Valued) -> None:
        """Write a trace with its value."""
        for write in self._each:
            write(item, row)
        if self._kept is not None and row.verdict == "share":
            self._kept.add(row.trace)

    def reject(self, item: TraceItem) -> None:
        """Write a bad record."""
        if self._rejects is not None:
            self._rejects(item)


def outputs(
    stack: ExitStack,
    policy: Policy,
    *,
    out: Path | None,
    resume: bool,
    rejects: Path | None,
    kept: Path | None,
    events: str | None,
    to: str | None,
) -> Outputs:
    """What the options ask for; files are finished when the stack is closed, also after Ctrl-C."""
    made = Outputs()
    if resume and (out is None or to is not None):
        raise click.UsageError("--resume continues the rows of --out FILE; name the file")
    if to is not None:
        made._each.append(_converted(stack, policy, to, out))
    elif out is not None:
        _add_rows(stack, made, policy, out, resume=resume)
    if kept is not None:
        made._kept = stack.enter_context(KeptFile(kept, policy))
    if events is not None:
        made._each.append(_events(stack, policy, events, resume=resume))
    if rejects is not None:
        made._rejects = _rejected(stack, policy, rejects)
    return made


def _add_rows(stack: ExitStack, made: Outputs, policy: Policy, out: Path, *, resume: bool) -> None:
    from scalepan.trace.rows import row_of

    if out.suffix not in (".jsonl", ".parquet"):
        raise click.UsageError(f"--out {out}: rows are written as .jsonl or .parquet")
    made._rows = rows = RowsFile(out, policy.version("value"), resume=resume)

    def finish(_: object, error: BaseException | None, __: object) -> None:
        rows.close(complete=made.complete)
        # What is wrong with the input will be wrong again.
        if not made.complete and not isinstance(error, ScalepanError):
            complain(f"{counted(rows.rows + rows.added, 'row')} in {out}; the same command with --resume goes on")

    stack.push(finish)
    made._each.append(lambda item, row: rows.add(row_of(item.file, item.number, row)))


def _redactions(policy: Policy) -> "Callable[[ReasoningTrace], ReasoningTrace]":
    from scalepan.redact import Redactor
    from scalepan.trace.redaction import redacted_trace

    redactor = Redactor(policy.redact)
    return lambda trace: redacted_trace(trace, redactor)


class KeptFile:
    """The traces that pass the gate, redacted."""

    def __init__(self, path: Path, policy: Policy) -> None:
        self._path, self._clean, self._count = path, _redactions(policy), 0
        self._file = LinesFile(path)

    def add(self, trace: "ReasoningTrace") -> None:
        """One more."""
        self._file.add(self._clean(trace).to_json())
        self._count += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        complain(f"{counted(self._count, 'trace')} at or above the gate, redacted, in {self._path}")


def _events(stack: ExitStack, policy: Policy, target: str, *, resume: bool) -> Write:
    from scalepan.otel import EvaluationWriter
    from scalepan.trace.writers.events import subject_of

    writer = EvaluationWriter(target, policy, append=resume)

    def finish(kind: type[BaseException] | None, *_: object) -> None:
        writer.close(once=kind is not None)
        if writer.problem is not None:
            total = counted(writer.delivered + writer.lost, "event")
            computed = "; all values were computed" if kind is None else ""
            complain(f"{writer.lost:,} of {total} not delivered: {writer.problem}{computed}")
            if kind is None:
                raise SystemExit(UNDELIVERED)

    stack.push(finish)
    return lambda _, row: writer.add(row.score, subject_of(row.trace), label=row.score.details.gate.verdict)


def _converted(stack: ExitStack, policy: Policy, to: str, out: Path | None) -> Write:
    clean, convert = _redactions(policy), _writer(to)
    if out is None:
        return lambda _, row: sys.stdout.buffer.write(convert(clean(row.trace)) + b"\n")
    if out.suffix == ".jsonl":
        file = stack.enter_context(LinesFile(out))
        return lambda _, row: file.add(convert(clean(row.trace)))
    make_folder(out)

    def write(_: TraceItem, row: Valued) -> None:
        name = re.sub(r"[^\w.-]+", "-", row.trace.id)[:200]
        with write_private(out / f"{name}.json") as file:
            file.write(convert(clean(row.trace)))

    return write


def _writer(to: str) -> "Callable[[ReasoningTrace], bytes]":
    if to == "native":
        return lambda trace: trace.to_json()
    import msgspec

    from scalepan.trace.writers.atif import to_atif

    return lambda trace: msgspec.json.encode(to_atif(trace))


def _rejected(stack: ExitStack, policy: Policy, path: Path) -> Callable[[TraceItem], object]:
    from scalepan.redact import Redactor
    from scalepan.trace.rows import rejected_row

    file, redactor = stack.enter_context(LinesFile(path)), Redactor(policy.redact)

    def add(item: TraceItem) -> None:
        assert isinstance(item.row, BadRow)  # noqa: S101 - only bad records are rejected
        file.add(rejected_row(item.file, item.row, redactor))

    return add
