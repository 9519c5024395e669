"""What the commands of `scalepan memory` share: who asks, which memory that is, and rows of JSON."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from scalepan.check import read_json
from scalepan.cli._common import policy_option, store_option
from scalepan.errors import InputError
from scalepan.memory import Memory
from scalepan.store.request import DEFAULT_PROJECT, DEFAULT_PURPOSE, DEFAULT_TENANT


class Asker(click.Group):
    """Every command below says who asks; the options stand once, here."""

    def add_command(self, command: click.Command, name: str | None = None) -> None:
        """Register a command with the options that all of them have."""
        for option in reversed(WHO_OPTIONS):
            option(command)
        super().add_command(command, name)


WHO_OPTIONS = [
    store_option,
    click.option("--tenant", default=DEFAULT_TENANT, envvar="SCALEPAN_TENANT", show_default=True, help="Whose memory."),
    click.option(
        "--project", default=DEFAULT_PROJECT, envvar="SCALEPAN_PROJECT", show_default=True, help="Which project."
    ),
    click.option(
        "--session", envvar="SCALEPAN_SESSION", help="Which session; without one, session claims are not visible."
    ),
    click.option("--actor", help="Who does this; recorded in provenance and votes."),
    policy_option,
]
purposes_option = click.option(
    "--for",
    "purposes",
    multiple=True,
    default=(DEFAULT_PURPOSE,),
    show_default=True,
    metavar="PURPOSE",
    help="What the answer is for; decides which classes are open. May be given more than once.",
)


def opened(who: dict[str, Any], purposes: tuple[str, ...] = (DEFAULT_PURPOSE,)) -> Memory:
    """The memory that the options mean."""
    return Memory(
        who["store_file"],
        tenant=who["tenant"],
        project=who["project"],
        session=who["session"],
        actor=who["actor"],
        purposes=purposes,
        policy=who["policy_file"],
    )


def json_rows(stream: Any, name: str) -> Iterator[tuple[int, Any, InputError | None]]:
    """Lines of JSON objects with their numbers; a line that is none comes with its error."""
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            row = read_json(line)
        except InputError as error:
            yield number, None, error.at(file=name, line=number)
            continue
        if isinstance(row, dict):
            yield number, row, None
        else:
            yield number, None, InputError("expected an object", file=name, line=number)


def as_text(value: Any) -> str:
    """A value of any kind in one line."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
