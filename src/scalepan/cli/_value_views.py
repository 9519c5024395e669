"""What 'scalepan value' shows: one trace, and the summary of a run."""

from collections.abc import Iterable, Sequence
from typing import Any

from scalepan.errors import counted, printable, shorten
from scalepan.trace.overview.columns import GROUP_COLUMNS, TOOL_COLUMNS, telling
from scalepan.trace.overview.headline import headline
from scalepan.trace.overview.listing import ListedTrace
from scalepan.trace.overview.model import ExtremeTrace, GroupFigures, Overview, RepeatsFigures, ToolFigures
from scalepan.trace.valued import Valued

SHOWN_ID, SHOWN_NAME, SHOWN_OBJECTIVE = 24, 34, 150
MOST_ROWS, MOST_WEEKS, MOST_GROUPS, MOST_REASONS = 10, 12, 5, 8
WIDEST = 100
"""Sentences are not wider than this on a wide screen."""
TITLES = {
    "project": "by project",
    "week": "by week (from Monday)",
    "domain": "by domain",
    "format": "by format",
    "model": "by model",
    "agent": "agents and sub-agents",
}


def short_id(id_: str) -> str:
    """A trace's id as tables show it; `--explain` takes it in either form, and its beginning."""
    return id_.removeprefix("kp:trace:")


def explanation(row: Valued) -> list[Any]:
    """One trace for people: what it was about, the table, the gate and the evidence."""
    from rich.text import Text

    from scalepan.draw.terminal import score_table

    details = row.score.details
    lines: list[Any] = [
        Text.assemble((printable(row.trace.id), "bold"), f"  {printable(row.trace.task.objective)}"),
        Text(f"domain {printable(details.domain)}, weights of '{details.profile}'", "dim"),
        score_table(row.score),
        Text.assemble("gate   ", str(details.gate)),
    ]
    if details.range:
        lines.append(Text(f"range  {details.range[0]:.3f} to {details.range[1]:.3f}, as not everything is stated"))
    if details.text_length is not None:
        cut = ", of which the encoder saw the beginning" if details.text_cut else ""
        lines.append(Text(f"text   {counted(details.text_length, 'character')}{cut}", "dim"))
    lines.append(Text(f"time   {details.took_ms:.3f} ms", "dim"))
    return lines


def summary_view(overview: Overview, rows: Sequence[ListedTrace]) -> list[Any]:
    """A run for people. `rows` are its traces if they are few, else none."""
    from scalepan.draw.bins import Bins
    from scalepan.draw.terminal import histogram

    bins = Bins()
    bins.counts = [sum(overview.histogram[at : at + 2]) for at in range(0, len(overview.histogram), 2)]
    marks = [(gate, "gate") for gate in overview.gates if len(overview.gates) == 1]
    return [
        *_headline(overview),
        *_sentences("what stands out", overview.stands_out),
        *_rows(rows),
        *(_titled("how the values are spread", histogram(bins, marks=marks)) if overview.traces else []),
        *(part for name in TITLES for part in _group(name, overview.groups.get(name, ()))),
        *_tools(overview.tools),
        *_extremes("the best", overview.best),
        *_extremes("the worst", overview.worst),
        *_repeats("exact repeats: the same request, the same tools in the same order", overview.exact_repeats),
        *_repeats(f"near-duplicates: at least {overview.near_duplicate:g} similar", overview.near_repeats),
        *_rejects(overview),
        *_sentences("not measured", overview.not_measured),
    ]


def _headline(overview: Overview) -> list[Any]:
    from rich.text import Text

    first, *others = headline(overview)
    return [Text(first, "bold"), *map(Text, others)]


def _titled(title: str, body: Any) -> list[Any]:
    from rich.text import Text

    return ["", Text(title, "bold"), body]


def _sentences(title: str, sentences: Iterable[str]) -> list[Any]:
    from rich.console import Group

    lines = [_hanging("-", sentence) for sentence in sentences]
    return _titled(title, Group(*lines)) if lines else []


