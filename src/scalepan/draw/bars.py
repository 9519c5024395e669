"""Figures side by side: a group of bars per measurement, with a line at each target."""

from collections.abc import Sequence
from typing import NamedTuple

from scalepan.draw.markup import as_markup
from scalepan.draw.svg import TOTAL, _svg

LABEL_WIDTH, BAR_WIDTH, NOTE_WIDTH, BAR, GAP, HEAD, FOOT = 130, 420, 90, 16, 12, 30, 22
# Distinct in hue and in lightness, so that they can be told apart without color too.
SERIES_COLORS = ("#2f6fb2", "#c9a227", "#3c8d40", "#b3443c")
QUIET = "#52606d"


class Series(NamedTuple):
    """A figure from 0 to 1 that every group has, and its target."""

    name: str
    limit: float | None = None


class Group(NamedTuple):
    """What was measured: a value for each series, or none and why."""

    label: str
    values: Sequence[float] = ()
    note: str = ""


def bars_svg(series: Sequence[Series], groups: Sequence[Group], *, title: str) -> str:
    """Bars from left to right, 0 to 1; a limit is a dashed line in the color of its series."""
    tall = len(series) * BAR
    bottom = HEAD + len(groups) * (tall + GAP)
    body = [_legend(series)]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = LABEL_WIDTH + tick * BAR_WIDTH
        body.append(
            f'<line x1="{x:g}" y1="{HEAD}" x2="{x:g}" y2="{bottom}" stroke="#e4e7eb"/>'
            f'<text x="{x:g}" y="{bottom + 16}" text-anchor="middle" fill="{QUIET}">{tick:g}</text>'
        )
    for number, group in enumerate(groups):
        body.append(_group(group, HEAD + number * (tall + GAP) + GAP / 2, tall))
    for number, one in enumerate(series):
        if one.limit is not None:
            x = LABEL_WIDTH + one.limit * BAR_WIDTH
            # Without a rim it would be invisible on a bar of its own color.
            body.append(
                f'<line x1="{x:.1f}" y1="{HEAD}" x2="{x:.1f}" y2="{bottom}" stroke="#fff" stroke-width="4"/>'
                f'<line x1="{x:.1f}" y1="{HEAD}" x2="{x:.1f}" y2="{bottom}" stroke="{SERIES_COLORS[number]}" '
                f'stroke-width="2" stroke-dasharray="5 3"><title>{as_markup(one.name)} {one.limit:g}</title></line>'
            )
    return _svg(LABEL_WIDTH + BAR_WIDTH + NOTE_WIDTH, bottom + FOOT, "".join(body), title)


def _legend(series: Sequence[Series]) -> str:
    body = []
    for number, one in enumerate(series):
        x = LABEL_WIDTH + number * 210
        limit = f", line at {one.limit:g}" if one.limit is not None else ""
        body.append(
            f'<rect x="{x}" y="6" width="12" height="12" fill="{SERIES_COLORS[number]}"/>'
            f'<text x="{x + 18}" y="17" fill="{TOTAL}">{as_markup(one.name + limit)}</text>'
        )
    return "".join(body)


def _group(group: Group, top: float, tall: float) -> str:
    body = [
        f'<text x="{LABEL_WIDTH - 8}" y="{top + tall / 2 + 5:g}" text-anchor="end" fill="{TOTAL}">'
        f"{as_markup(group.label)}</text>"
    ]
    if not group.values:
        said = f"not measured: {group.note}" if group.note else "not measured"
        shown = said if len(said) <= 70 else f"{said[:69]}…"
        body.append(
            f'<text x="{LABEL_WIDTH + 6}" y="{top + tall / 2 + 5:g}" fill="{QUIET}">{as_markup(shown)}'
            f"<title>{as_markup(said)}</title></text>"
        )
    for number, value in enumerate(group.values):
        y, wide = top + number * BAR, min(max(value, 0.0), 1.0) * BAR_WIDTH
        body.append(
            f'<rect x="{LABEL_WIDTH}" y="{y:g}" width="{wide:.1f}" height="{BAR - 2}" fill="{SERIES_COLORS[number]}"/>'
            f'<text x="{LABEL_WIDTH + BAR_WIDTH + 8}" y="{y + 12:g}" fill="{QUIET}">{value:.3f}</text>'
        )
    return "".join(body)
