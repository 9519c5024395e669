"""scalepan init: a folder in which every command can be tried."""

import os
import shutil
from pathlib import Path

import click

from scalepan.cli._common import show
from scalepan.errors import InputError, printable
from scalepan.samples import PROJECT
from scalepan.store import Store
from scalepan.store.own import Nothing
from scalepan.store.paths import FILE_NAME


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=".")
def init(folder: Path) -> None:
    """Write a folder to start from: sample traces, cases, outputs, factors and claims, a policy, an empty store.

    Nothing that is there already is overwritten.

    \b
    Examples:
      scalepan init try-scalepan
      scalepan init

    \b
    Exit codes:
      0  the folder is ready
      2  a file of that name is there already; nothing was written
    """
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
