"""The group of all commands, and the one place where an error becomes a line and an exit code."""

import os
import sys
import warnings
from importlib import import_module
from io import StringIO
from typing import Any

import click

from scalepan.cli._common import BAD_INPUT, complain
from scalepan.cli._streams import set_up
from scalepan.cli._summaries import SUMMARIES
from scalepan.errors import InputError, PolicyWarning, ScalepanError, did_you_mean, printable
from scalepan.repeat import new_request, same_request

# Name to where it is: a command is loaded when it is used, so that `scalepan value` does not pay for the others.
COMMANDS = {
    "demo": "scalepan.cli.demo:demo",
    "init": "scalepan.cli.init:init",
    "value": "scalepan.cli.value:value",
    "eval": "scalepan.cli.eval:eval_",
    "memory": "scalepan.cli.memory:memory",
    "confidence": "scalepan.cli.confidence:confidence",
    "redact": "scalepan.cli.redact:redact",
    "policy": "scalepan.cli.policy:policy",
    "store": "scalepan.cli.store:store",
    "serve": "scalepan.serve.serve_command:serve",
    "mcp": "scalepan.serve.command:mcp",
    "explain": "scalepan.cli.explain:explain",
    "doctor": "scalepan.cli.doctor:doctor",
}


class _ReaderGoneError(Exception):
    """The reader of our output has closed it. Click would take a BrokenPipeError for a failure, exit code 1."""


class _LazyGroup(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGoneError from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table of their summaries: no command is loaded to be listed."""
        limit = formatter.width - 6 - max(map(len, COMMANDS))
        rows = []
        for name in COMMANDS:
            # A command that the table forgot is loaded, and listed all the same.
            known = name in SUMMARIES
            command = click.Command(name, help=SUMMARIES[name]) if known else self.get_command(ctx, name)
            rows.append((name, command.get_short_help_str(limit) if command is not None else ""))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"no command '{args[0]}'{did_you_mean(args[0], list(COMMANDS))}")
        return super().resolve_command(ctx, args)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="scalepan")
@click.option(
    "--request-id",
    metavar="ID",
    help="Repeat a command that was not answered in time: what was applied under this id is not applied again.",
)
@click.pass_context
def scalepan(ctx: click.Context, request_id: str | None) -> None:
    """Judges LLM agents. Each answer is one number that explains itself.

    \b
    Examples:
      scalepan demo                         see it work on sample traces
      scalepan value traces.jsonl           what each trace is worth
      scalepan doctor                       what is installed, found and missing
    """
    ctx.with_resource(new_request() if request_id is None else same_request(request_id))


def main() -> None:
    """Run a command. A user's mistake is one line on stderr and exit code 2, never a traceback."""
    set_up()
    with warnings.catch_warnings():
        warnings.simplefilter("always", PolicyWarning)
        warnings.showwarning = _warn
        _run()


def _warn(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
    """A warning of ours is a line like any other; what Python or a package warns of looks as it always does."""
    if issubclass(category, PolicyWarning):
        complain(message)
    else:
        _show_warning(message, category, *place, **more)


_show_warning = warnings.showwarning


def _run() -> None:
    try:
        scalepan(standalone_mode=False, prog_name="scalepan")
    except click.ClickException as error:
        lines = StringIO()
        error.show(lines)
        click.echo("\n".join(map(printable, lines.getvalue().rstrip().split("\n"))), err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        complain("stopped")
        sys.exit(130)
    except ScalepanError as error:
        for line in error.lines if isinstance(error, InputError) else [error]:
            complain(line)
        sys.exit(BAD_INPUT)
    except _ReaderGoneError:
        # The reader (head, less) has seen enough. Python would complain about stdout once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except MemoryError:
        complain("there is not enough memory for this input")
        sys.exit(BAD_INPUT)
    except OSError as error:
        complain(f"{error.filename or 'input or output'}: {error.strerror or error}")
        sys.exit(BAD_INPUT)
