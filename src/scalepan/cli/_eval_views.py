"""How a run of cases, or one of them, looks on a terminal."""

from typing import Any

from rich.text import Text

from scalepan.draw.terminal import score_table, table, value_style
from scalepan.errors import counted, printable, shorten
from scalepan.evals import Case, CaseResult, Diagnosis, Evidence, Output
from scalepan.evals.diagnose import grouped
from scalepan.evals.report.pairs import expected_and_actual, page_diffs
from scalepan.evals.summary import RunSummary, ScorerSummary
from scalepan.evals.tries import RunTries

SHOWN_CASES = 3
SHOWN_FLAKY = 20
SHOWN_CHARACTERS = 500
DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def summary_view(summary: RunSummary) -> list[Any]:
    """A table by scorer, then what broke, grouped by cause and place."""
    lines: list[Any] = [
        table(
            ["scorer", "mean", "passed", "too low", "failed", "not applicable"],
            [
                [
                    printable(name),
                    _mean_within(s),
                    str(s.passed),
                    _count(s.low),
                    _count(s.failed),
                    str(s.not_applicable),
                ]
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
    lines += [*_repeats(summary.tries), *_shares(summary)]
    verdict = f"{summary.passed:,} of {counted(summary.cases, 'case')} passed"
    lines.append(Text(verdict, "bold green" if summary.is_green() else "bold red"))
    if summary.failures:
        lines.append(Text(f"see one: --explain {printable(summary.failures[0])}", "dim"))
    return lines


def _shares(summary: RunSummary) -> list[Any]:
    """How sure the share of passed cases is, and what it could be if some cases were not measured."""
    lines: list[Any] = []
    if summary.measured < summary.cases:
        low, high = summary.tries.bounds()
        told = f"measured {summary.measured:,} of {counted(summary.cases, 'case')}: {low:.1%} to {high:.1%} pass"
        lines.append(Text(told, "yellow"))
    if summary.measured:
        low, high = summary.tries.interval()
        share = summary.passed / summary.measured
        lines.append(Text(f"{share:.1%} pass, 95 % interval {low:.1%} to {high:.1%}", "dim"))
    return lines


def _repeats(tries: RunTries) -> list[Any]:
    """With several tries of each case: the chances of one and of all, and the cases that are flaky."""
    if tries.repeats == 1:
        return []
    told = "  ".join(f"{name} {chance:.3f}" for name, chance in tries.pass_at.items())
    lines: list[Any] = [Text(f"a case passes if {tries.needed} of {tries.repeats} tries do; {told}")]
    if tries.flaky:
        some = [f"{printable(id_)} ({passed} of {of})" for id_, passed, of in tries.flaky[:SHOWN_FLAKY]]
        more = f" and {tries.flaky_count - SHOWN_FLAKY:,} more" if tries.flaky_count > SHOWN_FLAKY else ""
        lines.append(Text(f"flaky: {', '.join(some)}{more}", "yellow"))
    return lines


def _mean_within(scorer: ScorerSummary) -> Text:
    """The mean, and what it could be if some scores are missing."""
    (mean,) = _mean(scorer.mean)
    if not scorer.failed or scorer.bounds is None:
        return mean
    low, high = scorer.bounds
    return Text.assemble(mean, (f" ({low:.3f} to {high:.3f})", "yellow"))


def _mean(value: float | None) -> list[Text]:
    return [Text("not measured", "yellow") if value is None else Text(f"{value:.3f}", value_style(value))]


def _count(number: int) -> Text:
    return Text(str(number), "red" if number else "")


def explanation(case: Case, output: Output, result: CaseResult, diagnosis: Diagnosis | None) -> list[Any]:
    """One case: the verdict of every scorer, expected beside actual, what broke, and what changed on the pages."""
    verdict = Text("passed", "green") if result.passed else Text("failed", "red")
    lines: list[Any] = [
        Text.assemble((printable(case.id), "bold"), f"  {printable(case.name)}  ", verdict),
        Text(printable(case.user_message), "dim"),
        score_table(result.score),
        "",
        table(
            ["scorer", "score", "from", "verdict"],
            [
                [printable(one.type), *_mean(one.score), f"{one.threshold:g}", _verdict(one.passed, one.reason)]
                for one in result.results
            ],
            right=["score", "from"],
        ),
    ]
    lines += ["", *_side_by_side(case, output)]
    if diagnosis is not None:
        lines += _what_broke(diagnosis)
    lines += _page_changes(case, output)
    return lines


def _what_broke(diagnosis: Diagnosis) -> list[Any]:
    """The causes as sentences, under what they are causes of."""
    lines: list[Any] = []
    for key, causes in diagnosis.by_key().items():
        lines += ["", Text(f"{_heading(key)}.", "bold")]
        for cause in causes:
            lines.append(Text(f"  {printable(cause.sentence)}"))
            lines += [_diff_line(line, "    ") for line in cause.diff.splitlines()]
    lines += [
        Text(f"The golden case may be at fault: {printable(fault)}.", "yellow") for fault in diagnosis.golden_faults
    ]
    return lines


def _heading(key: str) -> str:
    words = key.replace("_", " ")
    return (words.removesuffix(" low") + " is low" if words.endswith(" low") else words).capitalize()


def _side_by_side(case: Case, output: Output) -> list[Any]:
    """What was expected beside what came, operation by operation and for the text."""
    rows = expected_and_actual(case, output)
    if not rows:
        return []
    printed = [[printable(shorten(one, SHOWN_CHARACTERS)) for one in row] for row in rows]
    return [table(["expected", "actual"], printed)]


def _verdict(passed: bool | None, reason: str) -> Text:
    if passed is None:
        return Text(f"not applicable: {printable(reason)}", "dim")
    return Text("passed", "green") if passed else Text(f"failed{': ' if reason else ''}{printable(reason)}", "red")


def _page_changes(case: Case, output: Output) -> list[Any]:
    lines: list[Any] = []
    for page, diff in page_diffs(case, output):
        lines += ["", Text(f"page {printable(page)}", "bold"), *(_diff_line(line) for line in diff.splitlines())]
    applied = Evidence(case.pages, output).applied
    for outcome in applied.outcomes:
        if not outcome.applied:
            lines.append(
                Text(f"not applied: {outcome.operation.type} on {printable(outcome.page_id)}: {outcome.reason}", "red")
            )
    return lines


def _diff_line(line: str, indent: str = "") -> Text:
    return Text(indent + printable(line), DIFF_STYLES.get(line[:1], ""))
