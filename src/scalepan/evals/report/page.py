"""A run as one HTML page: searchable, the cases that did not pass first, expected beside actual, and page changes."""

from collections.abc import Iterator

from scalepan.draw import browse
from scalepan.draw.browse import Item, browsed
from scalepan.draw.html import figures, page, section
from scalepan.draw.markup import as_markup
from scalepan.errors import counted
from scalepan.evals.report.entry import ReportEntry, ReportScore, RunReport
from scalepan.evals.summary import RunSummary, ScorerSummary
from scalepan.evals.tries import CaseVerdict

MOST_CASES = 2_000
"""How many cases a page lists of those that passed, and of the others: a browser must still open it."""
RANK = {CaseVerdict.FAILED: 2, CaseVerdict.UNMEASURED: 1, CaseVerdict.PASSED: 0}
WORDS = {CaseVerdict.FAILED: "failed", CaseVerdict.UNMEASURED: "open", CaseVerdict.PASSED: "passed"}
COLUMNS = ["Verdict", "Case", "Score", "Low", "Tries", "Time"]
NO_GROUP = "no group"
STYLE = """
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .6rem; padding: 0;
         margin: 1rem 0; list-style: none; }
.cards li { background: var(--tint); border-radius: 6px; padding: .6rem .9rem; }
.cards b { display: block; font-size: 1.45rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.cards span { color: var(--quiet); font-size: .85rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
         overflow-wrap: anywhere; white-space: pre-wrap; }
th { font-size: .8rem; color: var(--quiet); font-weight: 600; } .n { text-align: right; white-space: nowrap; }
.item .value { color: var(--bad); } .item .value.good { color: var(--good); }
.item table { margin: .4rem 0; } .both td { width: 50%; }
.broke { padding-left: 1.2rem; margin: .4rem 0; } .where { color: var(--quiet); margin: .2rem 0; }
pre { background: var(--tint); padding: .5rem .8rem; overflow-x: auto; margin: .3rem 0; }
.plus { color: var(--good); } .minus { color: var(--bad); } .place { color: var(--accent); }
@media print { #controls, #shown { display: none; } .head { position: static; } }
"""
LINES = {"+": "plus", "-": "minus", "@": "place"}


def run_page(report: RunReport) -> str:
    """The page. Every text in it is redacted, and shown as text."""
    summary = report.summary()
    made = ""
    if report.header is not None:
        told = [report.header.date, report.header.cases, f"policy {report.header.policy}"]
        told += [f"revision {report.header.git[:12]}"] if report.header.git else []
        made = f'<p class="quiet">{as_markup(" · ".join(told))}</p>'
    sections = [made, _cards(summary), section("Scorers", _scorers(summary)), _list(report, summary)]
    return page("Is the output right?", sections, style=browse.STYLE + STYLE, script=browse.SCRIPT)


def _cards(summary: RunSummary) -> str:
    cards = [(f"{summary.passed:,} of {summary.cases:,}", "cases passed")]
    if summary.measured:
        low, high = summary.tries.interval()
        share = f"{summary.passed / summary.measured:.1%}"
        cards.append((share, f"of measured cases; 95 % interval {low:.1%} to {high:.1%}"))
    if summary.measured < summary.cases:
        low, high = summary.tries.bounds()
        cards.append((f"{summary.cases - summary.measured:,}", f"not measured: {low:.1%} to {high:.1%} pass"))
    cards += [(f"{chance:.3f}", name) for name, chance in summary.tries.pass_at.items()]
    if summary.tries.flaky_count:
        cards.append((f"{summary.tries.flaky_count:,}", "flaky cases"))
    drawn = "".join(f"<li><b>{as_markup(number)}</b><span>{as_markup(name)}</span></li>" for number, name in cards)
    return f'<ul class="cards">{drawn}</ul>'


def _scorers(summary: RunSummary) -> str:
    rows = (
        [name, _mean(one), *(f"{count:,}" for count in (one.passed, one.low, one.failed, one.not_applicable))]
        for name, one in summary.scorers.items()
    )
    return figures(["scorer", "mean", "passed", "too low", "failed", "not applicable"], rows)


