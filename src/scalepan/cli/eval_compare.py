"""scalepan eval compare: did a change make things better or worse, and is the difference real?"""

from pathlib import Path
from typing import Any

import click

from scalepan.cli._common import json_option, show, show_json
from scalepan.errors import counted, printable
from scalepan.evals.compare import Comparison, Flip, MetricComparison, RunVerdict, compare, read_run
from scalepan.evals.runs.blessed import blessed_run
from scalepan.evals.runs.file import find_run

EXIT = {RunVerdict.BETTER: 0, RunVerdict.SAME: 0, RunVerdict.WORSE: 1, RunVerdict.NOT_ENOUGH_DATA: 3}
STYLES = {
    RunVerdict.BETTER: "bold green",
    RunVerdict.SAME: "bold",
    RunVerdict.WORSE: "bold red",
    RunVerdict.NOT_ENOUGH_DATA: "bold yellow",
}
SHOWN_FLIPS = 20
SHARE = click.FloatRange(min=0, max=1, min_open=True, max_open=True)


@click.command("compare")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path), required=False)
@click.option("--margin", type=SHARE, default=0.05, show_default=True, help="Up to this difference, runs are the same.")
@click.option("--alpha", type=SHARE, default=0.05, show_default=True, help="How often equal runs may look different.")
@click.option("--allow-unmeasured", is_flag=True, help="Compare although some cases have no verdict in a run.")
@json_option
def compare_(
    before: Path, after: Path | None, margin: float, alpha: float, allow_unmeasured: bool, as_json: bool
) -> None:
    """Is the run AFTER better or worse than the run BEFORE, and is the difference real?

    Takes runs that 'scalepan eval run' kept: files, or names in the folder runs. Cases are paired by id; repeats of a
    case are averaged. A run alone is compared with the blessed one of its folder.

    \b
    Examples:
      scalepan eval compare main.jsonl branch.jsonl
      scalepan eval compare main.jsonl branch.jsonl --margin 0.02 --json
      scalepan eval compare runs/branch.jsonl

    \b
    Exit codes:
      0  better, or the same within the margin
      1  worse
      2  bad input: nothing was compared
      3  not enough data to say, or some cases were not measured
    """
    before = find_run(before)
    after = find_run(after) if after is not None else None
    if after is None:
        before, after = blessed_run(before.parent), before
    found = compare(read_run(before), read_run(after), margin=margin, alpha=alpha)
    if as_json:
        show_json(found.to_dict())
    else:
        show(*comparison_view(found, str(before), str(after)))
    code = EXIT[found.verdict]
    if found.unmeasured and not allow_unmeasured and code == 0:
        code = EXIT[RunVerdict.NOT_ENOUGH_DATA]
        if not as_json:
            show("not green: some cases were not measured; --allow-unmeasured compares the rest")
    if code:
        raise SystemExit(code)


def comparison_view(found: Comparison, before: str, after: str) -> list[Any]:
    """What flipped, then the numbers, then the verdict."""
    from rich.text import Text

    from scalepan.draw.terminal import table

    lines: list[Any] = []
    for title, flips, style in (("fails now", found.lost, "red"), ("passes now", found.gained, "green")):
        if flips:
            lines.append(Text(f"{title} ({len(flips):,})", f"bold {style}"))
            lines += [Text(f"  {_flip(flip)}") for flip in flips[:SHOWN_FLIPS]]
            if flips[SHOWN_FLIPS:]:
                lines.append(Text(f"  … and {len(flips) - SHOWN_FLIPS:,} more; --json lists all", "dim"))
            lines.append("")
    rows = [_row(metric) for metric in found.metrics]
    lines.append(
        table(
            ["", "before", "after", "change", f"{1 - found.alpha:.0%} interval", "p", "pairs", ""],
            rows,
            right=["before", "after", "change", f"{1 - found.alpha:.0%} interval", "p", "pairs"],
        )
    )
    lines += ["", *_notes(found, before, after)]
    lines.append(Text(_sentence(found), STYLES[found.verdict]))
    return lines


def _flip(flip: Flip) -> str:
    shares = "" if {flip.before, flip.after} == {0.0, 1.0} else f"  {flip.before:.0%} to {flip.after:.0%} of its tries"
    return f"{printable(flip.id)}{shares}"


def _row(metric: MetricComparison) -> list[Any]:
    from rich.text import Text

    return [
        printable(metric.name),
        f"{metric.before:.3f}",
        f"{metric.after:.3f}",
        f"{metric.difference:+.3f}",
        f"{metric.low:+.3f} to {metric.high:+.3f}",
        f"{metric.p:.3f}" if metric.p >= 0.001 else "<0.001",
        f"{metric.pairs:,}",
        Text(metric.verdict.value, STYLES[metric.verdict]),
    ]


def _notes(found: Comparison, before: str, after: str) -> list[Any]:
    from rich.text import Text

    notes = []
    for ids, name in ((found.only_before, before), (found.only_after, after)):
        if ids:
            notes.append(
                f"{counted(len(ids), 'case')} only in {printable(name)}, such as {printable(ids[0])}: not compared"
            )
    if found.unmeasured:
        some = ", ".join(map(printable, found.unmeasured[:3]))
        notes.append(f"{counted(len(found.unmeasured), 'case')} not measured in a run: {some}")
    notes += [
        f"{printable(one.name)}: measured in both runs for {one.pairs:,} of {one.pairs + one.unmeasured:,} cases"
        for one in found.metrics
        if one.unmeasured
    ]
    return [Text(note, "yellow") for note in notes]


def _sentence(found: Comparison) -> str:
    """The verdict in words."""
    if found.verdict is RunVerdict.SAME:
        return f"SAME, within {found.margin:g} of each other"
    if found.verdict is RunVerdict.NOT_ENOUGH_DATA:
        more = [metric.more_cases for metric in found.metrics if metric.more_cases is not None]
        return (
            f"NOT ENOUGH DATA: about {counted(min(more), 'more case')} would settle it" if more else "NOT ENOUGH DATA"
        )
    by = ", ".join(printable(metric.name) for metric in found.metrics if metric.verdict is found.verdict)
    return f"{found.verdict.value.upper()} in {by}"
