"""A run as JUnit XML, which CI systems show: a case that failed is a failure, one that was not measured an error."""

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from scalepan.evals.report.entry import ReportEntry, RunReport
from scalepan.evals.tries import CaseVerdict

# XML 1.0 has no way to write these.
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: RunReport, *, allow_unmeasured: bool = False) -> Iterator[str]:
    """The document in pieces. With `allow_unmeasured`, what was not measured is skipped, not an error."""
    summary = report.summary()
    unmeasured = summary.cases - summary.measured
    counts = {
        "tests": summary.cases,
        "failures": summary.count(CaseVerdict.FAILED),
        "errors": 0 if allow_unmeasured else unmeasured,
        "skipped": unmeasured if allow_unmeasured else 0,
    }
    told = " ".join(f'{name}="{count}"' for name, count in counts.items())
    date = f" timestamp={_attribute(report.header.date)}" if report.header else ""
    yield f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites {told}>\n<testsuite name="scalepan" {told}{date}>\n'
    open_tag = "skipped" if allow_unmeasured else "error"
    tags = {CaseVerdict.FAILED: "failure", CaseVerdict.UNMEASURED: open_tag}
    for entry in report.entries(lambda verdict: verdict in tags):
        yield _case(entry, tags.get(entry.verdict))
    yield "</testsuite>\n</testsuites>\n"


def _case(entry: ReportEntry, tag: str | None) -> str:
    time = f' time="{entry.duration_ms / 1000:.3f}"' if entry.duration_ms is not None else ""
    named = f"<testcase classname={_attribute(entry.group or 'scalepan')} name={_attribute(entry.id)}{time}"
    if tag is None:
        return f"{named}/>\n"
    return f"{named}><{tag} message={_attribute(entry.why)}>{_text(_body(entry))}</{tag}></testcase>\n"


def _body(entry: ReportEntry) -> str:
    lines = [f"{entry.passed} of {entry.tries} tries passed"] if entry.tries > 1 else []
    lines += entry.sentences or (entry.why,)
    for wanted, got in entry.pairs:
        lines += ["", f"expected  {wanted}", f"actual    {got}"]
    for page, diff in entry.diffs:
        lines += ["", f"page {page}", diff]
    return "\n".join(lines)


def _attribute(text: str) -> str:
    return quoteattr(FORBIDDEN.sub("\ufffd", text))


def _text(text: str) -> str:
    return escape(FORBIDDEN.sub("\ufffd", text))
