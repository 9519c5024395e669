"""One HTML page that needs nothing else: no fonts, no addresses, and no script but one that the page names by its hash.

Its policy (CSP) forbids everything that is not in it, so text that slipped through as HTML could not run either.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256

from scalepan.draw.markup import as_markup

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --quiet: #52606d; --ground: #fff; --line: #e4e7eb; --tint: #f5f7fa;
        --good: #2f7d33; --bad: #b3443c; --accent: #2f6fb2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --quiet: #9aa5b1; --ground: #12181f; --line: #323f4b; --tint: #1a222b; --good: #7cc47f;
          --bad: #e58a82; --accent: #74a9dd; }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink);
       background: var(--ground); }
h1 { font-size: 1.5rem; margin-bottom: .3rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
summary { cursor: pointer; font-variant-numeric: tabular-nums; white-space: pre-wrap; }
details { border-bottom: 1px solid var(--line); padding: .3rem 0; }
svg { max-width: 100%; height: auto; } .quiet { color: var(--quiet); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
"""


def page(title: str, sections: Iterable[str], *, style: str = "", script: str = "") -> str:
    """A whole document; `title` is text, `sections` are HTML, `style` and `script` are the program's own."""
    style = STYLE + style
    allowed = f"default-src 'none'; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    if script:
        allowed += f"; script-src {_hash(script)}"
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
        f"<title>{as_markup(title)}</title>"
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>\n'
        f"<body>\n<h1>{as_markup(title)}</h1>\n"
        + "\n".join(sections)
        + (f"\n<script>{script}</script>" if script else "")
        + "\n</body>\n</html>\n"
    )


def section(heading: str, body: str) -> str:
    """A heading (text) over some HTML."""
    return f"<section><h2>{as_markup(heading)}</h2>\n{body}</section>"


def folded(summary: str, body: str) -> str:
    """HTML that opens on a click; `summary` is text."""
    return f"<details><summary>{as_markup(summary)}</summary>{body}</details>"


def figures(columns: Sequence[str], rows: Iterable[Sequence[str]], *, text: Sequence[int] = (0,)) -> str:
    """A table of text; the columns numbered in `text` hold words, all others numbers."""
    left = set(text)

    def cell(tag: str, place: int, said: str) -> str:
        # Numbers in words stay where they are: only columns of numbers are aligned on the right.
        return f"<{tag}>{as_markup(said)}</{tag}>" if place in left else f'<{tag} class="n">{as_markup(said)}</{tag}>'

    head = "".join(cell("th", place, name) for place, name in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(cell("td", place, said) for place, said in enumerate(row)) + "</tr>\n" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _hash(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
