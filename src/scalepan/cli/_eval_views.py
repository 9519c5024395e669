"""How a run of cases, or one of them, looks on a terminal."""

from typing import Any

from rich.text import Text

from scalepan.draw.terminal import score_table, table, value_style
from scalepan.errors import printable
from scalepan.evals import Case, CaseResult, Diagnosis, Evidence, Output
from scalepan.evals.diagnose import grouped, page_diff
from scalepan.evals.summary import RunSummary

SHOWN_CASES = 3
DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def summary_view(summary: RunSummary) -> list[Any]:
    """A table by scorer, then what broke, grouped by cause and place."""
    lines: list[Any] = [
        table(
            ["scorer", "mean", "passed", "too low", "failed", "not applicable"],
            [
                [name, *_mean(s.mean), str(s.passed), _count(s.low), _count(s.failed), str(s.not_applicable)]
                for name, s in summary.scorers.items()
            ],
            right=["mean", "passed", "too low", "failed", "not applicable"],
        ),
        "",
    ]
    if summary.causes:
        rows = [
            [
                cause,
                where or "–",
                str(count),
                ", ".join(map(printable, ids[:SHOWN_CASES])) + (" …" if ids[SHOWN_CASES:] else ""),
            ]
            for cause, where, count, ids in grouped(summary.causes)
        ]
        modes = dict.fromkeys(cause.mode for cause in summary.causes if cause.mode)
        lines += [table(["what broke", "where", "times", "cases"], rows, right=["times"])]
        lines += [Text(f"points to: {', '.join(modes)}", "dim"), ""]
    for case_id, faults in list(summary.golden_faults.items())[:SHOWN_CASES]:
        lines.append(Text(f"golden case {printable(case_id)} may be at fault: {printable(faults[0])}", "yellow"))
    verdict = f"{summary.passed:,} of {summary.count:,} cases passed"
    lines.append(Text(verdict, "bold green" if summary.passed == summary.count else "bold red"))
    if summary.failures:
        lines.append(Text(f"see one: --explain {printable(summary.failures[0])}", "dim"))
    return lines


def _mean(value: float | None) -> list[Any]:
    return [Text("not measured", "yellow") if value is None else Text(f"{value:.3f}", value_style(value))]


def _count(number: int) -> Text:
    return Text(str(number), "red" if number else "")


def explanation(case: Case, output: Output, result: CaseResult, diagnosis: Diagnosis) -> list[Any]:
    """One case: the verdict of every scorer, the causes with their evidence, and what changed on the pages."""
    verdict = Text("passed", "green") if result.passed else Text("failed", "red")
    lines: list[Any] = [
        Text.assemble((printable(case.id), "bold"), f"  {printable(case.name)}  ", verdict),
        Text(printable(case.user_message), "dim"),
        score_table(result.score),
        "",
        table(
            ["scorer", "score", "from", "verdict"],
            [[one.type, *_mean(one.score), f"{one.threshold:g}", _verdict(one.passed, one.reason)] for one in result.results],
            right=["score", "from"],
        ),
    ]
    if diagnosis.causes:
        lines += ["", Text("what broke", "bold")]
    for cause in diagnosis.causes:
        place = f" ({cause.where} of the document)" if cause.where else ""
        lines.append(Text(f"  {cause.cause}{place}: {printable(cause.evidence)}"))
        lines += [_diff_line(line, "    ") for line in cause.diff.splitlines()]
    lines += [Text(f"the golden case may be at fault: {printable(fault)}", "yellow") for fault in diagnosis.golden_faults]
    lines += _page_changes(case, output)
    return lines


def _verdict(passed: bool | None, reason: str) -> Text:
    if passed is None:
        return Text(f"not applicable: {printable(reason)}", "dim")
    return Text("passed", "green") if passed else Text(f"failed{': ' if reason else ''}{printable(reason)}", "red")


def _page_changes(case: Case, output: Output) -> list[Any]:
    lines: list[Any] = []
    applied = Evidence(case.pages, output).applied
    for before, after in zip(case.pages, applied.pages, strict=True):
        diff = page_diff(before, after)
        if diff:
            lines += [
                "",
                Text(f"page {printable(before.id)}", "bold"),
                *(_diff_line(line) for line in diff.splitlines()),
            ]
    for outcome in applied.outcomes:
        if not outcome.applied:
            lines.append(
                Text(f"not applied: {outcome.operation.type} on {printable(outcome.page_id)}: {outcome.reason}", "red")
            )
    return lines


def _diff_line(line: str, indent: str = "") -> Text:
    return Text(indent + printable(line), DIFF_STYLES.get(line[:1], ""))
