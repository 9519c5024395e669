"""scalepan eval: is the output right, and if not, what broke?"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from scalepan.cli._common import complain, json_option, policy_option, progress, show, show_json, store_option
from scalepan.cli._keep import keep_option, kept
from scalepan.cli.eval_compare import compare_
from scalepan.embed import find_encoder
from scalepan.errors import InputError, counted, printable
from scalepan.evals import Case, CaseFile, CaseResult, Diagnosis, Evaluator, Output, OutputFile, as_task, diagnose
from scalepan.evals import lint as lint_case
from scalepan.evals.runfile import RunFile
from scalepan.evals.schema import cases_schema, outputs_schema
from scalepan.evals.summary import RunSummary
from scalepan.evals.task import names_code
from scalepan.policy import load_policy
from scalepan.redact import Redactor
from scalepan.yamlfile import read_yaml

FAILED = 1
scorers_from_option = click.option(
    "--scorers-from",
    "scorers_from",
    type=click.Path(path_type=Path),
    help="A Python file of your own that is run: its @scalepan.scorer registrations can then be named.",
)
SECONDS = click.FloatRange(min=0, min_open=True, max=86_400)


@click.group("eval")
def eval_() -> None:
    """Is the output right? Judge outputs against golden cases, and see what broke.

    \b
    Examples:
      scalepan eval run cases.yaml --outputs outputs.jsonl
      scalepan eval compare main.jsonl branch.jsonl
      scalepan eval lint cases.yaml
    """


eval_.add_command(compare_)


@eval_.command()
@click.argument("cases", type=click.Path(path_type=Path))
@click.option("--outputs", type=click.Path(path_type=Path), help="Actual outputs, one JSON object a line.")
@click.option("--task", help="Makes the outputs: module:function, or a shell command with {id} for the case.")
@click.option("--jobs", type=click.IntRange(min=1), default=4, show_default=True, help="With --task: how many at once.")
@click.option("--timeout", type=SECONDS, default=60.0, show_default=True, help="With --task: seconds for one case.")
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="With --task: how often a failed one is tried again.",
)
@click.option("--preset", help="A list of scorers by name. Default: standard, or the policy's.")
@click.option("--scorers", "scorers_file", type=click.Path(path_type=Path), help="A YAML file with a list of scorers.")
@scorers_from_option
@click.option("--out", type=click.Path(path_type=Path), help="Keep the run in this file, appended as results come.")
@click.option("--resume", is_flag=True, help="With --out: go on with a run that was stopped.")
@click.option("--explain", "explain_id", metavar="CASE", help="One case in full, with what changed on its pages.")
@json_option
@keep_option
@store_option
@policy_option
def run(
    cases: Path,
    outputs: Path | None,
    task: str | None,
    jobs: int,
    timeout: float,
    retries: int,
    preset: str | None,
    scorers_file: Path | None,
    scorers_from: Path | None,
    out: Path | None,
    resume: bool,
    explain_id: str | None,
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
      scalepan eval run cases.yaml --outputs outputs.jsonl --out run.jsonl
      scalepan eval run cases.yaml --outputs outputs.jsonl --scorers-from my_scorers.py

    \b
    Code runs only where you name it here: --task runs its command or function, --scorers-from
    runs its file. A task is given the case without what is expected. Cases, policies and stores
    can name registered scorers and nothing else.

    \b
    Exit codes:
      0  every case passed
      1  some case failed
      2  bad input: nothing was judged
    """
    if (outputs is None) == (task is None):
        raise click.UsageError("give the outputs by --outputs FILE, or say how to make them by --task")
    if resume and not out:
        raise click.UsageError("--resume goes with --out FILE")
    if preset and scorers_file:
        raise click.UsageError("--preset and --scorers exclude each other")
    policy = load_policy(policy_file)
    chosen = _read_scorers(scorers_file) if scorers_file else preset
    encoder = partial(find_encoder, policy.embed)
    evaluator = Evaluator(chosen, policy, embedder=encoder, scorers_from=scorers_from)
    golden = CaseFile(cases, policy.evals)
    summary = RunSummary()
    with ExitStack() as stack:
        produce = _producer(golden, outputs, task, timeout, retries, stack)
        redactor = Redactor(policy.redact)
        file = stack.enter_context(closing(RunFile(out, resume=resume, redactor=redactor))) if out else None
        if file and file.done:
            complain(f"{counted(len(file.done), 'case')} with a result already, not judged again")
            summary.add_earlier(file.done)
        rows = _run(golden, evaluator, produce, jobs if task else 1, file, explain_id)
        if keep:
            from scalepan.receipts import case_receipt

            rows = kept(rows, lambda row: case_receipt(row.result), store_file)
        if explain_id is not None:
            _explain(rows, explain_id, as_json=as_json)
            return
        for row in rows:
            summary.add(row.result, row.diagnosis)
            if as_json:
                show_json(row.to_dict())
    if not as_json:
        from scalepan.cli._eval_views import summary_view

        show(*summary_view(summary))
    if summary.passed < summary.count:
        raise SystemExit(FAILED)


