"""Week after week: how many traces, how valuable, how many calls failed. Three strips over one calendar."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from scalepan.draw.markup import as_markup
from scalepan.draw.svg import COLORS, DOWN, QUIET, TOTAL, _svg

WIDTH, LEFT, STRIP, GAP, FOOT = 520, 104, 56, 16, 22
MOST_WEEKS = 53
WIDEST_SLOT, LABEL_APART = 40.0, 36.0
LEAST_SCALE = 0.2
"""A strip of failures is at least this high, so that a few percent look like a few."""


class Week(NamedTuple):
    """What one week comes to."""

    monday: str
    traces: int
    median: float | None = None
    failed: float | None = None
    """The share of calls that failed; None if no log says."""


Place = tuple[float, Week | None]
"""Where a week stands, and what it comes to; None for one without a trace."""


def weeks_svg(weeks: Sequence[Week], *, title: str, ink: str = TOTAL, quiet: str = QUIET) -> str:
    """The last year of weeks; those without a trace are gaps."""
    known = {week.monday: week for week in weeks}
    slots = _calendar(sorted(known))
    step = min(WIDEST_SLOT, (WIDTH - LEFT) / max(len(slots), 1))
    places = [(LEFT + (number + 0.5) * step, known.get(monday)) for number, monday in enumerate(slots)]
    most = max((week.traces for week in known.values()), default=0)
    strips = [
        ("traces", f"up to {most:,}", _bars(places, step, most)),
        ("median value", "0 to 1", _line(places)),
    ]
    shares = [week.failed for week in known.values() if week.failed is not None]
    if shares:
        scale = max(LEAST_SCALE, *shares)
        strips.append(("calls failed", f"up to {scale * 100:.0f} %", _failures(places, step, scale)))
    body = []
    for number, (name, scale_of, drawn) in enumerate(strips):
        body.append(
            f'<g transform="translate(0 {number * (STRIP + GAP)})">'
            f'<text x="{LEFT - 10}" y="{STRIP / 2:g}" text-anchor="end" fill="{ink}">{name}</text>'
            f'<text x="{LEFT - 10}" y="{STRIP / 2 + 15:g}" text-anchor="end" font-size="12" fill="{quiet}">'
            f"{scale_of}</text>"
            f'<line x1="{LEFT}" y1="{STRIP}" x2="{WIDTH}" y2="{STRIP}" stroke="{quiet}" stroke-opacity="0.4"/>'
            f"{drawn}</g>"
        )
    bottom = len(strips) * (STRIP + GAP)
    body.append(_months(slots, step, bottom, quiet))
    return _svg(WIDTH, bottom + FOOT, "".join(body), title)


def _calendar(mondays: Sequence[str]) -> list[str]:
    """Every Monday from the first to the last, the last year of them."""
    if not mondays:
        return []
    last = date.fromisoformat(mondays[-1])
    weeks = min((last - date.fromisoformat(mondays[0])).days // 7 + 1, MOST_WEEKS)
    return [(last - timedelta(weeks=back)).isoformat() for back in range(weeks - 1, -1, -1)]


def _bars(places: Sequence[Place], step: float, most: int) -> str:
    return "".join(_bar(x, step, week.traces / most, COLORS["measured"], week) for x, week in places if week)


def _failures(places: Sequence[Place], step: float, scale: float) -> str:
    return "".join(
        _bar(x, step, week.failed / scale, DOWN, week) for x, week in places if week and week.failed is not None
    )


def _bar(x: float, step: float, share: float, color: str, week: Week) -> str:
    tall, wide = share * STRIP, max(step - 3, 1.0)
    return (
        f'<rect x="{x - wide / 2:.1f}" y="{STRIP - tall:.1f}" width="{wide:.1f}" height="{tall:.1f}" '
        f'fill="{color}"><title>{as_markup(_told(week))}</title></rect>'
    )


def _line(places: Sequence[Place]) -> str:
    """A dot per week, joined where weeks follow each other."""
    pieces: list[list[str]] = [[]]
    dots = []
    for x, week in places:
        if week is None or week.median is None:
            pieces.append([])
            continue
        y = (1 - week.median) * STRIP
        pieces[-1].append(f"{x:.1f},{y:.1f}")
        dots.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLORS["measured"]}">'
            f"<title>{as_markup(_told(week))}</title></circle>"
        )
    lines = [
        f'<polyline points="{" ".join(piece)}" fill="none" stroke="{COLORS["measured"]}" stroke-width="1.5"/>'
        for piece in pieces
        if len(piece) > 1
    ]
    return "".join([*lines, *dots])


def _told(week: Week) -> str:
    """A week in words, which a pointer shows."""
    median = f", median value {week.median:.2f}" if week.median is not None else ""
    failed = f", {week.failed * 100:.0f} % of calls failed" if week.failed is not None else ""
    return f"week of {week.monday}: {week.traces:,} traces{median}{failed}"


def _months(slots: Sequence[str], step: float, bottom: float, quiet: str) -> str:
    """The names of months under the first week of each, and the year where it begins."""
    body = []
    last, month = -LABEL_APART, ""
    for number, monday in enumerate(slots):
        x = LEFT + number * step
        if monday[:7] == month or x - last < LABEL_APART or x > WIDTH - LABEL_APART / 2:
            continue
        when = date.fromisoformat(monday)
        label = f"{when:%b %Y}" if not month or month[:4] != monday[:4] else f"{when:%b}"
        body.append(f'<text x="{x:.1f}" y="{bottom + 6:g}" font-size="12" fill="{quiet}">{label}</text>')
        last, month = x + (24 if " " in label else 0), monday[:7]
    return "".join(body)
