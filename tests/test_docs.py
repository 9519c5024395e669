"""The documentation is tested: docstrings run, commands are documented, pages are fresh. Their examples run in real."""

import ast
import doctest
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
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


CONTRACT = ROOT / "docs" / "contract"
CONTRACT_PAGES = ["score", "value", "evals", "memory", "confidence"]
STATEMENT = re.compile(r"^- \*\*(\w+)\.(\d+)\*\* ", re.MULTILINE)
CITED = re.compile(rf"\b({'|'.join(CONTRACT_PAGES)})\.(\d+)\b")
NAMED_PAGE = re.compile(r"(?<![\w/.*{}~<-])(?:[\w-]+/)*[\w-]+\.md\b")
# Files of users that examples name.
EXAMPLES = {"a.md", "billing.md", "comment.md", "notes.md", "refunds.md"}
# Words that point to a document without naming a file: a reader could not open it.
ELSEWHERE = re.compile(
    r"(?<!\{)\b(?:DESIGN|NOTES|STYLE)\b|\b[Tt]he spec\b|\bspec's\b|\b[Ss]ections? \d+(?:\.\d)?(?![.\d])|\bissue \d"
)


@cache
def statements() -> set[str]:
    return {f"{page}.{number}" for page in CONTRACT_PAGES for _, number in STATEMENT.findall(_contract(page))}


def _contract(page: str) -> str:
    return (CONTRACT / f"{page}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", CONTRACT_PAGES)
def test_statements_of_the_contract_are_numbered_without_a_gap_and_its_contents_say_how_many(page: str) -> None:
    found = STATEMENT.findall(_contract(page))
    assert found == [(page, str(number + 1)) for number in range(len(found))]
    assert f"| {page}.1 to {page}.{len(found)} |" in (CONTRACT / "README.md").read_text(encoding="utf-8")


def _written() -> list[Path]:
    folders = [ROOT / name for name in ("src", "tests", "docs", "bench", "examples", "scripts")]
    nested = [file for folder in folders for kind in ("*.py", "*.md") for file in folder.rglob(kind)]
    return sorted([*ROOT.glob("*.md"), *nested])


def _prose(file: Path) -> Iterator[tuple[int, str, bool]]:
    """Lines that a person reads: a page, or comments and strings of a source file; and whether they are explanation.

    A string that is not a docstring may be data: it may name a file that a test writes.
    """
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        yield from ((number, line, True) for number, line in enumerate(text.splitlines(), 1))
        return
    explained = {
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            explains = token.type == tokenize.COMMENT or token.start[0] in explained
            for number, line in enumerate(token.string.splitlines(), token.start[0]):
                yield number, line, explains


def missing_citations(file: Path) -> list[str]:
    """What a file cites and the repository does not have."""
    missing = []
    for number, line, explains in _prose(file):
        cited = [f"{page}.{of}" for page, of in CITED.findall(line) if f"{page}.{of}" not in statements()]
        cited += ELSEWHERE.findall(line)
        if explains:
            homes = (ROOT, file.parent, ROOT / "docs", CONTRACT)
            named = set(NAMED_PAGE.findall(line)) - EXAMPLES
            cited += sorted(name for name in named if not any((home / name).exists() for home in homes))
        missing += [f"{file}:{number}: {name}" for name in cited]
    return missing


def test_only_what_is_in_the_repository_is_cited() -> None:
    assert [line for file in _written() if file != Path(__file__) for line in missing_citations(file)] == []


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("# see contract value.999", ["value.999"]),
        ("# see contract memory.0 and memory.1", ["memory.0"]),
        ("# see docs/contract/memory.md and docs/nothing.md", ["docs/nothing.md"]),
        ("# spec memory.md, section 4", ["section 4"]),  # memory.md is one of our own pages
        ("# NOTES, 'Value'; as the spec has it", ["NOTES", "the spec"]),
        ('FILE = "notes.md"', []),
        ('SAID = "as the spec has it"', ["the spec"]),
    ],
)
def test_a_citation_that_leads_nowhere_is_found(tmp_path: Path, line: str, missing: list[str]) -> None:
    written = tmp_path / "cites.py"
    written.write_text(line + "\n", encoding="utf-8")
    assert [found.rpartition(": ")[2] for found in missing_citations(written)] == missing
