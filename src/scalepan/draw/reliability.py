"""A reliability diagram: what a number says beside what came of it, in a terminal and as SVG."""

from collections.abc import Sequence
from typing import NamedTuple

from scalepan.draw.markup import as_markup
from scalepan.draw.svg import COLORS, DOWN, QUIET, TOTAL, _svg
from scalepan.draw.table import DrawnTable

SCALE = 40
"""Characters of the terminal's scale from 0 to 1; with the figures beside it, it fits 80 columns."""
SIDE, LEFT, TOP, FOOT, RIGHT = 360, 46, 34, 44, 20
GROUND = "#fff"
LARGEST = 9
CALIBRATED = "#c9a227"


class ReliabilityMark(NamedTuple):
    """Cases with about the same number."""

    stated: float
    actual: float
    low: float
    high: float
    """The ends of the interval of `actual`."""
    cases: int


def reliability_table(marks: Sequence[ReliabilityMark]) -> DrawnTable:
    """A line for each mark: what was stated, what was right, and both on a scale from 0 to 1."""
    rows = [[f"{one.stated:.3f}", f"{one.actual:.3f}", f"{one.cases:,}", scale(one)] for one in marks]
    legend = "○ said  ● was right, with its 95 % interval"
    return DrawnTable(["said", "right", "cases", legend], rows, right=["said", "right", "cases"])


def scale(mark: ReliabilityMark) -> str:
    """One mark on a scale from 0 to 1.

    >>> scale(ReliabilityMark(0.9, 0.5, 0.4, 0.6, 100))
    '│···············────●────···········○···│'
    """
    line = ["·"] * (SCALE + 1)
    line[0] = line[-1] = "│"
    low, high, actual, stated = (round(at * SCALE) for at in (mark.low, mark.high, mark.actual, mark.stated))
    line[low : high + 1] = "─" * (high - low + 1)
    line[stated] = "○"
    line[actual] = "◉" if actual == stated else "●"
    return "".join(line)


def reliability_svg(
    marks: Sequence[ReliabilityMark],
    calibrated: Sequence[ReliabilityMark] = (),
    *,
    threshold: tuple[str, float] | None = None,
    title: str,
) -> str:
    """What was stated to the right, what was right upward; on the diagonal the number keeps its word.

    A dot's area is its number of cases. `calibrated` is the same number after a curve; `threshold` a named line.
    """
    width, height = LEFT + SIDE + RIGHT, TOP + SIDE + FOOT
    body = [
        f"<desc>{as_markup(_described(marks))}</desc>",
        f'<rect width="{width}" height="{height}" fill="{GROUND}"/>',
        _legend(calibrated),
        f'<rect x="{LEFT}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="{QUIET}"/>',
        f'<line x1="{LEFT}" y1="{TOP + SIDE}" x2="{LEFT + SIDE}" y2="{TOP}" stroke="{QUIET}" stroke-dasharray="4 4"/>',
        _ticks(),
    ]
    if threshold is not None:
        name, at = threshold
        anchor, shift = ("end", -5) if at > 0.5 else ("start", 5)
        body.append(
            f'<line x1="{_x(at):.1f}" y1="{TOP}" x2="{_x(at):.1f}" y2="{TOP + SIDE}" stroke="{DOWN}" stroke-width="2"/>'
            f'<text x="{_x(at) + shift:.1f}" y="{TOP + SIDE - 8}" text-anchor="{anchor}" fill="{DOWN}">'
            f"{as_markup(name)}</text>"
        )
    most = max((one.cases for one in (*marks, *calibrated)), default=1)
    body += [_dot(one, most, CALIBRATED) for one in calibrated]
    body += [_dot(one, most, COLORS["measured"]) for one in marks]
    return _svg(width, height, "".join(body), title)


def _described(marks: Sequence[ReliabilityMark]) -> str:
    """The text alternative of the picture."""
    return " ".join(
        f"Said {one.stated:.3f}: {one.actual:.3f} right ({one.low:.3f} to {one.high:.3f}, {one.cases:,} cases)."
        for one in marks
    )


def _legend(calibrated: Sequence[ReliabilityMark]) -> str:
    names = [("as it is", COLORS["measured"]), *([("calibrated, held out", CALIBRATED)] if calibrated else [])]
    return "".join(
        f'<circle cx="{LEFT + 6 + number * 110}" cy="16" r="5" fill="{color}"/>'
        f'<text x="{LEFT + 16 + number * 110}" y="21" fill="{TOTAL}">{name}</text>'
        for number, (name, color) in enumerate(names)
    )


def _ticks() -> str:
    ticks = "".join(
        f'<text x="{_x(tick):g}" y="{TOP + SIDE + 17}" text-anchor="middle" fill="{QUIET}">{tick:g}</text>'
        f'<text x="{LEFT - 6}" y="{_y(tick) + 5:g}" text-anchor="end" fill="{QUIET}">{tick:g}</text>'
        for tick in (0, 0.25, 0.5, 0.75, 1)
    )
    return (
        f'{ticks}<text x="{LEFT + SIDE / 2:g}" y="{TOP + SIDE + 36}" text-anchor="middle" fill="{TOTAL}">said</text>'
        f'<text x="12" y="{TOP + SIDE / 2:g}" text-anchor="middle" fill="{TOTAL}" '
        f'transform="rotate(-90 12 {TOP + SIDE / 2:g})">was right</text>'
    )


def _dot(one: ReliabilityMark, most: int, color: str) -> str:
    x, radius = _x(one.stated), max(2.5, LARGEST * (one.cases / most) ** 0.5)
    said = f"said {one.stated:.3f}, {one.actual:.3f} right ({one.low:.3f} to {one.high:.3f}), {one.cases:,} cases"
    return (
        f'<line x1="{x:.1f}" y1="{_y(one.low):.1f}" x2="{x:.1f}" y2="{_y(one.high):.1f}" stroke="{color}" '
        f'stroke-width="2"/><circle cx="{x:.1f}" cy="{_y(one.actual):.1f}" r="{radius:.1f}" fill="{color}">'
        f"<title>{as_markup(said)}</title></circle>"
    )


def _x(at: float) -> float:
    return LEFT + at * SIDE


def _y(at: float) -> float:
    return TOP + (1 - at) * SIDE
