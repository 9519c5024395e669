"""One HTML page that needs nothing else: no scripts, no fonts, no addresses."""

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1f2933;
       background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; vertical-align: top; }
th { border-bottom: 2px solid #cbd2d9; } td { border-bottom: 1px solid #e4e7eb; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; } svg { max-width: 100%; height: auto; background: #fff; } .quiet { color: #52606d; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e7eb; background: #12181f; } td { border-color: #323f4b; } .quiet { color: #9aa5b1; }
}
"""


def page(title: str, sections: Iterable[str]) -> str:
    """A whole document; `title` is text, `sections` are HTML."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body>\n<h1>{escape(title)}</h1>\n" + "\n".join(sections) + "\n</body>\n</html>\n"
    )


def section(heading: str, body: str) -> str:
    """A heading (text) over some HTML."""
    return f"<section><h2>{escape(heading)}</h2>\n{body}</section>"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[str] = ()) -> str:
    """A table; cells are HTML, column names are text."""
    right = set(numbers)
    css = [' class="number"' if column in right else "" for column in columns]
    head = "".join(f'<th scope="col"{c}>{escape(column)}</th>' for c, column in zip(css, columns, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{c}>{cell}</td>" for c, cell in zip(css, row, strict=True)) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"


def folded(summary: str, body: str) -> str:
    """HTML that opens on a click; `summary` is text."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"
