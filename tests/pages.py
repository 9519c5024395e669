"""The pages and the modules with examples, for the tests that read them and for those that run what they show."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "scalepan"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [
    ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    for file in sorted(SOURCE.rglob("*.py"))
    if file.name != "__main__.py"
]
# Their docstrings ask the real encoder, if there is one.
WITH_ENCODER = (
    *("scalepan", "scalepan.loop.circle", "scalepan.memory.awaited", "scalepan.memory.memory"),
    "scalepan.trace.value",
)


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a language, in the order they stand."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
