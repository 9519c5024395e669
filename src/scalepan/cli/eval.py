"""scalepan eval: is the output right, and if not, what broke?"""

from pathlib import Path

import click
import msgspec

from scalepan.cli._common import complain, json_option, policy_option, show_json
from scalepan.cli._eval_options import FAILED, scorers_from_option
from scalepan.cli.eval_bless import bless_
from scalepan.cli.eval_compare import compare_
from scalepan.cli.eval_report import report_
from scalepan.cli.eval_rescore import rescore_
from scalepan.cli.eval_run import run
from scalepan.errors import counted, printable
from scalepan.evals import CaseFile, Evaluator
from scalepan.evals import lint as lint_case
from scalepan.evals.schema import cases_schema, outputs_schema
from scalepan.policy import load_policy


@click.group("eval")
def eval_() -> None:
    """Is the output right? Judge outputs against golden cases, and see what broke.

    \b
    Examples:
      scalepan eval run cases.yaml --outputs outputs.jsonl
      scalepan eval compare main.jsonl branch.jsonl
      scalepan eval lint cases.yaml
    """


for command in (run, rescore_, report_, compare_, bless_):
    eval_.add_command(command)


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