def _mean(scorer: ScorerSummary) -> str:
    """The mean, and what it could be if some scores are missing."""
    bounds = f" ({' to '.join(map(_number, scorer.bounds))})" if scorer.failed and scorer.bounds else ""
    return f"{_number(scorer.mean)}{bounds}"


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"


def _list(report: RunReport, summary: RunSummary) -> str:
    room = _Room()
    entries = [entry for entry in report.entries(room.take) if room.taken]
    entries.sort(key=lambda entry: -RANK[entry.verdict])
    names = {
        "Verdict": [WORDS[entry.verdict] for entry in entries],
        "Group": [entry.group or NO_GROUP for entry in entries],
    }
    filters = {name: sorted(set(found)) for name, found in names.items() if len(set(found)) > 1}
    places = {name: {one: at for at, one in enumerate(found)} for name, found in filters.items()}
    items = (_item(entry, tuple(places[name][names[name][at]] for name in filters)) for at, entry in enumerate(entries))
    cut = len(entries) < summary.cases
    left = f"{len(entries):,} of {counted(summary.cases, 'case')}; the run file has every one." if cut else ""
    heading = "Cases" if cut else "Every case"
    return section(heading, f'<p class="quiet">{as_markup(left)}</p>{browsed(COLUMNS, filters, items)}')


class _Room:
    """How many more cases are listed: those that passed and the others have room of their own."""

    def __init__(self) -> None:
        self._left = {True: MOST_CASES, False: MOST_CASES}
        self.taken = False

    def take(self, verdict: CaseVerdict) -> bool:
        """Whether there is room for one more."""
        passed = verdict is CaseVerdict.PASSED
        self.taken = self._left[passed] > 0
        self._left[passed] -= self.taken
        return self.taken


def _item(entry: ReportEntry, facets: tuple[int, ...]) -> Item:
    low = sum(score.passed is False for score in entry.scores)
    rank = RANK[entry.verdict] + 0.5 * (1.0 - (entry.average if entry.average is not None else 1.0))
    duration = f"{entry.duration_ms:,.0f} ms" if entry.duration_ms is not None else ""
    return Item(
        keys=(rank, entry.id[:40].lower(), entry.average, low, entry.passed, entry.duration_ms),
        facets=facets,
        value=WORDS[entry.verdict],
        good=entry.verdict is CaseVerdict.PASSED,
        title=entry.id,
        about=" · ".join(part for part in (entry.title, entry.group, entry.why) if part),
        numbers=(
            "" if entry.average is None else f"{entry.average:.3f}",
            f"{low:,}" if low else "",
            f"{entry.passed} of {entry.tries}" if entry.tries > 1 else "",
            duration,
        ),
        body="".join(_body(entry)),
    )


def _body(entry: ReportEntry) -> Iterator[str]:
    if entry.asked:
        yield f'<p class="where">{as_markup(entry.asked)}</p>'
    rows = ([score.name, _number(score.value), f"{score.threshold:g}", _verdict(score)] for score in entry.scores)
    yield figures(["scorer", "score", "from", "verdict"], rows, text=(0, 3))
    if entry.sentences:
        broke = "".join(f"<li>{as_markup(sentence)}</li>" for sentence in entry.sentences)
        yield f'<ul class="broke">{broke}</ul>'
    if entry.pairs:
        yield f'<div class="both">{figures(["expected", "actual"], entry.pairs, text=(0, 1))}</div>'
    for name, diff in entry.diffs:
        yield f'<p class="where">page {as_markup(name)}</p><pre>{"".join(map(_line, diff.splitlines()))}</pre>'


def _verdict(score: ReportScore) -> str:
    word = "not applicable" if score.passed is None else "passed" if score.passed else "failed"
    return f"{word}: {score.reason}" if score.reason else word


def _line(line: str) -> str:
    kind = LINES.get(line[:1])
    text = as_markup(line) + "\n"
    return f'<span class="{kind}">{text}</span>' if kind else text
