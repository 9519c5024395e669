"""What a notebook shows instead of text: the waterfall of a Score, a sentence with one, a table.

Text takes the color of the notebook around it, so light and dark themes both read well; everything from outside is
escaped, because a notebook would run HTML in names, notes and claims.
"""

from collections.abc import Iterable, Sequence

from scalepan.draw.markup import as_markup
from scalepan.draw.svg import score_svg
from scalepan.score import Score

INK = "currentColor"
CELL = "text-align:left;vertical-align:top;padding:.2em .8em .2em 0"


def score_html(score: Score) -> str:
    """The waterfall."""
    return f'<div style="overflow-x:auto">{score_svg(score, ink=INK, quiet=INK)}</div>'


def sentence_html(sentence: str, score: Score) -> str:
    """A sentence (text), and the score behind it."""
    return f"<div><p>{as_markup(sentence)}</p>{score_html(score)}</div>"


def table_html(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of text under a caption."""
    head = "".join(f'<th style="{CELL}">{as_markup(column)}</th>' for column in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL};white-space:pre-wrap">{as_markup(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<div><p>{as_markup(caption)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
