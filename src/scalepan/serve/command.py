"""scalepan mcp: the four questions as tools for Claude Code, Cursor and other MCP clients.

It stands here and not in `cli`, because neither of the two may import the other; `cli` finds it by its name.
"""

from pathlib import Path

import click

from scalepan.errors import MissingExtraError, printable
from scalepan.serve.clients import CLIENTS, block, where
from scalepan.serve.options import DEFAULT, NAMES, door_options


@click.command()
@door_options
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
      scalepan mcp --print-config claude-code
      scalepan mcp --store notes.duckdb --project billing
      scalepan mcp --metadata-only
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
        from scalepan.serve.stdio import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise MissingExtraError("an MCP server", "mcp") from None
    from scalepan.policy import load_policy
    from scalepan.serve.log import log_to_stderr
    from scalepan.serve.service import Service, Settings

    # Report an invalid policy now, not to the first caller.
    log_to_stderr("mcp", load_policy(policy_file))
    service = Service(Settings(store_file, tenant, project, session, policy_file, metadata_only))
    _tell(f"serving {service.store.path}, tenant {tenant}, project {project}")
    serve(service, dotted=tool_names == NAMES[1])


def _tell(message: str) -> None:
    click.echo(f"scalepan: {printable(message)}", err=True)
