"""scalepan eval run: judge outputs against golden cases, and keep the run."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import click

from scalepan.cli._common import complain, json_option, policy_option, progress, show, show_json, store_option
from scalepan.cli._eval_options import (
    FAILED,
    UNMEASURED,
    KeptOptions,
    ScorerOptions,
    TaskOptions,
    allow_unmeasured_option,
    kept_options,
    scorer_options,
    task_options,
)
from scalepan.cli._eval_reports import ReportOptions, report_options
from scalepan.cli._keep import keep_option, kept
from scalepan.embed import find_encoder
from scalepan.errors import InputError, counted
from scalepan.evals import Case, CaseFile, Evaluator, Output, OutputFile, as_task, diagnose
from scalepan.evals.runs.column import Columns
from scalepan.evals.runs.file import RunFile, run_rows
from scalepan.evals.runs.header import make_header
from scalepan.evals.runs.row import CaseRow
from scalepan.evals.summary import RunSummary
from scalepan.evals.task import names_code
from scalepan.policy import load_policy
from scalepan.redact import Redactor


@click.command()
@click.argument("cases", type=click.Path(path_type=Path))
@task_options
@scorer_options
@kept_options
@report_options
@click.option("--explain", "explain_id", metavar="CASE", help="One case in full, with what changed on its pages.")
@allow_unmeasured_option
@json_option
@keep_option
@store_option
@policy_option
def run(
    cases: Path,
    made: TaskOptions,
    scorers: ScorerOptions,
    kept_in: KeptOptions,
    reports: ReportOptions,
    explain_id: str | None,
    allow_unmeasured: bool,
    as_json: bool,
    keep: bool,
    store_file: Path | None,
    policy_file: Path | None,
) -> None:
    """Judge outputs against the golden CASES (YAML list or JSONL).

    \b
    Examples:
      scalepan eval run cases.yaml --outputs outputs.jsonl
      scalepan eval run cases.jsonl --outputs outputs.jsonl --preset strict --json
      scalepan eval run cases.yaml --outputs outputs.jsonl --explain cart-rename-001
      scalepan eval run cases.yaml --task "mytool --case {id}" --jobs 8 --timeout 30 --retries 1
      scalepan eval run cases.yaml --task http://127.0.0.1:8000/answer --repeats 5 --pass 4
      scalepan eval run cases.yaml --outputs outputs.jsonl --name main
      scalepan eval run cases.yaml --outputs outputs.jsonl --scorers-from my_scorers.py
      scalepan eval run cases.yaml --outputs outputs.jsonl --junit junit.xml --html report.html

    \b
    Code runs only where you name it here: --task runs its command or function or calls its
    address, --scorers-from runs its file. A task is given the case without what is expected.
    Cases, policies and stores can name registered scorers and nothing else.

    \b
    Exit codes:
      0  every case passed
      1  some case failed
      2  bad input: nothing was judged
      3  no case failed, but some could not be judged: a task or a scorer failed
    """
    made.check()
    out = kept_in.path()
    policy = load_policy(policy_file)
    encoder = partial(find_encoder, policy.embed)
    evaluator = Evaluator(scorers.chosen(), policy, embedder=encoder, scorers_from=scorers.scorers_from)
    golden = CaseFile(cases, policy.evals)
    summary = RunSummary(made.repeats, made.must_pass)
    with ExitStack() as folders, ExitStack() as stack:
        out = reports.run_file(out, folders) if explain_id is None else out
        produce = _producer(golden, made, stack)
        file = stack.enter_context(closing(_run_file(out, kept_in.resume, evaluator, cases, made))) if out else None
        if file and file.done:
            told = counted(file.done, "case") if made.repeats == 1 else f"{file.done:,} outputs"
            complain(f"{told} with a result already, not judged again")
            for earlier in run_rows(file.path):
                summary.add_stored(earlier)
        rows = _run(golden, evaluator, produce, made, file, explain_id)
        if keep:
            from scalepan.receipts import case_receipt

            rows = kept(rows, lambda row: case_receipt(row.result), store_file)
        if explain_id is not None:
            _explain(rows, explain_id, as_json=as_json)
            return
        for row in rows:
            summary.add(row.result, row.diagnosis, row.number)
            if as_json:
                show_json(row.to_dict())
        stack.close()
        if out is not None:
            reports.write(out, golden, Redactor(policy.redact), allow_unmeasured=allow_unmeasured)
    end(summary, as_json=as_json, allow_unmeasured=allow_unmeasured)


def end(summary: RunSummary, *, as_json: bool, allow_unmeasured: bool) -> None:
    """Show how the run went, and exit accordingly."""
    if not as_json:
        from scalepan.cli._eval_views import summary_view

        show(*summary_view(summary))
    if summary.measured > summary.passed:
        raise SystemExit(FAILED)
    if not summary.is_green(allow_unmeasured=allow_unmeasured):
        open_cases = counted(summary.cases - summary.measured, "case")
        complain(f"not green: {open_cases} could not be judged; --allow-unmeasured accepts that")
        raise SystemExit(UNMEASURED)


def _run_file(out: Path, resume: bool, evaluator: Evaluator, cases: Path, made: TaskOptions) -> RunFile:
    redactor = Redactor(evaluator.policy.redact)
    header = make_header(
        cases,
        evaluator.bound,
        evaluator.policy,
        redactor,
        task=made.task,
        outputs=made.outputs,
        repeats=made.repeats,
        needed=made.must_pass,
    )
    return RunFile(out, resume=resume, redactor=redactor, header=header)


def _producer(golden: CaseFile, made: TaskOptions, stack: ExitStack) -> Callable[[Case], Output]:
    """What gives the output of a case."""
    if made.outputs is None:
        task = made.task or ""
        with _imports_from_here() if names_code(task) else nullcontext():
            return as_task(task, timeout_s=made.timeout, retries=made.retries)
    file = stack.enter_context(closing(OutputFile(made.outputs)))
    unknown = set(file.ids()) - {case.id for case in golden}
    if unknown:
        complain(f"{made.outputs}: {counted(len(unknown), 'output')} of no case, such as '{min(unknown)}'")
    return file.get


@contextmanager
def _imports_from_here() -> Iterator[None]:
    """A function that the user names is looked for here, as `python -m` would; what it imports later, here at last.

    Only then: otherwise a file beside somebody's cases could take the place of a package and be run.
    """
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
        sys.path.append(here)


def _run(
    golden: CaseFile,
    evaluator: Evaluator,
    produce: Callable[[Case], Output],
    made: TaskOptions,
    kept: RunFile | None,
    only: str | None,
) -> Iterator[CaseRow]:
    columns = Columns(evaluator.policy)
    numbers: deque[int] = deque()  # results come in the order in which the cases were asked for

    def chosen() -> Iterator[Case]:
        for case in golden:
            for number in range(1, made.repeats + 1):
                if (kept is None or kept.takes(case.id)) and (only is None or case.id == only):
                    numbers.append(number)
                    yield case

    with progress("judging", len(golden) * made.repeats) as bar:
        for count, judged in enumerate(evaluator.run(chosen(), produce, jobs=made.jobs if made.task else 1), 1):
            case, output, result = judged
            broke = None if result.passed else diagnose(case, output, result, evaluator.policy.evals)
            number = numbers.popleft()
            row = CaseRow(case, output, result, broke, number if made.repeats > 1 else None)
            if kept:
                kept.add(row.to_stored(map(columns.of, evaluator.bound_for(case))))
            yield row
            bar.at(count)


def _explain(rows: Iterator[CaseRow], wanted: str, *, as_json: bool) -> None:
    row = next(rows, None)
    if row is None:
        raise InputError(f"no case '{wanted}'")
    if as_json:
        show_json(row.to_dict())
    else:
        from scalepan.cli._eval_views import explanation

        show(*explanation(row.case, row.output, row.result, row.diagnosis))
    if not row.result.passed:
        raise SystemExit(FAILED)
