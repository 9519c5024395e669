"""scalepan eval report: a run that was kept, for CI, for a pull request, or as a page."""

from pathlib import Path

import click

from scalepan.cli._common import policy_option
from scalepan.cli._eval_options import allow_unmeasured_option
from scalepan.cli._eval_reports import ReportOptions, report_options
from scalepan.errors import InputError
from scalepan.evals import CaseFile
from scalepan.evals.runs.file import find_run, run_header
from scalepan.policy import load_policy
from scalepan.redact import Redactor


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("cases", type=click.Path(path_type=Path), required=False)
@report_options
@allow_unmeasured_option
@policy_option
def report_(
    run: Path, cases: Path | None, reports: ReportOptions, allow_unmeasured: bool, policy_file: Path | None
) -> None:
    """Write reports of RUN, which 'scalepan eval run' kept. CASES are those of the run, unless another file is named.

    \b
    Examples:
      scalepan eval report main --html report.html
      scalepan eval report runs/main.jsonl cases.yaml --junit junit.xml --markdown comment.md

    \b
    Exit codes:
      0  written
      2  bad input
    """
    if not reports:
        raise click.UsageError("say which report: --html FILE, --junit FILE or --markdown FILE")
    run = find_run(run)
    header = run_header(run)
    if cases is None and header is None:
        raise InputError("does not name its cases; give them: scalepan eval report RUN CASES", file=str(run))
    policy = load_policy(policy_file)
    golden = CaseFile(cases or Path(header.cases if header else ""), policy.evals)
    reports.write(run, golden, Redactor(policy.redact), allow_unmeasured=allow_unmeasured)