@eval_.command()
@click.argument("cases", type=click.Path(path_type=Path))
@click.option("--preset", help="Look at the scorers of this preset too.")
@scorers_from_option
@json_option
@policy_option
def lint(cases: Path, preset: str | None, scorers_from: Path | None, as_json: bool, policy_file: Path | None) -> None:
    """What in the golden CASES can never fail, never pass, measures nothing, or contradicts itself.

    Runs no code but the file that --scorers-from names.

    \b
    Examples:
      scalepan eval lint cases.yaml
      scalepan eval lint cases.yaml --scorers-from my_scorers.py

    \b
    Exit codes:
      0  nothing found
      1  faults found
      2  bad input
    """
    policy = load_policy(policy_file)
    evaluator = Evaluator(preset, policy, scorers_from=scorers_from)
    found = 0
    for case in CaseFile(cases, policy.evals):
        for finding in lint_case(case, evaluator.bound_for(case), policy.evals):
            found += 1
            if as_json:
                show_json(finding._asdict())
            else:
                click.echo(printable(f"{cases}: {finding}  [{finding.kind}]"))
    if found:
        complain(f"{counted(found, 'fault')} in the golden cases")
        raise SystemExit(FAILED)


@eval_.command()
@click.option("--outputs", is_flag=True, help="The schema of an outputs file's lines instead.")
def schema(outputs: bool) -> None:
    """The JSON Schema of golden cases, for editors.

    \b
    Examples:
      scalepan eval schema > cases.schema.json
      scalepan eval schema --outputs > output.schema.json
    """
    document = outputs_schema() if outputs else cases_schema()
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


class CaseRow(NamedTuple):
    """A case that was judged, and, where it did not pass, what broke."""

    case: Case
    output: Output
    result: CaseResult
    diagnosis: Diagnosis | None

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it and `--out` keeps it."""
        told = self.result.to_dict()
        return told if self.diagnosis is None else {**told, "diagnosis": self.diagnosis.to_dict()}


def _read_scorers(file: Path) -> Sequence[Mapping[str, Any]]:
    """A list of scorers, alone in a file or under the key `scorers`."""
    data = read_yaml(file)
    listed = data.get("scorers") if isinstance(data, dict) else data
    if not isinstance(listed, list):
        raise InputError("is not a list of scorers", file=str(file))
    return listed


def _producer(
    golden: CaseFile, outputs: Path | None, task: str | None, timeout: float, retries: int, stack: ExitStack
) -> Callable[[Case], Output]:
    """What gives the output of a case."""
    if outputs is None:
        with _imports_from_here() if names_code(task or "") else nullcontext():
            return as_task(task or "", timeout_s=timeout, retries=retries)
    file = stack.enter_context(closing(OutputFile(outputs)))
    unknown = set(file.ids()) - {case.id for case in golden}
    if unknown:
        complain(f"{outputs}: {counted(len(unknown), 'output')} of no case, such as '{min(unknown)}'")
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
    jobs: int,
    kept: RunFile | None,
    only: str | None,
) -> Iterator[CaseRow]:
    chosen = (case for case in golden if (kept is None or kept.takes(case.id)) and (only is None or case.id == only))
    with progress("judging", len(golden)) as bar:
        for number, judged in enumerate(evaluator.run(chosen, produce, jobs=jobs), 1):
            case, output, result = judged
            broke = None if result.passed else diagnose(case, output, result, evaluator.policy.evals)
            row = CaseRow(case, output, result, broke)
            if kept:
                kept.add(row.to_dict())
            yield row
            bar.at(number)


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
