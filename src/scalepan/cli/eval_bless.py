"""scalepan eval bless: pin the run that others are compared with."""

from pathlib import Path

import click

from scalepan.cli._common import say
from scalepan.evals.runs.blessed import bless
from scalepan.evals.runs.file import find_run


@click.command("bless")
@click.argument("run", type=click.Path(path_type=Path))
def bless_(run: Path) -> None:
    """Pin RUN as the one that 'scalepan eval compare' uses if it is given one run alone, such as in CI.

    Writes blessed.json beside RUN: its name and a digest. Commit both. A blessed run that changed is refused.

    \b
    Examples:
      scalepan eval bless runs/main.jsonl
      scalepan eval compare runs/branch.jsonl

    \b
    Exit codes:
      0  pinned
      2  bad input: RUN is not a run, or has no result
    """
    run = find_run(run)
    file = bless(run)
    say(f"{run} is blessed, in {file}")
