"""The documentation is tested: examples run, commands are documented, generated pages are fresh."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

from karat.cli import karat
from scripts import docs

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "karat"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [
    ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    for file in sorted(SOURCE.rglob("*.py"))
    if file.name != "__main__.py"
]


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_run(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run_in_the_order_they_stand(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(SOURCE / "samples" / "traces.jsonl", tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks(page, "python"):
        parser = doctest.DocTestParser()
        if ">>>" in block:
            example = parser.get_doctest(block, names, page.name, str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            assert runner.run(example, clear_globs=False).failed == 0
            names.update(example.globs)
        else:
            exec(compile(block, str(page), "exec"), names)


def shell(line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a line in a folder that has a store of its own."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "KARAT_STORE": str(folder / "karat.duckdb")}
    return subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, env=env)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_examples_run(page: Path, tmp_path: Path) -> None:
    """Every `karat` line of a sh block, as written, in a folder that has the samples and a karat.yaml."""
    for name in ("traces.jsonl", "cases.yaml", "outputs.jsonl", "factors.jsonl"):
        shutil.copy(SOURCE / "samples" / name, tmp_path)
    (tmp_path / "karat.yaml").write_text("value: {gate: 0.8}\n")
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if re.search(r"\bkarat ", line)]
    for line in lines:
        if "--fetch-model" in line or line.startswith("pip "):
            continue  # needs a network
        done = shell(line, tmp_path)
        allowed = (0, 1) if re.search(" diff | eval run ", line) else (0,)  # 1: they differ, some case failed
        assert done.returncode in allowed, f"{line}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_of_a_command_is_what_it_prints(page: Path, tmp_path: Path) -> None:
    """A console block: `$ command`, then its output; `...` stands for lines that differ from run to run."""
    for name in ("traces.jsonl", "cases.yaml", "outputs.jsonl", "factors.jsonl"):
        shutil.copy(SOURCE / "samples" / name, tmp_path)
    for block in blocks(page, "console"):
        line, _, expected = block.removeprefix("$ ").partition("\n")
        done = shell(line, tmp_path)
        printed = "\n".join(text.rstrip() for text in done.stdout.splitlines()) + "\n"
        assert doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS), printed


def commands(group: click.Command, path: tuple[str, ...] = ("karat",)) -> list[tuple[str, click.Command]]:
    found = [(" ".join(path), group)]
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            found += commands(command, (*path, name))
    return found


@pytest.mark.parametrize(
    ("path", "command"), commands(karat), ids=lambda value: value if isinstance(value, str) else ""
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
