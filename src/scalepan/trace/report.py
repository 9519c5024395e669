"""A run of valued traces as one HTML page: how values are spread, and each trace with its picture."""

from scalepan.draw.html import folded, page, section
from scalepan.draw.markup import as_markup
from scalepan.draw.svg import histogram_svg, score_svg
from scalepan.errors import counted
from scalepan.trace.batch import Summary, Valued


def report_page(summary: Summary) -> str:
    """The page; of a long run it shows the best traces."""
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
        "What these traces are worth",
        [
            f"<p>{as_markup(counts)}.</p>",
            *(f'<p class="quiet">{as_markup(note)}: a default stands in.</p>' for note in notes),
            section("How the values are spread", spread),
            section(f"{heading}, each opens on a click", "\n".join(map(_row, rows))),
        ],
    )


def _row(row: Valued) -> str:
    details = row.score.details
    why = f"<p>{as_markup(row.trace.task.objective)}</p>{score_svg(row.score)}<p>{as_markup(str(details.gate))}</p>"
    return folded(f"{row.value:.3f}  {details.gate.verdict}  {row.trace.id}  ({details.domain})", why)
