"""scalepan store: looking after the file itself."""

from pathlib import Path

import click

from scalepan.cli._common import json_option, say, show_json, store_option


@click.group()
def store() -> None:
    """Maintain the store's file.

    \b
    Examples:
      scalepan store recover --store notes.duckdb
    """


@store.command()
@store_option
@json_option
def recover(store_file: Path | None, as_json: bool) -> None:
    """Go on with what is left of a store that has lost writes, such as one whose log was deleted.

    A store that lacks acknowledged writes is refused by every other command, in one line that says what is missing. Try
    to put the log or a backup back first. This command accepts the loss; a log that does not fit is put aside, not
    deleted.

    \b
    Examples:
      scalepan store recover
      scalepan store recover --store notes.duckdb --json
    """
    from scalepan.store import find_store
    from scalepan.store.duckdb.recover import recover as recovered

    path = find_store(store_file)
    done = recovered(path)
    if as_json:
        kept = str(done.kept) if done.kept else None
        show_json({"store": str(path), **done._asdict(), "kept": kept, "lost": done.lost})
        return
    of = "" if done.acknowledged is None else f" of {done.acknowledged:,}"
    say(f"{path}: commits up to {done.there:,}{of} are there, {done.lost:,} are lost")
    if done.kept:
        say(f"the log that did not fit is kept: {done.kept}")
