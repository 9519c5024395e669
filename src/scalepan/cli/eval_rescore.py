"""scalepan eval rescore: after a scorer changed, score its column again, without calling the task."""

from contextlib import closing
from functools import partial
from pathlib import Path

import click

from scalepan.cli._common import complain, json_option, policy_option, show_json
from scalepan.cli._eval_options import ScorerOptions, allow_unmeasured_option, scorer_options
from scalepan.cli.eval_run import end
from scalepan.embed import find_encoder
from scalepan.errors import InputError, counted
from scalepan.evals import CaseFile, Evaluator
from scalepan.evals.runs.file import find_run, run_header
from scalepan.evals.runs.rescore import Rescore, write_rescored
from scalepan.evals.summary import RunSummary
from scalepan.policy import load_policy
from scalepan.redact import Redactor


@click.command("rescore")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("cases", type=click.Path(path_type=Path), required=False)
@scorer_options
@click.option("--out", type=click.Path(path_type=Path), help="Write the result here. Default: in place of RUN.")
@allow_unmeasured_option
@json_option
@policy_option
def rescore_(
    run: Path,
    cases: Path | None,
    scorers: ScorerOptions,
    out: Path | None,
    allow_unmeasured: bool,
    as_json: bool,
    policy_file: Path | None,
) -> None:
    """Score the outputs of RUN again with the scorers, cases and policy of today. No task is called.

    Only columns whose scorer or options changed are scored, for cases whose expectation changed all of them; the
    others are taken over. A new threshold or weight changes verdicts, not scores. CASES are those of the run, unless
    another file is named. The outputs in RUN are redacted.

    \b
    Examples:
      scalepan eval rescore runs/main.jsonl
      scalepan eval rescore main cases.yaml --scorers-from my_scorers.py
      scalepan eval rescore main --preset strict --out runs/main-strict.jsonl

    \b
    Exit codes:
      0  every case passed
      1  some case failed
      2  bad input: nothing was written
      3  no case failed, but some could not be judged
    """
    run = find_run(run)
    policy = load_policy(policy_file)
    header = run_header(run)
    if cases is None and header is None:
        raise InputError("does not name its cases; give them: scalepan eval rescore RUN CASES", file=str(run))
    encoder = partial(find_encoder, policy.embed)
    evaluator = Evaluator(scorers.chosen(), policy, embedder=encoder, scorers_from=scorers.scorers_from)
    golden = CaseFile(cases or Path(header.cases if header else ""), policy.evals)
    summary = RunSummary(header.repeats, header.needed) if header else RunSummary()
    again = Rescore(run, golden, evaluator, Redactor(policy.redact))
    scored = columns = flipped = 0
    with closing(write_rescored(again, out or run)) as rows:
        for row in rows:
            summary.add(row.result, None, row.before.number)
            scored, columns = scored + row.scored, columns + len(row.result.results)
            flipped += row.before.passed != row.result.passed
            if as_json:
                show_json(row.result.to_dict())
    complain(f"{scored:,} of {counted(columns, 'score')} computed again, {counted(flipped, 'verdict')} changed")
    end(summary, as_json=as_json, allow_unmeasured=allow_unmeasured)
