"""A Score as a picture: each part adds to the bar, each rule moves it, the end is the value."""

from typing import NamedTuple

from scalepan.draw.bins import Bins
from scalepan.draw.markup import as_markup
from scalepan.errors import printable, shorten
from scalepan.score import Score

LABEL_WIDTH, BAR_WIDTH, NOTE_WIDTH, ROW = 170, 320, 460, 26
NARROW_BAR_WIDTH, NUMBER_WIDTH = 230, 60
"""Where only the number stands beside the bar."""
# Distinct in hue and in lightness, so that they can be told apart without color too.
COLORS = {"measured": "#2f6fb2", "inherited": "#5aa7a7", "default": "#c9a227", "failed": "#b3443c"}
UP, DOWN, TOTAL, QUIET = "#3c8d40", "#b3443c", "#1f2933", "#52606d"
LONGEST_LABEL, LONGEST_NOTE = 26, 70
"""How much text fits, in characters; the tooltip has all of it."""


class _Row(NamedTuple):
    label: str
    start: float
    end: float
    color: str
    note: str


def score_svg(score: Score, *, ink: str = TOTAL, quiet: str = QUIET, notes: bool = True) -> str:
    """The waterfall of one Score; a score without a value is a line that says why.

    `ink` and `quiet` are the text colors: `currentColor` takes that of the page, light or dark. Without `notes` it is
    narrow enough for a phone.
    """
    wide, beside = (BAR_WIDTH, NOTE_WIDTH) if notes else (NARROW_BAR_WIDTH, NUMBER_WIDTH)
    width = LABEL_WIDTH + wide + beside
    if score.value is None:
        text = printable(f"{score.name}: not measured ({score.reason})")
        return _svg(width, ROW, f'<text x="4" y="17" fill="{ink}">{as_markup(text)}</text>', text)
    rows = _rows(score, score.value, ink, notes=notes)
    # A rule may pass beyond 0..1 before the clamp brings it back.
    high = max(1.0, *(max(row.start, row.end) for row in rows))
    low = min(0.0, *(min(row.start, row.end) for row in rows))
    body = []
    for number, row in enumerate(rows):
        y = number * ROW
        x0, x1 = (LABEL_WIDTH + (at - low) / (high - low) * wide for at in sorted((row.start, row.end)))
        body.append(
            f'<text x="{LABEL_WIDTH - 8}" y="{y + 17}" text-anchor="end" fill="{ink}">'
            f"{_cut(row.label, LONGEST_LABEL)}</text>"
            f'<rect x="{x0:.1f}" y="{y + 5}" width="{max(x1 - x0, 1.0):.1f}" height="{ROW - 10}" fill="{row.color}"/>'
            f'<text x="{LABEL_WIDTH + wide + 8}" y="{y + 17}" fill="{quiet}">{_cut(row.note, LONGEST_NOTE)}</text>'
        )
    return _svg(width, len(rows) * ROW, "".join(body), printable(f"{score.name} {score.value:.3f}"))


def _cut(text: str, longest: int) -> str:
    """Escaped text, shortened to fit, with all of it in a tooltip."""
    shown = as_markup(shorten(text, longest))
    return shown if len(text) <= longest else f"<title>{as_markup(shorten(text, 1000))}</title>{shown}"


def _rows(score: Score, value: float, ink: str, *, notes: bool) -> list[_Row]:
    rows, at = [], 0.0
    for part in score.parts:
        said = part.note if part.source == "measured" else f"{part.source}: {part.note}"
        note = f"{part.adds:+.3f}  {said}" if notes else f"{part.adds:+.3f}"
        rows.append(_Row(part.name, at, at + part.adds, COLORS[part.source], note))
        at += part.adds
    for rule in score.rules:
        change = rule.after - rule.before
        color = UP if change > 0 else DOWN
        note = f"{change:+.3f}  {rule.note}" if notes else f"{change:+.3f}"
        rows.append(_Row(rule.name, rule.before, rule.after, color, note))
    rows.append(_Row(score.name, 0.0, value, ink, f"{value:.3f}"))
    return rows


def histogram_svg(
    bins: Bins, *, threshold: float | None = None, title: str, quiet: str = QUIET, mark: str = DOWN
) -> str:
    """How many numbers fall into each bin, with a line at the threshold."""
    width, height, foot = 520, 180, 22
    most = max(bins.counts) or 1
    step = width / len(bins.counts)
    body = []
    for number, ((low, high), count) in enumerate(zip(bins.edges(), bins.counts, strict=True)):
        tall = count / most * (height - 20)
        body.append(
            f'<rect x="{number * step + 1:.1f}" y="{height - tall:.1f}" width="{step - 2:.1f}" height="{tall:.1f}" '
            f'fill="{COLORS["measured"]}"><title>{low:.2f} to {high:.2f}: {count:,}</title></rect>'
        )
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = min(max(tick * width, 10), width - 10)
        body.append(f'<text x="{x:g}" y="{height + 16}" text-anchor="middle" fill="{quiet}">{tick:g}</text>')
    if threshold is not None:
        x = threshold * width
        body.append(
            f'<line x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height}" stroke="{mark}" stroke-dasharray="4 3"/>'
            f'<text x="{x - 6:.1f}" y="12" text-anchor="end" fill="{mark}">gate {threshold:g}</text>'
        )
    return _svg(width, height + foot, "".join(body), title)


def inline(svg: str) -> str:
    """An SVG inside an HTML page, where it needs no namespace."""
    return svg.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1)


def _svg(width: float, height: float, body: str, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'role="img" aria-label="{as_markup(title)}" font-family="system-ui, sans-serif" font-size="13">'
        f"<title>{as_markup(title)}</title>{body}</svg>"
    )
