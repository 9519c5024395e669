"""Writes the generated pages of docs/: the policy and command references, and images. `make docs`."""

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

import click

from scalepan.cli import scalepan
from scalepan.confidence import ConfidenceFactors, Gate, Question
from scalepan.draw.svg import score_svg
from scalepan.policy import Policy
from scalepan.policy.reference import Constant, constants
from scalepan.samples import sample_trace
from scalepan.trace import TraceValuer

DOCS = Path(__file__).parents[1] / "docs"
GRAY = "#7d8590"
GENERATED = "<!-- Written by 'make docs' from the code. Changes here are lost. -->\n"


def policy_page() -> str:
    """Every constant with its value, what is legal, and why."""
    listed = constants(Policy())
    text = [
        "# Policy reference\n",
        GENERATED,
        "Every constant of every formula, with its built-in value. A policy file (`scalepan.yaml`) says only what "
        "differs; [policy.md](policy.md) explains files, precedence and versions.\n",
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


def waterfall() -> str:
    """The value of the first sample trace, in a gray that reads on light and on dark pages."""
    score = TraceValuer(Policy(), embedder=None).peek(sample_trace())
    return score_svg(score, ink=GRAY, quiet=GRAY) + "\n"


def gate_question() -> str:
    """What the gate asks about a refund, as a terminal shows it."""
    asked: list[str] = []

    def say_no(question: Question) -> bool:
        asked.append(str(question))
        return False

    gate = Gate(Policy(), ask=say_no)
    factors = ConfidenceFactors.from_steps([0.55], [True, {"error": "timeout"}], ["billing.md"])
    verdict = gate.check(factors, "refund", {"order": 17, "amount": 250})
    question, why = asked[0].split("? ", 1)
    lines = [f"{question}?", f"{why} [y/N] n", f"refund: {str(verdict).partition(':')[0]}"]
    return _terminal(lines)


def _terminal(lines: list[str]) -> str:
    width, row = 640, 24
    height = row * len(lines) + 24
    text = "".join(
        f'<text x="16" y="{28 + number * row}" fill="#e6edf3">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="{escape(" ".join(lines))}" font-family="ui-monospace, monospace" font-size="14">'
        f'<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>{text}</svg>\n'
    )


PAGES: dict[str, Callable[[], str]] = {
    "policy-reference.md": policy_page,
    "commands.md": commands_page,
    "images/waterfall.svg": waterfall,
    "images/gate.svg": gate_question,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
