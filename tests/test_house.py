"""What holds the house together: imports go down only, and what is optional is loaded when it is used."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import scalepan

SOURCE = Path(scalepan.__file__).parent

# From the ground up. A package may import what stands on a lower line, and nothing on its own line but itself.
LAYERS = [
    ["clock", "forks", "files", "lazy"],
    ["errors"],
    ["names", "repeat"],
    ["exits", "arguments", "score", "check", "yamlfile", "arrowstream"],
    ["doors"],
    ["policy", "cache", "text", "stats", "draw"],
    ["embed", "redact", "store"],
    ["judge", "inforce"],
    ["otel"],
    ["trace", "evals", "memory", "confidence"],
    ["fit", "receipts", "recording"],
    ["loop", "samples"],
    ["serve"],
    ["cli", "pytest_plugin"],
    ["__init__", "__main__"],
]
LEVEL = {package: level for level, packages in enumerate(LAYERS) for package in packages}
FILES = sorted(SOURCE.rglob("*.py"))


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def package_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(file: Path) -> Iterator[str]:
    """Every package of Scalepan that a file imports, inside functions and TYPE_CHECKING too."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are written out in full"
            names = [node.module or ""]
            if node.module == "scalepan":
                names = [f"scalepan.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("scalepan."))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_go_down_only(file: Path) -> None:
    here = package_of(file)
    for imported in imports_of(file):
        assert imported == here or LEVEL[imported] < LEVEL[here], f"{here} must not import {imported}"


HEAVY = ["numpy", "duckdb", "onnxruntime", "onnx", "tokenizers", "starlette", "rich", "ray", "yaml", "msgspec"]


def modules_loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(out.stdout.split())


def loaded_by(code: str) -> set[str]:
    return {name.split(".")[0] for name in modules_loaded_by(code)}


def test_import_scalepan_loads_nothing_heavy() -> None:
    assert loaded_by("import scalepan").isdisjoint(HEAVY)


@pytest.mark.parametrize("requests", ["scalepan.memory.requests", "scalepan.confidence.requests"])
def test_a_request_is_imported_without_what_does_it(requests: str) -> None:
    loaded = modules_loaded_by(f"import {requests}")
    assert loaded.isdisjoint(HEAVY[:-1])
    assert len(loaded - modules_loaded_by("import msgspec")) < 50


def test_valuing_without_an_encoder_loads_no_array_library() -> None:
    code = (
        "import scalepan, scalepan.samples; scalepan.TraceValuer(embedder=None).peek(scalepan.samples.sample_trace())"
    )
    assert loaded_by(code).isdisjoint({"numpy", "onnxruntime", "onnx", "tokenizers", "rich"})


def test_the_public_api_fits_a_page_and_every_name_is_there() -> None:
    assert len(scalepan.__all__) <= 40
    for name in scalepan.__all__:
        assert getattr(scalepan, name) is not None
    assert dir(scalepan) == scalepan.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        scalepan.nothing  # noqa: B018


def test_the_public_names_for_people_and_for_type_checkers_are_the_same() -> None:
    tree = tree_of(SOURCE / "__init__.py")
    (guarded,) = (node for node in tree.body if isinstance(node, ast.If))
    for_checkers = {alias.name for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert for_checkers | {"__version__"} == set(scalepan.__all__)


def test_the_version_stands_in_one_place_more_than_needed_and_agrees() -> None:
    project = (SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{scalepan.__version__}"' in project


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_every_file_says_what_it_is_for(file: Path) -> None:
    assert ast.get_docstring(tree_of(file)), "no docstring"


def test_no_lock_holds_an_address() -> None:
    locks = sorted((SOURCE.parents[1] / "locks").glob("*.txt"))
    assert locks
    for lock in locks:
        assert "://" not in lock.read_text(encoding="utf-8")
        assert "--hash=sha256:" in lock.read_text(encoding="utf-8")


def test_a_class_name_means_one_thing() -> None:
    homes: dict[str, list[str]] = {}
    for file in FILES:
        for node in ast.walk(tree_of(file)):
            # Every scorer has its own Options: the registry looks for them by that name.
            if isinstance(node, ast.ClassDef) and not (node.name == "Options" and file.parent.name == "scorers"):
                homes.setdefault(node.name, []).append(str(file.relative_to(SOURCE)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_sql_stands_in_the_store_alone() -> None:
    """Everything else asks the repositories on `here`. The cache is a SQLite file of its own."""
    outside = [file for file in FILES if file.relative_to(SOURCE).parts[0] not in ("store", "cache.py")]
    names = {"execute", "executemany", "fetchall", "fetchone"}
    found = {
        f"{file.relative_to(SOURCE)}:{node.lineno} {node.attr}"
        for file in outside
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Attribute) and node.attr in names
    }
    assert found == set()
