"""scalepan serve: the HTTP API and MCP over HTTP, and the tokens that open them."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from scalepan.errors import InputError, MissingExtraError, printable
from scalepan.policy.boundary import CLASSES, BoundaryClass
from scalepan.serve.http.limits import Limits
from scalepan.serve.options import DEFAULT, NAMES, door_options, store_option
from scalepan.text.jsonline import json_line

if TYPE_CHECKING:
    from scalepan.serve.operations import Token
    from scalepan.store import Store

LIMITS = Limits()
PORT = 8321
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
LONGEST_SECONDS = 100 * 365 * 86400
_PARTS = ("starlette", "uvicorn", "httptools", "mcp", "mcp_types", "anyio")
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object per line, for programs.")


@click.group(invoke_without_command=True)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on. Any but loopback needs a token."
)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one.")
@door_options
@click.option("--allow-host", "hosts", multiple=True, help="A further name in the Host header; may be repeated.")
@click.option("--require-token", is_flag=True, help="Ask for a token on loopback too, even if there is none yet.")
@click.option(
    "--max-body",
    type=click.IntRange(1),
    default=LIMITS.body,
    show_default=True,
    help="Bytes of a JSON body, or of one line of NDJSON.",
)
@click.option(
    "--body-seconds",
    type=click.FloatRange(0.1),
    default=LIMITS.body_seconds,
    show_default=True,
    help="Time to send a body, or a line.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0),
    default=LIMITS.rate,
    show_default=True,
    help="Requests per second of one token or address; 0: no limit.",
)
@click.option(
    "--at-once",
    type=click.IntRange(1),
    default=LIMITS.at_once,
    show_default=True,
    help="Requests that are worked on at the same time.",
)
@click.option(
    "--stop-seconds",
    type=click.FloatRange(1),
    default=LIMITS.stop_seconds,
    show_default=True,
    help="Time to finish running requests when stopped.",
)
@json_option
@click.pass_context
def serve(
    ctx: click.Context,
    host: str,
    port: int,
    store_file: Path | None,
    tenant: str,
    project: str,
    session: str | None,
    policy_file: Path | None,
    tool_names: str,
    metadata_only: bool,
    hosts: tuple[str, ...],
    require_token: bool,
    max_body: int,
    body_seconds: float,
    rate: float,
    at_once: int,
    stop_seconds: float,
    as_json: bool,
) -> None:
    """Serve the HTTP API under /v1, and MCP at /mcp, until SIGTERM or Ctrl-C.

    \b
    Examples:
      scalepan serve
      scalepan serve --port 0 --store notes.duckdb --project billing
      scalepan serve token create --tenant acme --classes public,internal --expires 90d
      scalepan serve --host 0.0.0.0 --allow-host scalepan.example
    """
    if ctx.invoked_subcommand is not None:
        _check_nothing_lost(ctx)
        return
    try:
        from scalepan.serve.http import run
        from scalepan.serve.http.app import App
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in _PARTS:
            raise
        raise MissingExtraError("an HTTP server", "serve") from None
    from scalepan.policy import load_policy
    from scalepan.serve.http.hosts import Hosts
    from scalepan.serve.http.services import Services
    from scalepan.serve.log import log_to_stderr
    from scalepan.serve.service import Settings
    from scalepan.store import Store
    from scalepan.store.own import Nothing

    # Report an invalid policy now, not to the first caller.
    log_to_stderr("serve", load_policy(policy_file))
    limits = Limits(max_body, body_seconds, rate, at_once, stop_seconds)
    settings = Settings(store_file, tenant, project, session, policy_file, metadata_only)
    with Store(store_file) as store, run.listen(host, port) as listener:
        store.call("store.info", Nothing())  # a store that cannot be opened is better told now, too
        others_can_come = not run.is_loopback(listener)
        if others_can_come:
            _check_token_there(store, host)
        app = App(
            Services(settings, store),
            Hosts([host, *hosts]),
            limits,
            must_have_token=others_can_come or require_token,
            dotted=tool_names == NAMES[1],
        )

        def ready() -> None:
            told = {"url": run.url(listener), "store": str(store.path), "tenant": tenant, "project": project}
            if as_json:
                click.echo(json_line(told), nl=False)
            _tell(f"serving {told['url']}, store {store.path}, tenant {tenant}, project {project}")

        run.run(app, listener, limits, ready)


def _check_nothing_lost(ctx: click.Context) -> None:
    """Options of the server mean nothing to a subcommand; who gives one means its own option of that name."""
    for parameter in ctx.command.params:
        if ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            name = parameter.opts[0]
            raise click.UsageError(f"{name} before '{ctx.invoked_subcommand}' is for the server; put it last", ctx)


def _check_token_there(store: "Store", host: str) -> None:
    from time import time

    from scalepan.serve.tokens import listed

    if not any(token.usable(time()) for token in listed(store)):
        raise InputError(
            f"{host} can be reached by others, so a token is needed first: scalepan serve token create", path="--host"
        )


@serve.group()
def token() -> None:
    """Make, list and revoke tokens. While a store has never had one, a server on loopback asks for none.

    \b
    Examples:
      scalepan serve token create --tenant acme --note "nightly import"
      scalepan serve token list
    """


@token.command()
@click.option("--tenant", default=DEFAULT, envvar="SCALEPAN_TENANT", show_default=True, help="Whose memory it opens.")
@click.option("--project", help="The one project that it opens. Default: every project of the tenant.")
@click.option(
    "--classes", default=",".join(CLASSES), show_default=True, help="What it opens at most; policy may open less."
)
@click.option("--expires", help="When it ends by itself: 30m, 12h, 90d. Default: never.")
@click.option("--note", help="What it is for.")
@click.option("--may-answer", is_flag=True, help="It may answer the gate's questions, but for those that it asked.")
@store_option
@json_option
def create(
    tenant: str,
    project: str | None,
    classes: str,
    expires: str | None,
    note: str | None,
    may_answer: bool,
    store_file: Path | None,
    as_json: bool,
) -> None:
    """Create a token. It is shown only once: the store has its hash.

    \b
    Examples:
      scalepan serve token create --note "my laptop"
      scalepan serve token create --tenant acme --project billing --classes public --expires 12h
      scalepan serve token create --note "the approvals page" --may-answer
    """
    from scalepan.serve import tokens
    from scalepan.store import Store

    named: list[BoundaryClass] = [name.strip() for name in classes.split(",")]  # type: ignore[misc]
    with Store(store_file) as store:
        made = tokens.create(
            store,
            tenant=tenant,
            project=project,
            classes=named,
            seconds=_seconds(expires),
            note=note,
            may_answer=may_answer,
        )
    if as_json:
        click.echo(json_line({"token": made.value, **tokens.as_shown(made.token)}), nl=False)
    else:
        click.echo(made.value)
        _tell(f"token {made.token.id} for {_for(made.token)}; it is not shown again")


@token.command(name="list")
@store_option
@json_option
def list_(store_file: Path | None, as_json: bool) -> None:
    """Show the tokens of a store: what each opens, never the token itself.

    \b
    Examples:
      scalepan serve token list
      scalepan serve token list --json
    """
    from scalepan.serve import tokens
    from scalepan.store import Store

    with Store(store_file) as store:
        found = tokens.listed(store)
    for one in found:
        shown = tokens.as_shown(one)
        if as_json:
            click.echo(json_line(shown), nl=False)
        else:
            click.echo(f"{one.id}  {shown['state']:<7}  {_for(one)}{f'  {printable(one.note)}' if one.note else ''}")
    if not found and not as_json:
        _tell("no tokens; a server on loopback asks for none")


@token.command()
@click.argument("id_", metavar="ID")
@store_option
@json_option
def revoke(id_: str, store_file: Path | None, as_json: bool) -> None:
    """Revoke a token for good. A server that runs refuses it within a second.

    \b
    Examples:
      scalepan serve token revoke 1f0c9a3b22de4455
    """
    from scalepan.serve import tokens
    from scalepan.store import Store

    with Store(store_file) as store:
        revoked = tokens.revoke(store, id_)
    if as_json:
        click.echo(json_line(tokens.as_shown(revoked)), nl=False)
    else:
        _tell(f"token {revoked.id} is revoked")


def _seconds(text: str | None) -> float | None:
    """`90d` as seconds."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if found is None or found[1].strip("0") == "":
        raise InputError(f"'{text}' is not a time such as 30m, 12h or 90d", path="--expires")
    seconds = float(found[1]) * _SECONDS[found[2]]
    if seconds > LONGEST_SECONDS:
        raise InputError(f"'{text}' is over a hundred years; leave it out for a token without an end", path="--expires")
    return seconds


def _for(token: "Token") -> str:
    where = f"project {token.project}" if token.project is not None else "any project"
    answers = ", may answer" if token.may_answer else ""
    return printable(f"tenant {token.tenant}, {where}, classes {', '.join(token.classes)}{answers}")


def _tell(message: str) -> None:
    click.echo(f"scalepan: {printable(message)}", err=True)
