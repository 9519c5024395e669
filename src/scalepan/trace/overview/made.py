"""An overview, made of a summary: sorted, added up and redacted."""

from collections.abc import Callable

from scalepan.redact import Redactor
from scalepan.score import Score
from scalepan.trace.overview.calls import CallCounts
from scalepan.trace.overview.cells import DIMENSIONS, OTHERS, REST
from scalepan.trace.overview.listing import ListedTrace, held
from scalepan.trace.overview.missing import Missing
from scalepan.trace.overview.model import (
    ExtremeTrace,
    GroupFigures,
    Overview,
    RejectFigures,
    RepeatFigures,
    RepeatsFigures,
    ShownTrace,
    ToolFigures,
)
from scalepan.trace.overview.notable import notable
from scalepan.trace.overview.reasons import why_high, why_low
from scalepan.trace.overview.repeats import NEAR_DUPLICATE, RepeatGroup
from scalepan.trace.overview.tally import Tally
from scalepan.trace.overview.texts import OBJECTIVE, REASON, CleanTexts
from scalepan.trace.overview.unmeasured import unmeasured
from scalepan.trace.summary import SUB_AGENT, Summary

EXTREMES, GROUPS_SHOWN = 3, 10
NOT_STATED = "not stated"
NO_NAME = "(no name)"


def overview_of(summary: Summary, redactor: Redactor) -> Overview:
    """What a summary says, with every text redacted."""
    texts = CleanTexts(redactor)
    total = _figures("all", summary.cells.total())
    groups = {dimension: _groups(summary, dimension, texts) for dimension in DIMENSIONS}
    tools = _tools(summary, texts)
    first, last = summary.days or (None, None)
    best, worst = _best_and_worst(summary)
    repeats = summary.repeats
    exact = _repeats(repeats.exact_traces, repeats.exact_groups, repeats.exact(GROUPS_SHOWN), texts)
    near = _repeats(repeats.near_traces, repeats.near_groups, repeats.near(GROUPS_SHOWN), texts)
    sub_agents = next((row.traces for row in groups["agent"] if row.name == SUB_AGENT), 0)
    return Overview(
        traces=summary.count,
        passed=summary.passed,
        gates=sorted(summary.thresholds),
        files=summary.files.count,
        skipped_files=summary.skipped,
        sessions=summary.sessions.count,
        exact=summary.files.exact and summary.sessions.exact,
        sub_agents=sub_agents,
        first_day=first,
        last_day=last,
        total=total,
        histogram=summary.bins.counts,
        groups={name: rows for name, rows in groups.items() if len(rows) > 1},
        tools=tools,
        best=_extremes(best, why_high, texts),
        worst=_extremes(worst, why_low, texts),
        exact_repeats=exact,
        near_repeats=near if repeats.compared else None,
        near_duplicate=NEAR_DUPLICATE,
        repeats_complete=not repeats.overflow,
        rejected=summary.rejects.count,
        rejects=_rejects(summary, texts),
        range=_range(summary.missing),
        not_measured=unmeasured(summary.missing, groups["format"], summary.count, texts, overflow=repeats.overflow),
        stands_out=notable(total, tools, groups, exact, sub_agents),
    )


def shown_traces(summary: Summary, redactor: Redactor) -> list[ShownTrace]:
    """Every trace that was kept to be shown, the best first."""
    texts = CleanTexts(redactor)
    rows = sorted(summary.listing.rows, key=lambda row: (-row.value, row.number))
    return [_shown(row, texts) for row in rows]


def _shown(row: ListedTrace, texts: CleanTexts) -> ShownTrace:
    return ShownTrace(
        id=texts.held(held(row.id), REASON),
        value=row.value,
        passed=row.passed,
        objective=texts.held(row.objective, OBJECTIVE),
        domain=texts.name(row.domain),
        format=texts.name(row.format),
        project=texts.path(row.project) if row.project is not None else None,
        model=texts.name(row.model) if row.model is not None else None,
        sub_agent=row.sub_agent,
        day=row.day,
        steps=row.steps,
        calls=row.calls,
        failed=row.failed if row.answered else None,
        recoveries=row.recoveries,
        where=texts.place(row.file, row.line),
        score=texts.score(row.score),
    )


