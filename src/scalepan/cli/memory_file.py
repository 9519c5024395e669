"""scalepan memory add, export, import: claims in and out, one or a file of them."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import click

from scalepan.cli._common import complain, json_option, open_input, progress, say, show_json
from scalepan.cli._memory import json_rows, opened
from scalepan.cli._options import given, options_of
from scalepan.errors import InputError, counted
from scalepan.files import write_private
from scalepan.memory import Memory
from scalepan.memory.claim import NewClaim
from scalepan.memory.requests import ADD
from scalepan.text.jsonline import json_line

SHOWN_BAD_ROWS = 20
ADDED_AT_ONCE = 500


@click.command()
@click.argument("text", required=False)
@click.option("--file", "file", metavar="FILE", help="Many claims: JSON lines with a 'text' each, or - for stdin.")
@options_of(ADD, NewClaim, without=("text", "entities"))
@click.option(
    "--entity", "entities", multiple=True, metavar="[TYPE:]NAME", help="What it is about: Artifact:billing-api."
)
@click.option("--source", help="Where it comes from: a URL or a file.")
@click.option("--strict", is_flag=True, help="With --file: stop at the first bad row instead of skipping it.")
@json_option
def add(
    text: str | None,
    file: str | None,
    entities: tuple[str, ...],
    source: str | None,
    strict: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Remember TEXT, or the claims of a file. Secrets and personal data are cut first; what is known is not kept twice.

    \b
    Examples:
      scalepan memory add "The staging database is reset every Monday"
      scalepan memory add "Aoi prefers short answers" --kind preference --scope principle --entity Actor:Aoi
      scalepan memory add --file notes.jsonl
      some-program | scalepan memory add --file -
    """
    if (text is None) == (file is None):
        raise InputError("give either TEXT or --file")
    claim = given(ADD, options, NewClaim)
    with opened(options) as opened_memory:
        if text is not None:
            claim |= {"text": text, "entities": [_entity(entity) for entity in entities]}
            claim |= {"provenance": {"source": source}} if source else {}
            (added,) = opened_memory.add_many([claim])
            _show_added(added, as_json)
        else:
            _add_file(opened_memory, file or "-", claim, strict, as_json)


def _entity(said: str) -> dict[str, str]:
    type_, colon, name = said.partition(":")
    return {"type": type_, "name": name} if colon else {"name": said}


def _show_added(added: Any, as_json: bool) -> None:
    if as_json:
        show_json(added)
    else:
        cut = "".join(f", {count} {kind} cut" for kind, count in added.redacted.items())
        replaced = f", and replaced by {added.superseded_by}" if added.superseded_by else ""
        say(f"{added.id}  {'kept' if added.created else 'known already'}{replaced}, class {added.boundary_class}{cut}")


def _add_file(memory: Memory, file: str, defaults: dict[str, Any], strict: bool, as_json: bool) -> None:
    """Remember the claims of a file, a page at a time; bad rows are told and skipped."""
    counts = {True: 0, False: 0}
    kept: dict[str, str] = {}
    size = Path(file).stat().st_size if Path(file).is_file() else None
    with open_input(file) as stream, progress("adding", size) as bar:
        rows = _good_rows(memory, stream, file, defaults, strict)
        while page := list(islice(rows, ADDED_AT_ONCE)):
            for row, added in zip(page, memory.add_many(_naming(page, kept)), strict=True):
                kept |= {row["id"]: added.id} if row.get("id") not in (None, added.id) else {}
                counts[added.created] += 1
                if as_json:
                    show_json(added)
            if size is not None:
                bar.at(stream.tell())
    if not as_json:
        click.echo(f"{counts[True]:,} kept, {counts[False]:,} known already")
    if not any(counts.values()):
        raise InputError("no good claim in it", file=file)


def _naming(page: list[dict[str, Any]], kept: dict[str, str]) -> list[dict[str, Any]]:
    """What replaces a claim of an earlier page whose text was known, under the id that it is known by."""
    return [row | {"supersedes": kept[row["supersedes"]]} if row.get("supersedes") in kept else row for row in page]


def _good_rows(
    memory: Memory, stream: Any, file: str, defaults: dict[str, Any], strict: bool
) -> Iterator[dict[str, Any]]:
    bad = 0
    for number, row, error in json_rows(stream, "stdin" if file == "-" else file):
        if error is None:
            error = _fault(memory, {**defaults, **row}, file, number)
        if error is None:
            yield {**defaults, **row}
            continue
        if strict:
            raise error
        bad += 1
        if bad <= SHOWN_BAD_ROWS:
            complain(error)
    if bad:
        complain(f"{counted(bad, 'bad row')} skipped")


def _fault(memory: Memory, row: dict[str, Any], file: str, number: int) -> InputError | None:
    from scalepan.memory.plain import new_claim

    try:
        claim = new_claim(row, number - 1)
        if claim.scope == "session" and memory.who.session is None:
            raise InputError("a session claim needs --session", path="scope")
    except InputError as error:
        return error.at(file="stdin" if file == "-" else file, line=number)
    return None


@click.command("export")
@click.argument("file", default="-", type=click.Path(allow_dash=True))
def export(file: str, **who: Any) -> None:
    """Write every claim of the project as JSON lines, to FILE or standard output.

    \b
    Examples:
      scalepan memory export notes.jsonl
    """
    count = 0
    with opened(who) as opened_memory, _written(file) as out:
        for claim in opened_memory.export():
            out.write(json_line(claim))
            count += 1
    complain(f"{counted(count, 'claim')} written{'' if file == '-' else f' to {file}'}")


def _written(file: str) -> AbstractContextManager[BinaryIO]:
    """Where claims go: standard output, or a file that only its owner can read, as the store is."""
    if file == "-":
        return nullcontext(sys.stdout.buffer)
    return write_private(Path(file))


@click.command("import")
@click.argument("file")
@click.option("--strict", is_flag=True, help="Stop at the first bad row instead of skipping it.")
@json_option
def import_(file: str, strict: bool, as_json: bool, **who: Any) -> None:
    """Take in claims that were exported, ids and times included.

    \b
    Examples:
      scalepan memory import notes.jsonl --project other
    """
    with opened(who) as opened_memory:
        _add_file(opened_memory, file, {}, strict, as_json)
