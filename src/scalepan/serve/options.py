"""Options that every door has: which store, for whom, and how much goes through."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

DEFAULT = "default"
NAMES = ("underscored", "dotted")

store_option = click.option(
    "--store",
    "store_file",
    type=click.Path(path_type=Path),
    help="Store file. Default: $SCALEPAN_STORE, else the nearest scalepan.duckdb upward, else the user's data folder.",
)
_OPTIONS = (
    store_option,
    click.option("--tenant", default=DEFAULT, envvar="SCALEPAN_TENANT", show_default=True, help="Whose memory."),
    click.option("--project", default=DEFAULT, envvar="SCALEPAN_PROJECT", show_default=True, help="Which project."),
    click.option(
        "--session", envvar="SCALEPAN_SESSION", help="Which session; without one, session claims are not visible."
    ),
    click.option(
        "--policy",
        "policy_file",
        type=click.Path(path_type=Path),
        help="Policy file. Default: $SCALEPAN_POLICY, else the nearest scalepan.yaml upward from here.",
    ),
    click.option(
        "--tool-names",
        type=click.Choice(NAMES),
        default=NAMES[0],
        show_default=True,
        help="How pce.memory.activate and pce.memory.search are listed; they answer to both spellings.",
    ),
    click.option(
        "--metadata-only",
        is_flag=True,
        envvar="SCALEPAN_METADATA_ONLY",
        help="Give ids, scores and dates of claims, never their text.  [env: SCALEPAN_METADATA_ONLY]",
    ),
)


def door_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """All of them, in this order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