def _best_and_worst(summary: Summary) -> tuple[list[ListedTrace], list[ListedTrace]]:
    """A few of each, in which no request and no trace comes twice."""
    rows = summary.listing.best(len(summary.listing.rows))
    best = _different(rows, set())
    return best, _different(summary.listing.worst(len(rows)), {row.number for row in best})


def _different(rows: list[ListedTrace], without: set[int]) -> list[ListedTrace]:
    found: dict[str, ListedTrace] = {}
    for row in rows:
        if row.number not in without and len(found) < EXTREMES:
            found.setdefault(row.objective.text or row.id, row)
    return list(found.values())


def _extremes(rows: list[ListedTrace], why: Callable[[Score], str], texts: CleanTexts) -> list[ExtremeTrace]:
    return [
        ExtremeTrace(
            id=texts.held(held(row.id), REASON),
            value=row.value,
            objective=texts.held(row.objective, OBJECTIVE),
            why=texts.text(why(row.score), OBJECTIVE),
            where=texts.place(row.file, row.line),
        )
        for row in rows
    ]


def _groups(summary: Summary, dimension: str, texts: CleanTexts) -> list[GroupFigures]:
    """The rows of one table: weeks in order, everything else by size, what has no name last."""
    shown = texts.path if dimension == "project" else texts.name
    found = []
    for name, tally in summary.cells.by(dimension).items():
        last = 2 if name is None else 1 if name is REST else 0
        label = NOT_STATED if name is None else OTHERS if name is REST else shown(name) or NO_NAME
        found.append((last, _figures(label, tally)))
    if dimension == "week":
        found.sort(key=lambda row: (row[0], row[1].name))
    else:
        found.sort(key=lambda row: (row[0], -row[1].traces, row[1].name))
    return [row for _, row in found]


def _figures(name: str, tally: Tally) -> GroupFigures:
    calls = tally.calls
    return GroupFigures(
        name=name,
        traces=tally.count,
        median=tally.median,
        passed=tally.passed,
        stated=tally.stated,
        succeeded=tally.succeeded,
        calls=calls.calls,
        failed_share=calls.failed_share,
        refused=calls.refused,
        recoveries=tally.recoveries,
        recovered_share=calls.recovered_share,
        with_tokens=tally.with_tokens,
        input_tokens=tally.input_tokens,
        output_tokens=tally.output_tokens,
    )


def _tools(summary: Summary, texts: CleanTexts) -> list[ToolFigures]:
    """Tools by their number of calls; those beyond the limit are one row at the end."""
    found = [_tool(texts.name(name) or NO_NAME, counts) for name, counts in summary.tools.items()]
    found.sort(key=lambda row: (-row.calls, row.name))
    return [*found, _tool(OTHERS, summary.other_tools)] if summary.other_tools.calls else found


def _tool(name: str, counts: CallCounts) -> ToolFigures:
    return ToolFigures(
        name=name,
        calls=counts.calls,
        answered=counts.answered,
        failed=counts.failed,
        failed_share=counts.failed_share,
        refused=counts.refused,
        setbacks=counts.setbacks,
        recovered=counts.recovered,
        recovered_share=counts.recovered_share,
    )


def _repeats(traces: int, groups: int, largest: list[RepeatGroup], texts: CleanTexts) -> RepeatsFigures:
    rows = [
        RepeatFigures(
            traces=group.size,
            objective=texts.held(group.example, OBJECTIVE),
            id=texts.held(held(group.id), REASON),
            where=texts.place(group.file, group.line),
        )
        for group in largest
    ]
    return RepeatsFigures(traces=traces, groups=groups, largest=rows)


def _rejects(summary: Summary, texts: CleanTexts) -> list[RejectFigures]:
    rejects = summary.rejects
    found = [
        RejectFigures(
            count=reason.count, reason=texts.held(reason.example, REASON), where=texts.place(reason.file, reason.line)
        )
        for reason in rejects.reasons
    ]
    others = RejectFigures(count=rejects.others, reason="for other reasons", where="")
    return [*found, others] if rejects.others else found


def _range(missing: Missing) -> tuple[float, float] | None:
    return (missing.worst / missing.ranges, missing.best / missing.ranges) if missing.ranges else None
