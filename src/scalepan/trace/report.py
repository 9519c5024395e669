"""A run of valued traces as one HTML page: what stands out, how values are spread, and each trace with its chart."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from scalepan.draw import browse
from scalepan.draw.bins import Bins
from scalepan.draw.browse import Item, browsed
from scalepan.draw.html import figures, page, section
from scalepan.draw.markup import as_markup
from scalepan.draw.svg import histogram_svg, inline, score_svg
from scalepan.draw.weeks import MOST_WEEKS, Week, weeks_svg
from scalepan.errors import counted
from scalepan.redact import Redactor
from scalepan.score import Score
from scalepan.trace.overview.columns import GROUP_COLUMNS, TOOL_COLUMNS, FigureColumn, telling
from scalepan.trace.overview.headline import what_was_read
from scalepan.trace.overview.made import NOT_STATED, shown_traces
from scalepan.trace.overview.model import ExtremeTrace, GroupFigures, Overview, RepeatsFigures, ShownTrace, ToolFigures
from scalepan.trace.overview.notable import amount, share
from scalepan.trace.summary import Summary

INK, QUIET = "currentColor", "var(--quiet)"
MOST_ROWS = 20
TABLES = {
    "project": "By project",
    "domain": "By domain",
    "format": "By format",
    "model": "By model",
    "agent": "Agents and sub-agents",
}
Figures = TypeVar("Figures", bound=GroupFigures | ToolFigures)
STYLE = """
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.4rem, 1fr)); gap: .6rem; padding: 0;
         margin: 1rem 0; list-style: none; }
