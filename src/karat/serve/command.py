"""karat mcp: the four questions as tools for Claude Code, Cursor and other MCP clients.

It stands here and not in `cli`, because neither of the two may import the other; `cli` finds it by its name.
"""

import logging
import sys
from pathlib import Path

import click

from karat.errors import MissingExtraError, printable
from karat.serve.clients import CLIENTS, block, where

DEFAULT = "default"
NAMES = ("underscored", "dotted")


@click.command()
@click.option(
    "--store",
    "store_file",
    type=click.Path(path_type=Path),
    help="Store file. Default: $KARAT_STORE, else the nearest karat.duckdb upward, else the user's data folder.",
)
@click.option("--tenant", default=DEFAULT, envvar="KARAT_TENANT", show_default=True, help="Whose memory.")
@click.option("--project", default=DEFAULT, envvar="KARAT_PROJECT", show_default=True, help="Which project.")
@click.option("--session", envvar="KARAT_SESSION", help="Which session; without one, session claims are not seen.")
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(path_type=Path),
    help="Policy file. Default: $KARAT_POLICY, else the nearest karat.yaml upward from here.",
)
@click.option(
    "--tool-names",
    type=click.Choice(NAMES),
    default=NAMES[0],
    show_default=True,
    help="How pce.memory.activate and pce.memory.search are listed; they answer to both spellings.",
)
@click.option(
    "--metadata-only",
    is_flag=True,
    envvar="KARAT_METADATA_ONLY",
    help="Give ids, scores and dates of claims, never their text.  [env: KARAT_METADATA_ONLY]",
)
@click.option(
    "--print-config",
    "client",
    type=click.Choice(CLIENTS),
    help="Print the block to paste into this client's configuration, with the other options in it.",
)
def mcp(
    store_file: Path | None,
    tenant: str,
    project: str,
    session: str | None,
    policy_file: Path | None,
    tool_names: str,
    metadata_only: bool,
    client: str | None,
) -> None:
    """Serve an MCP client over standard input and output; logs go to stderr.

    \b
    Examples:
      karat mcp --print-config claude-code
      karat mcp --store notes.duckdb --project billing
      karat mcp --metadata-only
    """
    if client is not None:
        options = {
            "--store": store_file and store_file.resolve(),
            "--tenant": tenant if tenant != DEFAULT else None,
            "--project": project if project != DEFAULT else None,
            "--session": session,
            "--policy": policy_file and policy_file.resolve(),
            "--tool-names": tool_names if tool_names != NAMES[0] else None,
        }
        said = [word for name, value in options.items() if value for word in (name, str(value))]
        _tell(f"goes into {where(client)}")
        click.echo(block(client, [*said, *(["--metadata-only"] if metadata_only else [])]))
        return
    try:
        from karat.serve.stdio import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise MissingExtraError("an MCP server", "mcp") from None
    from karat.policy import load_policy
    from karat.serve.desk import Desk, Settings

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="karat mcp: %(message)s")
    load_policy(policy_file)  # a policy that does not fit is better told now than to the first caller
    desk = Desk(Settings(store_file, tenant, project, session, policy_file, metadata_only))
    _tell(f"serving {desk.store.path}, tenant {tenant}, project {project}")
    serve(desk, dotted=tool_names == NAMES[1])


def _tell(message: str) -> None:
    click.echo(f"karat: {printable(message)}", err=True)
