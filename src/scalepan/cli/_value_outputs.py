"""Where 'scalepan value' writes besides the screen: rows, rejects, kept and converted traces, events."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scalepan.cli._common import complain
from scalepan.errors import counted, printable
from scalepan.files import make_folder, write_private
from scalepan.policy import Policy
from scalepan.trace.batch import Skipped, TraceItem
from scalepan.trace.output import LinesFile, RowsFile
from scalepan.trace.readers import BadRow, TraceLine
from scalepan.trace.summary import Valued
from scalepan.trace.value import TraceValuer

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
        left_out = self.before - valuer.remembers
        for item in items:
            if isinstance(item, TraceItem) and self.has(item):
                left_out -= 1
                if left_out >= 0:
                    continue
            yield item

    def add(self, item: TraceItem, row: Valued) -> None:
        """Write a trace with its value."""
        for write in self._each:
            write(item, row)

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
        _add_rows(stack, made, out, resume=resume)
    if kept is not None:
        made._each.append(_kept(stack, policy, kept))
    if events is not None:
        made._each.append(_events(stack, policy, events, resume=resume))
    if rejects is not None:
        made._rejects = _rejected(stack, policy, rejects)
    return made


def _add_rows(stack: ExitStack, made: Outputs, out: Path, *, resume: bool) -> None:
    from scalepan.trace.rows import row_of

    if out.suffix not in (".jsonl", ".parquet"):
        raise click.UsageError(f"--out {out}: rows are written as .jsonl or .parquet")
    made._rows = rows = RowsFile(out, resume=resume)

    def finish() -> None:
        rows.close(complete=made.complete)
        if not made.complete:
            complain(f"{counted(rows.rows + rows.added, 'row')} in {out}; the same command with --resume goes on")

    stack.callback(finish)
    made._each.append(lambda item, row: rows.add(row_of(item.file, item.number, row)))


def _redactions(policy: Policy) -> "Callable[[ReasoningTrace], ReasoningTrace]":
    from scalepan.redact import Redactor
    from scalepan.trace.redaction import redacted_trace

    redactor = Redactor(policy.redact)
    return lambda trace: redacted_trace(trace, redactor)


def _kept(stack: ExitStack, policy: Policy, path: Path) -> Write:
    file, clean, count = stack.enter_context(LinesFile(path)), _redactions(policy), 0

    def add(_: TraceItem, row: Valued) -> None:
        nonlocal count
        if row.score.details.gate.verdict == "share":
            file.add(clean(row.trace).to_json())
            count += 1

    stack.callback(lambda: complain(f"{counted(count, 'trace')} at or above the gate, redacted, in {path}"))
    return add


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

    file, redactor = stack.enter_context(LinesFile(path)), Redactor(policy.redact)

    def add(item: TraceItem) -> None:
        assert isinstance(item.row, BadRow)  # noqa: S101 - only bad records are rejected
        # The reason may quote the record.
        reason = redactor.redact(printable(str(item.row.error))).text
        line: dict[str, Any] = {"file": item.file, "line": item.row.line or None, "error": reason}
        file.add(line)

    return add
