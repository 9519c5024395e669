"""Writes the pages of docs/ that come from the code: the policy reference and the command reference. `make docs`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from scalepan.cli import scalepan
from scalepan.policy import Policy
from scalepan.policy.reference import Constant, constants

DOCS = Path(__file__).parents[1] / "docs"
GENERATED = "<!-- Written by 'make docs' from the code. Changes here are lost. -->\n"


def policy_page() -> str:
    """Every constant with its value, what is legal, and why."""
    listed = constants(Policy())
    text = [
        "# Policy reference\n",
        GENERATED,
        "Every constant of every formula, with its built-in value. A policy file (`scalepan.yaml`) says only what differs;"
        " [policy.md](policy.md) explains files, precedence and versions.\n",
    ]
    for section in dict.fromkeys(c.path.split(".")[0] for c in listed):
        text.append(f"## {section}\n")
        text.append("| key | value | legal | why |\n|---|---|---|---|")
        text += [_policy_row(c) for c in listed if c.path.split(".")[0] == section]
        text.append("")
    return "\n".join(text).rstrip() + "\n"


def _policy_row(constant: Constant) -> str:
    legal = " ".join(word for word in (constant.range, f"({constant.unit})" if constant.unit else "") if word)
    return f"| `{constant.path}` | `{constant.shown}` | {legal} | {constant.why} |"


def commands_page() -> str:
    """The help of every command, as it is printed."""
    text = ["# Commands\n", GENERATED]
    for path, command in _commands(scalepan, ("scalepan",)):
        context = click.Context(command, info_name=path, max_content_width=100, help_option_names=["-h", "--help"])
        context.terminal_width = 100
        text.append(f"## {path}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(text)


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from _commands(child, (*path, name))


PAGES: dict[str, Callable[[], str]] = {"policy-reference.md": policy_page, "commands.md": commands_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
