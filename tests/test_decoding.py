"""Whatever is decoded into was looked up on import: the first decoding in several threads crashed the interpreter."""

import ast
import subprocess
import sys
from pathlib import Path

import scalepan

SOURCE = Path(scalepan.__file__).parent

# Types that are not named where they are decoded into, and who looks them up.
ELSEWHERE = {
    "info.cls": "check.problems, before it walks",
    "type_": "check.problems, which is asked first; in embed/recipe.py plain tables only",
    "cls": "the decoder at the end of trace/model.py",
    "found.request": "store/operation.py, when an operation is registered",
    "found.response": "store/operation.py, when an operation is registered",
    "repeated[row.id].operation.response": "store/operation.py, when an operation is registered",
    "tool.request": "serve/tools.py, for the whole table",
}

# In a process of its own: here, other tests have decoded already.
CHECK = """
import gc, importlib, msgspec, sys, typing

def structs(type_, seen):
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct) and type_ not in seen:
        seen.add(type_)
        for field in msgspec.structs.fields(type_):
            structs(field.type, seen)
    for inner in typing.get_args(type_):
        structs(inner, seen)
    return seen

for place in sys.argv[1:]:
    module, _, name = place.partition(":")
    for struct in structs(eval(name, vars(importlib.import_module(module))), set()):
        if not any(type(one).__name__ == "StructInfo" for one in gc.get_referents(struct)):
            print(f"{module}: {struct.__qualname__}: add resolved({name}) where it is defined, or here")
"""


def decoded_types(file: Path) -> list[str]:
    """The types that a file decodes into, as `module:type`."""
    module = ".".join(["scalepan", *file.relative_to(SOURCE).with_suffix("").parts])
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        named = [keyword.value for keyword in node.keywords if keyword.arg == "type"]
        if node.func.attr in ("convert", "Decoder") and len(node.args) == (2 if node.func.attr == "convert" else 1):
            named = [node.args[-1]]
        elif node.func.attr not in ("decode", "convert"):
            continue
        found += [f"{module}:{ast.unparse(type_)}" for type_ in named if ast.unparse(type_) not in ELSEWHERE]
    return found


def test_every_type_that_is_decoded_into_is_looked_up_on_import() -> None:
    places = [place for file in sorted(SOURCE.rglob("*.py")) for place in decoded_types(file)]
    assert len(places) > 20
    done = subprocess.run(
        [sys.executable, "-c", CHECK, *dict.fromkeys(places)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