.cards li { background: var(--tint); border-radius: 6px; padding: .6rem .9rem; }
.cards b { display: block; font-size: 1.45rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.cards span { color: var(--quiet); font-size: .85rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 0 2.5rem; }
.pair > * { min-width: 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
         overflow-wrap: anywhere; }
th { font-size: .8rem; color: var(--quiet); font-weight: 600; } td:first-child:not(.n) { min-width: 8rem; }
th:last-child, td:last-child { padding-right: 0; } .n { text-align: right; white-space: nowrap; }
a { color: var(--accent); } .told { padding-left: 1.2rem; } .told li { margin: .25rem 0; }
.extreme { border-left: 4px solid var(--line); padding: .1rem 0 .1rem .8rem; margin: .8rem 0; }
.extreme.good { border-color: var(--good); } .extreme.bad { border-color: var(--bad); }
.extreme p { margin: .1rem 0; overflow-wrap: anywhere; }
.inside { display: flex; flex-wrap: wrap; gap: .4rem 2rem; }
.inside svg { flex: 0 1 32rem; min-width: 0; align-self: start; }
.inside dl { flex: 1 1 18rem; margin: 0; font-size: .9rem; min-width: 0; overflow-wrap: anywhere; }
.inside dt { font-weight: 600; } .inside dd { margin: 0 0 .3rem; color: var(--quiet); }
.where { flex: 1 1 100%; margin: 0; font-size: .85rem; color: var(--quiet); overflow-wrap: anywhere; }
@media print { #controls, #shown { display: none; } .head { position: static; } }
"""


def report_page(overview: Overview, summary: Summary, redactor: Redactor) -> str:
    """The page. Every text in it is redacted; for a long run it lists the best, the worst and a sample."""
    traces = shown_traces(summary, redactor)
    sections = [
        _intro(overview),
        _cards(overview),
        _told("What stands out", overview.stands_out),
        f'<div class="pair">{_spread(overview)}{_weeks(overview)}</div>',
        f'<div class="pair">{_extremes("The best", "good", overview.best)}'
        f"{_extremes('The worst', 'bad', overview.worst)}</div>",
        *(_group(heading, overview.groups.get(name, ())) for name, heading in TABLES.items()),
        _tools(overview.tools),
        _repeats("Exact repeats", "The same request, the same tools in the same order.", overview.exact_repeats),
        _repeats("Near-duplicates", f"At least {overview.near_duplicate:g} similar.", overview.near_repeats),
        _rejects(overview),
        _told("Not measured", overview.not_measured),
        _list(overview, traces, complete=summary.listing.complete),
    ]
    return page(
        "How valuable these traces are",
        [part for part in sections if part],
        style=STYLE + browse.STYLE,
        script=browse.SCRIPT,
    )


def _intro(overview: Overview) -> str:
    read = as_markup(what_was_read(overview))
    return f'<p class="quiet">{read}. <a href="#traces">To the list of traces</a></p>'


def _cards(overview: Overview) -> str:
    total = overview.total
    gate = f"gate {overview.gates[0]:g}" if len(overview.gates) == 1 else "gates by domain"
    cards = [
        ("" if total.median is None else f"{total.median:.2f}", "median value"),
        (f"{overview.passed:,}", f"to share ({share(total.passed_share)}, {gate})"),
        (f"{overview.traces - overview.passed:,}", "to keep"),
    ]
    if total.stated:
        cards.append((share(total.succeeded_share), f"succeeded (of {total.stated:,} that state it)"))
    if total.calls:
        cards.append((f"{total.calls:,}", "calls of tools"))
    if total.failed_share is not None:
        cards.append((share(total.failed_share), "of calls failed"))
    if total.recovered_share is not None:
        cards.append((share(total.recovered_share), "worked again after a failure"))
    if total.refused:
        cards.append((f"{total.refused:,}", "calls refused"))
    if total.with_tokens:
        cards.append((amount(total.input_tokens + total.output_tokens), "tokens"))
    if overview.rejected:
        cards.append((f"{overview.rejected:,}", "records rejected"))
    drawn = "".join(f"<li><b>{as_markup(number)}</b><span>{as_markup(name)}</span></li>" for number, name in cards)
    return f'<ul class="cards">{drawn}</ul>'


def _told(heading: str, sentences: Iterable[str]) -> str:
    items = "".join(f"<li>{as_markup(sentence)}</li>" for sentence in sentences)
    return section(heading, f'<ul class="told">{items}</ul>') if items else ""


def _spread(overview: Overview) -> str:
    bins = Bins(len(overview.histogram))
    bins.counts = overview.histogram
    threshold = overview.gates[0] if len(overview.gates) == 1 else None
    drawn = histogram_svg(bins, threshold=threshold, title="How the values are spread", quiet=QUIET, mark="var(--bad)")
    return section("How the values are spread", inline(drawn))


def _weeks(overview: Overview) -> str:
    weeks = [row for row in overview.groups.get("week", ()) if row.name[:1].isdigit()]
    if len(weeks) < 2:
        return ""
    drawn = weeks_svg(
        [Week(row.name, row.traces, row.median, row.failed_share) for row in weeks],
        title="Traces, their median value and failed calls by week",
        ink=INK,
        quiet=QUIET,
    )
    heading = "Week by week" if len(weeks) <= MOST_WEEKS else f"Week by week, the last {MOST_WEEKS}"
    return section(heading, inline(drawn))


def _extremes(heading: str, kind: str, rows: Sequence[ExtremeTrace]) -> str:
    drawn = "".join(
        f'<div class="extreme {kind}"><p><b>{row.value:.3f}</b> {as_markup(row.objective or "(no objective)")}</p>'
        f'<p class="quiet">{as_markup(row.why)}</p></div>'
        for row in rows
    )
    return section(heading, drawn) if rows else ""


def _group(heading: str, rows: Sequence[GroupFigures]) -> str:
    return section(_cut(heading, len(rows)), _table(GROUP_COLUMNS, rows)) if rows else ""


def _tools(tools: Sequence[ToolFigures]) -> str:
    return section(_cut("By tool", len(tools)), _table(TOOL_COLUMNS, tools)) if tools else ""


def _table(columns: Sequence[FigureColumn[Figures]], rows: Sequence[Figures]) -> str:
    shown = telling(columns, rows)
    return figures(
        ["", *(column.title for column in shown)],
        ([row.name, *(column.cell(row) for column in shown)] for row in rows[:MOST_ROWS]),
    )


def _cut(heading: str, rows: int) -> str:
    return heading if rows <= MOST_ROWS else f"{heading}, {rows - MOST_ROWS:,} more not shown"


def _repeats(heading: str, what: str, repeats: RepeatsFigures | None) -> str:
    if repeats is None or not repeats.largest:
        return ""
    rows = ([f"{row.traces:,}", row.objective or "(no objective)", row.where] for row in repeats.largest)
    left = repeats.groups - len(repeats.largest)
    more = f'<p class="quiet">and {counted(left, "more group")}</p>' if left > 0 else ""
    drawn = figures(["traces", "request", "one of them"], rows, text=(1, 2))
    return section(heading, f'<p class="quiet">{as_markup(what)}</p>{drawn}{more}')


def _rejects(overview: Overview) -> str:
    if not overview.rejects:
        return ""
    rows = ([f"{row.count:,}", row.reason, row.where] for row in overview.rejects[:MOST_ROWS])
    heading = _cut(f"Rejected: {counted(overview.rejected, 'record')}", len(overview.rejects))
    return section(heading, figures(["records", "why", "first at"], rows, text=(1, 2)))


def _list(overview: Overview, traces: Sequence[ShownTrace], *, complete: bool) -> str:
    """Every trace that is shown, with its chart."""
    names = {
        "Project": [trace.project or NOT_STATED for trace in traces],
        "Domain": [trace.domain for trace in traces],
        "Format": [trace.format for trace in traces],
    }
    filters = {name: sorted(set(found)) for name, found in names.items() if len(set(found)) > 1}
    places = {name: {one: at for at, one in enumerate(found)} for name, found in filters.items()}
    items = (_item(trace, tuple(places[name][names[name][at]] for name in filters)) for at, trace in enumerate(traces))
    left = (
        ""
        if complete
        else f'<p class="quiet">The best, the worst and a random sample: {len(traces):,} of '
        f"{counted(overview.traces, 'trace')}. --out writes a row for every one.</p>"
    )
    heading = "Every trace" if complete else f"{len(traces):,} traces"
    columns = ["Value", "Request", "Steps", "Calls", "Failed", "Date"]
    return section(heading, f'{left}<a id="traces"></a>{browsed(columns, filters, items)}')


def _item(trace: ShownTrace, facets: tuple[int, ...]) -> Item:
    title = trace.objective or "(no objective)"
    about = [trace.project, trace.domain, trace.model or trace.format, "sub-agent" if trace.sub_agent else None]
    failed = "" if trace.failed is None else f"{trace.failed:,}"
    where = f"{trace.id}  {trace.where}".strip()
    return Item(
        keys=(round(trace.value, 4), title[:40].lower(), trace.steps, trace.calls, trace.failed, trace.day),
        facets=facets,
        value=f"{trace.value:.3f}",
        good=trace.passed,
        title=title,
        about=" · ".join(one for one in about if one),
        numbers=(f"{trace.steps:,}", f"{trace.calls:,}", failed, trace.day or ""),
        body=f"{inline(score_svg(trace.score, ink=INK, quiet=QUIET, notes=False))}{_notes(trace.score)}"
        f'<p class="where">{as_markup(where)}</p>',
    )


def _notes(score: Score) -> str:
    """What is behind each part and rule."""
    parts = [
        (
            part.name,
            f"{part.value:.2f} × {part.weight:.2f}"
            + (f", {part.source}" if part.source != "measured" else "")
            + (f": {part.note}" if part.note else ""),
        )
        for part in score.parts
    ]
    rules = [(rule.name, rule.note) for rule in score.rules]
    rows = "".join(f"<dt>{as_markup(name)}</dt><dd>{as_markup(note)}</dd>" for name, note in (*parts, *rules))
    return f"<dl>{rows}</dl>"
