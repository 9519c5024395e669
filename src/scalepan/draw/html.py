"""One HTML page that needs nothing else: no scripts, no fonts, no addresses."""

from collections.abc import Iterable

from scalepan.draw.markup import as_markup

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1f2933;
       background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
summary { cursor: pointer; font-variant-numeric: tabular-nums; white-space: pre-wrap; }
details { border-bottom: 1px solid #e4e7eb; padding: .3rem 0; }
svg { max-width: 100%; height: auto; background: #fff; } .quiet { color: #52606d; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e7eb; background: #12181f; } details { border-color: #323f4b; } .quiet { color: #9aa5b1; }
}
"""


def page(title: str, sections: Iterable[str]) -> str:
    """A whole document; `title` is text, `sections` are HTML."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{as_markup(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body>\n<h1>{as_markup(title)}</h1>\n" + "\n".join(sections) + "\n</body>\n</html>\n"
    )


def section(heading: str, body: str) -> str:
    """A heading (text) over some HTML."""
    return f"<section><h2>{as_markup(heading)}</h2>\n{body}</section>"


def folded(summary: str, body: str) -> str:
    """HTML that opens on a click; `summary` is text."""
    return f"<details><summary>{as_markup(summary)}</summary>{body}</details>"
