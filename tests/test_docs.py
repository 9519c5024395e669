"""The documentation is tested: docstrings run, commands are documented, pages are fresh. Their examples run in real."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import click
import pytest

from scalepan.cli import scalepan
from scripts import docs
from tests.pages import MODULES, PAGES, ROOT, WITH_ENCODER


@pytest.mark.parametrize("module", [module for module in MODULES if module not in WITH_ENCODER])
def test_docstring_examples_run(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0


def commands(group: click.Command, path: tuple[str, ...] = ("scalepan",)) -> list[tuple[str, click.Command]]:
    found = [(" ".join(path), group)]
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            found += commands(command, (*path, name))
    return found


@pytest.mark.parametrize(
    ("path", "command"), commands(scalepan), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_command_has_help_with_an_example_and_stands_in_the_docs(path: str, command: click.Command) -> None:
    assert command.help
    assert "Examples:" in command.help
    assert path in command.help
    assert f"## {path}\n" in (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", docs.PAGES, ids=lambda page: page)
def test_generated_pages_are_fresh(page: str) -> None:
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == docs.PAGES[page](), "stale: run 'make docs'"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"