def _hanging(label: str, text: str) -> Any:
    """Text beside its label, further lines below the first."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", max_width=WIDEST)
    grid.add_row(label, Text(printable(text)))
    return grid


def _rows(rows: Sequence[ListedTrace]) -> list[Any]:
    """Every trace of a short run."""
    if not rows:
        return []
    from rich.text import Text

    from scalepan.draw.terminal import table, value_style

    drawn = table(
        ["trace", "value", "C", "N", "D", "O", "gate", "rules"],
        [
            [
                shorten(short_id(row.id), SHOWN_ID),
                Text(f"{row.value:.3f}", value_style(row.value)),
                *(
                    f"{p.value:.2f}" if p.source == "measured" else Text(f"{p.value:.2f}*", "yellow")
                    for p in row.score.parts
                ),
                "share" if row.passed else "keep",
                ", ".join(rule.name for rule in row.score.rules),
            ]
            for row in rows
        ],
        right=["value", "C", "N", "D", "O"],
    )
    starred = any(part.source != "measured" for row in rows for part in row.score.parts)
    return ["", drawn, *([Text("* not measured, a default stands in", "yellow")] if starred else [])]


def _group(name: str, rows: Sequence[GroupFigures]) -> list[Any]:
    """A table of one dimension: the largest groups, or the last weeks."""
    if not rows:
        return []
    from scalepan.draw.terminal import table

    most = MOST_WEEKS if name == "week" else MOST_ROWS
    shown = rows[-most:] if name == "week" else rows[:most]
    columns = telling(GROUP_COLUMNS, rows)
    drawn = table(
        ["", *(column.title for column in columns)],
        [
            [
                _tail(row.name) if name == "project" else shorten(row.name, SHOWN_NAME),
                *(column.cell(row) for column in columns),
            ]
            for row in shown
        ],
        right=[column.title for column in columns],
    )
    left = len(rows) - len(shown)
    earlier = "earlier" if name == "week" else "more"
    return _titled(TITLES[name] + (f", {left:,} {earlier} not shown" if left else ""), drawn)


def _tail(path: str) -> str:
    """The end of a path, where its name is."""
    return path if len(path) <= SHOWN_NAME else f"…{path[1 - SHOWN_NAME :]}"


def _tools(tools: Sequence[ToolFigures]) -> list[Any]:
    if not tools:
        return []
    from scalepan.draw.terminal import table

    columns = telling(TOOL_COLUMNS, tools)
    drawn = table(
        ["", *(column.title for column in columns)],
        [[shorten(tool.name, SHOWN_NAME), *(column.cell(tool) for column in columns)] for tool in tools[:MOST_ROWS]],
        right=[column.title for column in columns],
    )
    left = len(tools) - MOST_ROWS
    return _titled("by tool" + (f", {left:,} more not shown" if left > 0 else ""), drawn)


def _extremes(title: str, rows: Sequence[ExtremeTrace]) -> list[Any]:
    if not rows:
        return []
    from rich.console import Group
    from rich.text import Text

    from scalepan.draw.terminal import value_style

    lines: list[Any] = []
    for row in rows:
        objective = shorten(row.objective, SHOWN_OBJECTIVE) or "(no objective)"
        lines.append(
            Text.assemble((f"{row.value:.3f}", value_style(row.value)), f"  {shorten(short_id(row.id), SHOWN_ID)}")
        )
        lines.append(_hanging("      ", objective))
        lines.append(_hanging("      ", row.why))
    return _titled(title, Group(*lines))


def _repeats(title: str, repeats: RepeatsFigures | None) -> list[Any]:
    if repeats is None or not repeats.largest:
        return []
    from rich.console import Group

    shown = repeats.largest[:MOST_GROUPS]
    lines = [_hanging(f"{row.traces:>5,} ×", shorten(row.objective, SHOWN_OBJECTIVE)) for row in shown]
    left = repeats.groups - len(shown)
    if left > 0:
        lines.append(_hanging("       ", f"and {counted(left, 'more group')}"))
    return _titled(title, Group(*lines))


def _rejects(overview: Overview) -> list[Any]:
    if not overview.rejects:
        return []
    from rich.console import Group

    shown = overview.rejects[:MOST_REASONS]
    lines = [
        _hanging(f"{row.count:>5,} ×", f"{row.reason}" + (f"  (first at {row.where})" if row.where else ""))
        for row in shown
    ]
    left = sum(row.count for row in overview.rejects[MOST_REASONS:])
    if left:
        lines.append(_hanging(f"{left:>5,} ×", "for other reasons"))
    return _titled(f"rejected: {counted(overview.rejected, 'record')}", Group(*lines))
