"""Options that several commands of `scalepan eval` share, each group as one value."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import click

from scalepan.errors import InputError
from scalepan.evals.runs.file import named_run
from scalepan.yamlfile import read_yaml

FAILED = 1
UNMEASURED = 3
SECONDS = click.FloatRange(min=0, min_open=True, max=86_400)
FILE = click.Path(path_type=Path)

scorers_from_option = click.option(
    "--scorers-from",
    "scorers_from",
    type=FILE,
    help="A Python file of your own that is run: its @scalepan.scorer registrations can then be named.",
)
allow_unmeasured_option = click.option(
    "--allow-unmeasured", is_flag=True, help="Green although some cases could not be judged, if all others passed."
)


def gathered(name: str, type_: Any, *options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one argument of the command: a NamedTuple with a field for each."""

    def decorate(command: Any) -> Any:
        @wraps(command)
        def call(*args: Any, **given: Any) -> Any:
            fields = {field: given.pop(field) for field in type_._fields}
            return command(*args, **{name: type_(**fields)}, **given)

        for option in reversed(options):
            call = option(call)
        return call

    return decorate


class ScorerOptions(NamedTuple):
    """Which scorers judge."""

    preset: str | None
    scorers_file: Path | None
    scorers_from: Path | None

    def chosen(self) -> str | Sequence[Mapping[str, Any]] | None:
        """A preset's name, a list, or None for the policy's."""
        if self.preset and self.scorers_file:
            raise click.UsageError("--preset and --scorers exclude each other")
        return _read_scorers(self.scorers_file) if self.scorers_file else self.preset


def _read_scorers(file: Path) -> Sequence[Mapping[str, Any]]:
    """A list of scorers, alone in a file or under the key `scorers`."""
    data = read_yaml(file)
    listed = data.get("scorers") if isinstance(data, dict) else data
    if not isinstance(listed, list):
        raise InputError("is not a list of scorers", file=str(file))
    return listed


scorer_options = gathered(
    "scorers",
    ScorerOptions,
    click.option("--preset", help="A list of scorers by name. Default: standard, or the policy's."),
    click.option("--scorers", "scorers_file", type=FILE, help="A YAML file with a list of scorers."),
    scorers_from_option,
)


class TaskOptions(NamedTuple):
    """Where outputs come from."""

    outputs: Path | None
    task: str | None
    jobs: int
    timeout: float
    retries: int
    repeats: int
    needed: int | None

    def check(self) -> None:
        """Say which options do not go together."""
        if (self.outputs is None) == (self.task is None):
            raise click.UsageError("give the outputs by --outputs FILE, or say how to make them by --task")
        if self.task is None and self.repeats > 1:
            raise click.UsageError("--repeats goes with --task: a file has one output per case")
        if self.needed is not None and self.needed > self.repeats:
            raise click.UsageError(f"--pass {self.needed} of --repeats {self.repeats} can never be reached")

    @property
    def must_pass(self) -> int:
        """How many of the repeats must pass; all, if it is not said."""
        return self.needed if self.needed is not None else self.repeats


task_options = gathered(
    "made",
    TaskOptions,
    click.option("--outputs", type=FILE, help="Actual outputs, one JSON object a line."),
    click.option(
        "--task",
        help="Makes the outputs: module:function, an http:// address, or a shell command with {id} for the case.",
    ),
    click.option(
        "--jobs", type=click.IntRange(min=1), default=4, show_default=True, help="With --task: how many at once."
    ),
    click.option("--timeout", type=SECONDS, default=60.0, show_default=True, help="With --task: seconds for one case."),
    click.option(
        "--retries",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="With --task: how often a failed one is tried again.",
    ),
    click.option(
        "--repeats",
        type=click.IntRange(min=1, max=1000),
        default=1,
        show_default=True,
        help="With --task: how many outputs of each case are judged.",
    ),
    click.option(
        "--pass", "needed", type=click.IntRange(min=1), help="With --repeats: how many must pass. Default: all."
    ),
)


class KeptOptions(NamedTuple):
    """Where the run is kept."""

    out: Path | None
    name: str | None
    resume: bool

    def path(self) -> Path | None:
        """The run file; None if the run is not kept."""
        if self.out and self.name is not None:
            raise click.UsageError("--out and --name exclude each other")
        if self.resume and self.out is None and self.name is None:
            raise click.UsageError("--resume goes with --out FILE or --name NAME")
        return named_run(self.name) if self.name is not None else self.out


kept_options = gathered(
    "kept_in",
    KeptOptions,
    click.option("--out", type=FILE, help="Keep the run in this file, appended as results come."),
    click.option("--name", help="Keep the run under this name: 'main' is runs/main.jsonl."),
    click.option("--resume", is_flag=True, help="With --out or --name: go on with a run that was stopped."),
)
