"""What several commands share: options, consoles, open files."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from scalepan.errors import InputError, printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

PIPE_WIDTH = 160

BAD_INPUT = 2
"""Exit code of a user's mistake."""

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object per line, for programs.")
policy_option = click.option(
    "--policy",
    "policy_file",
    type=click.Path(path_type=Path),
    help="Policy file. Default: $SCALEPAN_POLICY, else the nearest scalepan.yaml upward from here.",
)


store_option = click.option(
    "--store",
    "store_file",
    type=click.Path(path_type=Path),
    help="Store file. Default: $SCALEPAN_STORE, else the nearest scalepan.duckdb upward, else the user's data folder.",
)


@cache
def console() -> "Console":
    """Where people look. Colors only on a terminal; NO_COLOR is honored."""
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the command: Console would exit with 1, which is what a command says that found a fault."""
            raise BrokenPipeError

    # Brackets and colons in the data are data, not markup.
    drawn = PlainConsole(highlight=False, markup=False, emoji=False)
    if not drawn.is_terminal and not os.environ.get("COLUMNS"):
        # In a pipe or a file there is no edge to fold at, unless one is named; rich would assume 80 columns.
        drawn.width = PIPE_WIDTH
    return drawn


def show(*things: "RenderableType") -> None:
    """Print tables and text for people. Nothing in them acts on the terminal, whoever wrote it."""
    console().print(*map(Harmless, things), sep="\n")


class Harmless:
    """Anything that rich can draw, without the characters that act on a terminal or hide in it.

    Whoever draws it writes them out where they may be; this is for what was forgotten. The colors are rich's own.
    """

    def __init__(self, thing: "RenderableType") -> None:
        self._thing = thing

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.segment import Segment

        from scalepan.text.invisible import ACTING

        for text, style, control in console.render(self._thing, options):
            yield Segment(text if control else ACTING.sub("", text), style, control)


def say(text: str) -> None:
    """Print lines for people, in which names, paths and ids of others may stand."""
    click.echo("\n".join(map(printable, text.split("\n"))))


def show_json(data: object) -> None:
    """Print one line of JSON."""
    from scalepan.text.jsonline import json_line

    sys.stdout.buffer.write(json_line(data))


def complain(message: object) -> None:
    """One line on stderr."""
    click.echo(f"scalepan: {printable(str(message))}", err=True)


@contextmanager
def open_input(name: str) -> Iterator[BinaryIO]:
    """A file to read, or standard input for `-`; what cannot be read is an InputError."""
    if name == "-":
        if sys.stdin is None:
            raise InputError("is closed", file="standard input")
        yield sys.stdin.buffer
        return
    from scalepan.files import open_source

    try:
        file = open_source(name)
    except IsADirectoryError:
        raise InputError("is a folder; give it as FOLDER/*.jsonl", file=name) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=name) from None
    with file:
        yield file


@contextmanager
def progress(label: str, total: int | None, unit: str | None = None) -> "Iterator[Progress]":
    """A progress bar on stderr for what takes longer than two seconds; nothing where nobody looks.

    With a `unit`, the rate of what `count` counts stands beside it.
    """
    bar = Progress(label, total, unit)
    try:
        yield bar
    finally:
        bar.close()


class Progress:
    """A bar that appears after two seconds, on a terminal only, with the time left; without a total, a count."""

    PATIENCE = 2.0
    PAUSE = 0.1

    def __init__(self, label: str, total: int | None, unit: str | None = None) -> None:
        from time import time

        self._label, self._total, self._unit = label, total, unit
        self._clock, self._started, self._counted = time, time(), 0
        self.wanted = sys.stderr.isatty()
        """Whether anybody looks."""
        self._due = self._started + self.PATIENCE if self.wanted else inf
        self._bar: click._termui_impl.ProgressBar[Any] | None = None
        self._at = 0

    def at(self, position: int) -> None:
        """Now at `position` of the total."""
        if not self.wanted or (now := self._clock()) < self._due:
            return
        self._due = now + self.PAUSE
        if self._bar is None:
            self._bar = self._shown()
        # Without a total, any step redraws the line.
        self._bar.update(max(position - self._at, 0) if self._total else 1)
        self._at = max(position, self._at)

    def count(self) -> None:
        """One more of what the unit names is done."""
        self._counted += 1

    def _shown(self) -> "click._termui_impl.ProgressBar[Any]":
        known = bool(self._total)
        bar = click.progressbar(
            length=self._total or sys.maxsize,
            label=self._label,
            file=sys.stderr,
            item_show_func=self._rate,
            show_eta=known,
            show_percent=known,
            bar_template="%(label)s  [%(bar)s]  %(info)s" if known else "%(label)s  %(info)s",
        )
        # The time left follows from all that was done, also before there was a bar.
        bar.start = bar.last_eta = self._started
        bar.__enter__()
        return bar

    def _rate(self, _: object) -> str | None:
        if self._unit is None:
            return None
        rate = f"{self._counted / max(self._clock() - self._started, 1e-9):,.0f} {self._unit}/s"
        return rate if self._total else f"{self._counted:,} {self._unit}, {rate}"

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
