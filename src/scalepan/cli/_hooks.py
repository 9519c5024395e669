"""`scalepan value --hook` and `scalepan init claude-code`: sessions that are valued when they end."""

import os
import shlex
import shutil
import sys
from pathlib import Path

import click

from scalepan.cli._common import complain, say
from scalepan.errors import InputError, ScalepanError, named
from scalepan.trace.hooks.settings import CommandHook, as_text, read_settings, with_hooks, write_settings

HOOKS = ("claude-code",)
"""What `--hook` takes: the formats of the transcripts."""
VALUES = "value --hook claude-code"
TIMEOUT = 30
"""Seconds. Without one, Claude Code gives all hooks of a session's end 1.5 s together; with one, up to 60."""


def run_hook(format_: str, *, out: Path | None, keep: bool, store_file: Path | None, policy_file: Path | None) -> None:
    """Value the session that standard input names. Whatever is wrong is a line on stderr: no hook stops the user."""
    try:
        _value(format_, out=out, keep=keep, store_file=store_file, policy_file=policy_file)
    except (Exception, KeyboardInterrupt) as error:
        complain(error if isinstance(error, ScalepanError) else named(error))


def _value(format_: str, *, out: Path | None, keep: bool, store_file: Path | None, policy_file: Path | None) -> None:
    from scalepan.policy import load_policy
    from scalepan.trace.hooks.event import read_event
    from scalepan.trace.hooks.session import append_rows, sessions_file, value_session
    from scalepan.trace.value import TraceValuer

    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("--hook reads what an agent tells its hooks; a person has 'scalepan value FILE'")
    event = read_event(sys.stdin.buffer)
    policy = load_policy(policy_file)
    # No encoder: loading one takes longer than all the rest, and there is nothing here to compare with.
    items = list(value_session(event, TraceValuer(policy, embedder=None), format=format_))
    append_rows(items, event, out or sessions_file())
    if keep:
        from scalepan.receipts import keep as keep_all
        from scalepan.receipts import value_receipt
        from scalepan.store import Store

        rows = [item.valued for item in items if item.valued is not None]
        with Store(store_file) as store:
            keep_all(store, [value_receipt(row.trace, row.score, policy, model=None) for row in rows])


def init_claude_code(*, user: bool, only_print: bool) -> None:
    """Add the hook to the settings of this project, or of this user."""
    file = _settings_file(user=user)
    command = _command()
    before = read_settings(file)
    after = with_hooks(before, [CommandHook("SessionEnd", command, VALUES, TIMEOUT)], file)
    if only_print:
        click.echo(as_text(after), nl=False)
        return
    if after == before:
        say(f"{file}: the hook is there already; nothing was changed")
        return
    write_settings(file, after)
    from scalepan.trace.hooks.session import sessions_file

    say(
        f"{file}: when a session of Claude Code ends{'' if user else ' in this folder'}, '{command}' adds its value to"
        f" {sessions_file()}\n"
        f"to undo, remove the hook with this command from hooks.SessionEnd in {file}"
    )


def _settings_file(*, user: bool) -> Path:
    if not user:
        return Path(".claude") / "settings.json"
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(folder) if folder else Path.home() / ".claude") / "settings.json"


def _command() -> str:
    """How a shell calls this Scalepan: by its name if that is found, so that a team can share the settings."""
    name = "scalepan" if shutil.which("scalepan") else f"{shlex.quote(sys.executable)} -m scalepan"
    return f"{name} {VALUES}"
