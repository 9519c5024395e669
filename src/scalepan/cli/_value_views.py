"""What 'scalepan value' shows: one trace, and the summary of a run."""

from typing import Any

from scalepan.errors import counted, printable, shorten
from scalepan.trace.summary import Summary, Valued

SHOWN_ID = 40


def short_id(id_: str) -> str:
    """A trace's id as tables show it; `--explain` takes it in either form."""
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


def summary_view(summary: Summary) -> list[Any]:
    """A run for people: the rows (all if few, else the best), how values are spread, how many pass the gate."""
    from rich.text import Text

    from scalepan.draw.terminal import histogram, table, value_style

    whole = summary.count <= len(summary.first)
    rows = summary.first if whole else summary.top
    drawn = table(
        ["trace", "value", "C", "N", "D", "O", "gate", "rules"],
        [
            [
                shorten(short_id(row.trace.id), SHOWN_ID),
                Text(f"{row.value:.3f}", value_style(row.value)),
                *(
                    f"{p.value:.2f}" if p.source == "measured" else Text(f"{p.value:.2f}*", "yellow")
                    for p in row.score.parts
                ),
                row.score.details.gate.verdict,
                ", ".join(rule.name for rule in row.score.rules),
            ]
            for row in rows
        ],
        right=["value", "C", "N", "D", "O"],
    )
    title = "" if whole else f"the best {len(rows)} of {summary.count:,}"
    lines: list[Any] = [Text(title, "bold"), drawn] if title else [drawn]
    lines += ["", Text("how the values are spread", "bold"), histogram(summary.bins)]
    lines.append(
        f"\n{counted(summary.count, 'trace')}, {summary.shared:,} to share, {summary.count - summary.shared:,} to keep"
    )
    if summary.unmeasured:
        counts = ", ".join(f"{name} of {count:,}" for name, count in summary.unmeasured.items())
        lines.append(Text(f"* not measured, a default stands in: {counts}", "yellow"))
    return lines
