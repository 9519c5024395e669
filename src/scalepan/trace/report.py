"""A run of valued traces as one HTML page: the distribution of values, and each trace with its chart."""

from functools import partial

import msgspec

from scalepan.draw.html import folded, page, section
from scalepan.draw.markup import as_markup
from scalepan.draw.svg import histogram_svg, score_svg
from scalepan.errors import counted
from scalepan.redact import Redactor
from scalepan.score import Score
from scalepan.trace.summary import Summary, Valued


def report_page(summary: Summary, redactor: Redactor) -> str:
    """The page, redacted like everything stored; for a long run it shows the best traces."""
    whole = summary.count <= len(summary.first)
    rows = summary.first if whole else summary.top
    counts = (
        f"{counted(summary.count, 'trace')}, {summary.shared:,} to share, {summary.count - summary.shared:,} to keep"
    )
    notes = [f"{count:,} without a measured {name}" for name, count in summary.unmeasured.items()]
    thresholds = {row.score.details.gate.threshold for row in rows}
    spread = histogram_svg(
        summary.bins, threshold=thresholds.pop() if len(thresholds) == 1 else None, title="How the values are spread"
    )
    heading = "Every trace" if whole else f"The best {counted(len(rows), 'trace')}"
    return page(
        "How valuable these traces are",
        [
            f"<p>{as_markup(counts)}.</p>",
            *(f'<p class="quiet">{as_markup(note)}: a default stands in.</p>' for note in notes),
            section("How the values are spread", spread),
            section(f"{heading}, each opens on a click", "\n".join(map(partial(_row, redactor), rows))),
        ],
    )


def _row(redactor: Redactor, row: Valued) -> str:
    details = row.score.details
    objective, gate, id_, domain = (
        redactor.redact(text).text
        for text in (row.trace.task.objective, str(details.gate), row.trace.id, details.domain)
    )
    why = f"<p>{as_markup(objective)}</p>{score_svg(_redacted(row.score, redactor))}<p>{as_markup(gate)}</p>"
    return folded(f"{row.value:.3f}  {details.gate.verdict}  {id_}  ({domain})", why)


def _redacted(score: Score, redactor: Redactor) -> Score:
    """The same score with redacted notes, which may quote the trace."""
    parts = (msgspec.structs.replace(part, note=redactor.redact(part.note).text) for part in score.parts)
    rules = (msgspec.structs.replace(rule, note=redactor.redact(rule.note).text) for rule in score.rules)
    return msgspec.structs.replace(score, parts=tuple(parts), rules=tuple(rules))
