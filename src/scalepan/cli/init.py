"""scalepan init: a folder in which every command can be tried, or a hook for another tool."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import click

from scalepan.cli._common import show
from scalepan.cli._hooks import init_claude_code
from scalepan.errors import InputError, printable
from scalepan.samples import PROJECT
from scalepan.store import Store
from scalepan.store.own import Nothing
from scalepan.store.paths import FILE_NAME


@click.command()
@click.argument("what", metavar="[FOLDER | claude-code]", default=".")
@click.option("--user", is_flag=True, help="With claude-code: for all projects of this user, not only for this one.")
@click.option("--print", "only_print", is_flag=True, help="With claude-code: print the settings, and write nothing.")
def init(what: str, user: bool, only_print: bool) -> None:
    """Write a folder to start from: sample traces, cases, outputs, factors and claims, a policy, an empty store.

    Nothing that is there already is overwritten. 'claude-code' sets up a hook instead, which values each session of
    Claude Code when it ends; other settings and hooks stay. A folder of that name is given as ./claude-code.

    \b
    Examples:
      scalepan init try-scalepan
      scalepan init
      scalepan init claude-code
      scalepan init claude-code --user

    \b
    Exit codes:
      0  the folder or the hook is ready
      2  a file of that name is there already, or the settings are not valid JSON; nothing was written
    """
    if what in KINDS:
        KINDS[what](user=user, only_print=only_print)
    elif user or only_print:
        raise click.UsageError(f"--user and --print go with one of {', '.join(KINDS)}, not with a folder")
    else:
        _init_folder(Path(what))


KINDS: dict[str, Callable[..., None]] = {"claude-code": init_claude_code}
"""What can be set up besides a folder."""


def _init_folder(folder: Path) -> None:
    there = [name for name in (*(file.name for file in PROJECT), FILE_NAME) if os.path.lexists(folder / name)]
    if there:
        raise InputError(
            f"already has {', '.join(there)}; nothing was written, choose another: scalepan init FOLDER",
            file=str(folder),
        )
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
