"""A run as Markdown for a comment on a pull request: the verdict, a table by scorer, and what failed.

Texts of cases and outputs stand in code spans: there they are neither HTML, nor links, nor mentions of people.
"""

import re
from collections.abc import Iterator

from scalepan.errors import counted, printable, shorten
from scalepan.evals.report.entry import ReportEntry, RunReport
from scalepan.evals.summary import RunSummary, ScorerSummary
from scalepan.evals.tries import CaseVerdict

SHOWN_CASES = 30
SHOWN_CHARACTERS = 300
"""Of each text: a comment on GitHub holds 65,536 characters."""


def markdown(report: RunReport, *, allow_unmeasured: bool = False) -> str:
    """The whole text."""
    summary = report.summary()
    green = summary.is_green(allow_unmeasured=allow_unmeasured)
    lines = [
        f"### {'✅' if green else '❌'} {summary.passed:,} of {counted(summary.cases, 'case')} passed",
        "",
        *_shares(summary),
        "",
        *_table(summary),
        *_flaky(summary),
        *_not_passed(report, summary.cases - summary.passed),
    ]
    if report.header is not None:
        made = [report.header.date, f"policy {report.header.policy}"]
        made += [f"revision {report.header.git[:12]}"] if report.header.git else []
        lines += ["", f"<sub>{' · '.join(map(code, made))}</sub>"]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    """Text as a code span, whatever is in it.

    >>> code("a`b"), code("x | y")
    ('`` a`b ``', '`x | y`')
    """
    text = printable(" ".join(text.split())) or " "
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"{fence}{text}{fence}"


def _cell(text: str) -> str:
    return code(text).replace("|", "\\|")


def _shares(summary: RunSummary) -> Iterator[str]:
    if summary.measured:
        low, high = summary.tries.interval()
        yield f"{summary.passed / summary.measured:.1%} pass, 95 % interval {low:.1%} to {high:.1%}."
    if summary.measured < summary.cases:
        low, high = summary.tries.bounds()
        yield f"Measured {summary.measured:,} of {counted(summary.cases, 'case')}: {low:.1%} to {high:.1%} pass."
    for name, chance in summary.tries.pass_at.items():
        yield f"{code(name)} {chance:.3f}"


def _table(summary: RunSummary) -> Iterator[str]:
    yield "| scorer | mean | passed | too low | failed | not applicable |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, scorer in summary.scorers.items():
        counts = (scorer.passed, scorer.low, scorer.failed, scorer.not_applicable)
        yield f"| {_cell(name)} | {_mean(scorer)} | {' | '.join(f'{count:,}' for count in counts)} |"


def _mean(scorer: ScorerSummary) -> str:
    if scorer.mean is None:
        return "not measured"
    if not scorer.failed or scorer.bounds is None:
        return f"{scorer.mean:.3f}"
    return f"{scorer.mean:.3f} ({scorer.bounds[0]:.3f} to {scorer.bounds[1]:.3f})"


def _flaky(summary: RunSummary) -> Iterator[str]:
    tries = summary.tries
    if tries.flaky:
        some = [f"{code(id_)} ({passed} of {of})" for id_, passed, of in tries.flaky[:SHOWN_CASES]]
        more = f" and {tries.flaky_count - SHOWN_CASES:,} more" if tries.flaky_count > SHOWN_CASES else ""
        yield from ("", f"Flaky: {', '.join(some)}{more}")


def _not_passed(report: RunReport, count: int) -> Iterator[str]:
    shown = 0
    for entry in report.entries(lambda _: False) if count else ():
        if entry.verdict is CaseVerdict.PASSED:
            continue
        if shown == SHOWN_CASES:
            yield f"- … and {count - shown:,} more"
            return
        if not shown:
            yield ""
        shown += 1
        yield from _entry(entry)


def _entry(entry: ReportEntry) -> Iterator[str]:
    verdict = "failed" if entry.verdict is CaseVerdict.FAILED else "not measured"
    tries = f", {entry.passed} of {entry.tries} tries passed" if entry.tries > 1 else ""
    yield f"- **{verdict}** {code(shorten(entry.id, SHOWN_CHARACTERS))}{tries}"
    if entry.why:
        yield f"  {code(shorten(entry.why, SHOWN_CHARACTERS))}"
