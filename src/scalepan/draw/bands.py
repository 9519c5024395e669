"""A score against each factor it depends on: one small chart each, with the thresholds as bands behind the curve."""

from collections.abc import Iterable, Sequence
from math import isfinite

from scalepan.draw.markup import as_markup
from scalepan.draw.svg import COLORS, TOTAL, _svg

Curve = tuple[str, Sequence[float], Sequence[float], float, float]
"""What is varied, its values, the score at each, and where both are now."""
Band = tuple[str, float, float]
"""A name, and from which score to which it holds."""

COLUMNS, FRAME_WIDTH, FRAME_HEIGHT = 3, 240, 150
LEFT, TOP, GAP, FOOT, LEGEND = 36, 26, 14, 24, 34
CELL_WIDTH, CELL_HEIGHT = LEFT + FRAME_WIDTH + GAP, TOP + FRAME_HEIGHT + FOOT
# Pale, so that the curve stands out, on their own background, so that text is readable on a dark page too.
BAND_COLORS = ("#cfe8d2", "#d3e3f5", "#f7eabf", "#f4d0cb")
GROUND, QUIET = "#fff", "#52606d"
TICK_APART = 11


def bands_svg(curves: Sequence[Curve], bands: Sequence[Band], *, title: str = "The score against each factor") -> str:
    """A chart for each curve, the score from 0 to 1 upward, with a dot where it is now; `bands` from the top down."""
    columns = min(COLUMNS, max(len(curves), 1))
    rows = -(-len(curves) // columns)
    # The legend needs the width of two charts even if there is one.
    width = GAP + max(columns, 2) * CELL_WIDTH
    height = LEGEND + rows * CELL_HEIGHT + GAP
    body = [
        f"<desc>{as_markup(_described(curves, bands))}</desc>",
        f'<rect width="{width}" height="{height}" fill="{GROUND}"/>',
        _legend(bands, width),
    ]
    for number, curve in enumerate(curves):
        left = GAP + number % columns * CELL_WIDTH + LEFT
        top = LEGEND + number // columns * CELL_HEIGHT + TOP
        body.append(_chart(curve, bands, left, top))
    return _svg(width, height, "".join(body), title)


def _described(curves: Sequence[Curve], bands: Sequence[Band]) -> str:
    """The text alternative of the chart."""
    said = [f"{name}: {low:g} to {high:g}." for name, low, high in bands]
    for name, _, ys, x, y in curves:
        known = [value for value in ys if isfinite(value)]
        reach = f", between {min(known):.3f} and {max(known):.3f} as it varies" if known else ""
        said.append(f"{name} is {x:g}: the score is {y:.3f}{reach}.")
    return " ".join(said)


def _legend(bands: Sequence[Band], width: float) -> str:
    step = (width - 2 * GAP) / max(len(bands), 1)
    return "".join(
        f'<rect x="{GAP + number * step:.1f}" y="10" width="14" height="14" fill="{_color(number)}" stroke="{QUIET}"/>'
        f'<text x="{GAP + number * step + 20:.1f}" y="22" fill="{TOTAL}">{as_markup(name)} {low:g} to {high:g}</text>'
        for number, (name, low, high) in enumerate(bands)
    )


def _chart(curve: Curve, bands: Sequence[Band], left: float, top: float) -> str:
    name, xs, ys, x, y = curve
    low, high = min([*xs, x]), max([*xs, x])

    def at(x: float, y: float) -> tuple[float, float]:
        share = (x - low) / (high - low) if high > low else 0.5
        return left + share * FRAME_WIDTH, _height(y, top)

    body = [f'<text x="{left}" y="{top - 8}" fill="{TOTAL}">{as_markup(name)} = {x:g}</text>']
    for number, (band, bottom, ceiling) in enumerate(bands):
        body.append(
            f'<rect x="{left}" y="{_height(ceiling, top):.1f}" width="{FRAME_WIDTH}" '
            f'height="{_height(bottom, top) - _height(ceiling, top):.1f}" fill="{_color(number)}">'
            f"<title>{as_markup(band)}: {bottom:g} to {ceiling:g}</title></rect>"
        )
    body.append(
        f'<rect x="{left}" y="{top}" width="{FRAME_WIDTH}" height="{FRAME_HEIGHT}" fill="none" stroke="{QUIET}"/>'
        f"{_ticks(bands, left, top)}"
        f'<text x="{left}" y="{top + FRAME_HEIGHT + 15}" font-size="11" fill="{QUIET}">{low:g}</text>'
        f'<text x="{left + FRAME_WIDTH}" y="{top + FRAME_HEIGHT + 15}" text-anchor="end" font-size="11" '
        f'fill="{QUIET}">{high:g}</text>'
    )
    for piece in _pieces(zip(xs, ys, strict=True)):
        points = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in piece)
        body.append(f'<polyline points="{points}" fill="none" stroke="{COLORS["measured"]}" stroke-width="2"/>')
    cx, cy = at(x, y)
    body.append(
        f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="5" fill="{TOTAL}" stroke="{GROUND}" stroke-width="1.5">'
        f"<title>{as_markup(name)} {x:g}: {y:.3f}</title></circle>"
    )
    return "".join(body)


def _ticks(bands: Sequence[Band], left: float, top: float) -> str:
    """The scores at which bands meet, from the top down, without labels that would overlap."""
    body, last = [], float("-inf")
    for score in sorted({0.0, 1.0, *(edge for _, low, high in bands for edge in (low, high))}, reverse=True):
        y = _height(score, top)
        if y - last >= TICK_APART:
            body.append(
                f'<text x="{left - 5}" y="{y + 4:.1f}" text-anchor="end" font-size="11" fill="{QUIET}">{score:g}</text>'
            )
            last = y
    return "".join(body)


def _pieces(points: Iterable[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """The curve without the points that have no score."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if isfinite(y):
            pieces[-1].append((x, y))
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _height(score: float, top: float) -> float:
    return top + (1 - min(max(score, 0.0), 1.0)) * FRAME_HEIGHT


def _color(number: int) -> str:
    return BAND_COLORS[number % len(BAND_COLORS)]
