"""scalepan redact: secrets and personal data out of files and pipes."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from scalepan.cli._common import complain, json_option, open_input, policy_option, show_json
from scalepan.errors import InputError, printable
from scalepan.policy import load_policy
from scalepan.redact import Redactor
from scalepan.redact.stream import Passage, redact_stream

FOUND = 1
_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff")


@click.command()
@click.argument("files", nargs=-1, metavar="[FILES... | -]")
@click.option("--check", is_flag=True, help="Change nothing; print where what is, and fail if there is anything.")
@json_option
@click.option(
    "--kinds", metavar="NAMES", help="Look only for these, parted by commas: secret, pii, or kinds like email."
)
@policy_option
def redact(files: tuple[str, ...], check: bool, as_json: bool, kinds: str | None, policy_file: Path | None) -> None:
    """Remove secrets and personal data from text.

    Reads FILES, or standard input, and writes the text with marks such as [secret:aws-key] or [pii:email] in place of
    what was found. With --check or --json it reports instead: file, line, column, kind and a hash, never the value. The
    hash tells equal values apart within one run; it has a key that no other run has.

    \b
    Examples:
      scalepan redact notes.txt > clean.txt
      tail -f agent.log | scalepan redact
      scalepan redact --check $(git diff --cached --name-only)
      scalepan redact --check --kinds secret src/*.py
      scalepan redact --json traces.jsonl

    \b
    Exit codes:
      0  done; with --check: nothing found
      1  with --check: something found
      2  bad input: no such file, a kind or a policy that is none
    """
    only = [name.strip() for name in kinds.split(",")] if kinds is not None else []
    redactor = Redactor(load_policy(policy_file).redact, only=only)
    found: Counter[str] = Counter()
    for name, passage in _passages(files or ("-",), redactor):
        found.update(finding.kind for finding in passage.redacted.findings)
        if as_json:
            _report_json(name, passage)
        elif check:
            _report(name, passage)
        else:
            sys.stdout.buffer.write(passage.redacted.text.encode("utf-8", "surrogateescape"))
            sys.stdout.buffer.flush()
    if check and found:
        complain(f"{found.total():,} found: {', '.join(f'{kind} {count:,}' for kind, count in found.most_common())}")
        sys.exit(FOUND)


def _passages(files: tuple[str, ...], redactor: Redactor) -> Iterator[tuple[str, Passage]]:
    for file in files:
        name = "stdin" if file == "-" else file
        with open_input(file) as stream:
            _refuse_other_encodings(stream, name)
            for passage in redact_stream(stream, redactor):
                yield name, passage


def _refuse_other_encodings(stream: BinaryIO, name: str) -> None:
    """A file in UTF-16 looks clean, as no rule matches it; saying nothing would be worse than failing."""
    peek = getattr(stream, "peek", None)
    if peek is not None and peek(2)[:2] in _OTHER_ENCODINGS:
        raise InputError("is UTF-16; convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8", file=name)


def _report(name: str, passage: Passage) -> None:
    for finding, line, column in passage.found():
        click.echo(f"{printable(name)}:{line}:{column}: {finding.category}:{finding.kind}")


def _report_json(name: str, passage: Passage) -> None:
    for finding, line, column in passage.found():
        show_json(
            {
                "file": name,
                "line": line,
                "column": column,
                "kind": finding.kind,
                "category": finding.category,
                "length": finding.end - finding.start,
                "hash": finding.hash,
            }
        )
