"""scalepan init: a folder in which every command can be tried, a suite of evals, or a hook for another tool."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import click

from scalepan.cli._common import show
from scalepan.cli._hooks import init_claude_code
from scalepan.errors import InputError, printable
from scalepan.samples import PROJECT, SUITE
from scalepan.store import Store
from scalepan.store.own import Nothing
from scalepan.store.paths import FILE_NAME


@click.command()
@click.argument("what", metavar="[FOLDER | claude-code | evals]", default=".")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--user", is_flag=True, help="With claude-code: for all projects of this user, not only for this one.")
@click.option("--print", "only_print", is_flag=True, help="With claude-code: print the settings, and write nothing.")
def init(what: str, folder: Path | None, user: bool, only_print: bool) -> None:
    """Write a folder to start from: sample traces, cases, outputs, factors and claims, a policy, an empty store.

    Nothing that is there already is overwritten. 'claude-code' sets up a hook instead, which values each session of
    Claude Code when it ends; other settings and hooks stay. 'evals' writes golden cases, outputs, a scorer and a
    workflow for CI, here or into FOLDER. A folder of such a name is given as ./evals.

    \b
    Examples:
      scalepan init try-scalepan
      scalepan init
      scalepan init claude-code
      scalepan init claude-code --user
      scalepan init evals
      scalepan init evals my-evals

    \b
    Exit codes:
      0  the folder or the hook is ready
      2  a file of that name is there already, or the settings are not valid JSON; nothing was written
    """
    if (user or only_print) and what != HOOK:
        raise click.UsageError(f"--user and --print go with {HOOK}, not with a folder")
    if folder is not None and what != EVALS:
        raise click.UsageError(f"give one folder: scalepan init FOLDER, or scalepan init {EVALS} FOLDER")
    if what == HOOK:
        init_claude_code(user=user, only_print=only_print)
    elif what == EVALS:
        _init_evals(folder or Path())
    else:
        _init_folder(Path(what))


HOOK, EVALS = "claude-code", "evals"
"""What can be set up besides a folder with everything."""


def _refuse_existing(folder: Path, names: Iterable[str], again: str) -> None:
    there = [name for name in names if os.path.lexists(folder / name)]
    if there:
        message = f"already has {', '.join(there)}; nothing was written, choose another: {again}"
        raise InputError(message, file=str(folder))


def _init_evals(folder: Path) -> None:
    _refuse_existing(folder, SUITE, f"scalepan init {EVALS} FOLDER")
    for name, source in SUITE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / name)
    go_there = f"cd {printable(str(folder))}, then try:" if folder != Path() else "try:"
    show(
        (folder / "README.md").read_text(encoding="utf-8").rstrip(),
        "",
        f"written: {printable(str(folder))}; {go_there} "
        "scalepan eval run cases.yaml --outputs outputs.jsonl --scorers-from scorers.py",
    )


def _init_folder(folder: Path) -> None:
    _refuse_existing(folder, (*(file.name for file in PROJECT), FILE_NAME), "scalepan init FOLDER")
    folder.mkdir(parents=True, exist_ok=True)
    for file in PROJECT:
        shutil.copyfile(file, folder / file.name)
    # A store here, so that what is remembered in this folder stays in it.
    with Store(folder / FILE_NAME) as store:
        store.call("store.info", Nothing())
    go_there = f"cd {printable(str(folder))}, then try:" if folder != Path() else "try:"
    show(
        (folder / "README.md").read_text(encoding="utf-8").rstrip(),
        "",
        f"written: {printable(str(folder))}; {go_there} scalepan value traces.jsonl",
    )
