"""Reports of a run: for CI, for a pull request, and as a page."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click

from scalepan.cli._eval_options import FILE, gathered
from scalepan.errors import InputError
from scalepan.evals import CaseFile
from scalepan.evals.report.entry import RunReport
from scalepan.evals.runs.match import CaseMatch
from scalepan.files import write_private
from scalepan.redact import Redactor


class ReportOptions(NamedTuple):
    """Which reports to write, and where."""

    junit: Path | None
    markdown: Path | None
    html: Path | None

    def __bool__(self) -> bool:
        return any(path is not None for path in self)

    def run_file(self, out: Path | None, stack: ExitStack) -> Path | None:
        """Reports are made from a run file: the one that is kept, or one that is gone afterwards."""
        if out is not None or not self:
            return out
        return Path(stack.enter_context(TemporaryDirectory(prefix="scalepan-run-"))) / "run.jsonl"

    def write(self, run: Path, cases: CaseFile, redactor: Redactor, *, allow_unmeasured: bool) -> None:
        """Write them."""
        if not self:
            return
        from scalepan.evals.report.junit import junit
        from scalepan.evals.report.markdown import markdown
        from scalepan.evals.report.page import run_page

        kinds: list[tuple[Path | None, Callable[[RunReport], Iterable[str]]]] = [
            (self.junit, lambda report: junit(report, allow_unmeasured=allow_unmeasured)),
            (self.markdown, lambda report: [markdown(report, allow_unmeasured=allow_unmeasured)]),
            (self.html, lambda report: [run_page(report)]),
        ]
        for path, pieces in kinds:
            if path is not None:
                _write(path, pieces(RunReport(run, CaseMatch(cases, redactor), redactor)))


def _write(path: Path, pieces: Iterable[str]) -> None:
    try:
        with write_private(path) as file:
            for piece in pieces:
                file.write(piece.encode(errors="replace"))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(path)) from None


report_options = gathered(
    "reports",
    ReportOptions,
    click.option("--junit", type=FILE, help="Write JUnit XML, which CI systems show."),
    click.option("--markdown", type=FILE, help="Write Markdown, for a comment on a pull request."),
    click.option("--html", type=FILE, help="Write one self-contained page to search and look through."),
)
