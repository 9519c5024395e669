"""How calls went: only what a log states, by hand."""

from typing import Any

import pytest

from scalepan.trace.overview.calls import CallCounts, work_of
from tests.trace.overview.logs import call, logged, result, thought
from tests.trace.traces import trace

FAILED_TWICE = [
    call("Bash", "1"),
    result("1", failed=True),
    call("Bash", "2", again=True),
    result("2", failed=True),
    call("Bash", "3", again=True),
    result("3", failed=False),
]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([thought()], {}),
        ([call("Bash", "1")], {"Bash": CallCounts(calls=1)}),  # no result: it did not succeed, nor did it fail
        ([call("Bash", "1"), result("1")], {"Bash": CallCounts(calls=1)}),
        ([call("Bash", "1"), result("1", failed=False)], {"Bash": CallCounts(calls=1, answered=1)}),
        # two failures in a row are one setback, which the third call overcomes
        (FAILED_TWICE, {"Bash": CallCounts(calls=3, answered=3, failed=2, setbacks=1, recovered=1)}),
        # another tool that works overcomes nothing
        (
            [call("Bash", "1"), result("1", failed=True), call("Read", "2"), result("2", failed=False)],
            {
                "Bash": CallCounts(calls=1, answered=1, failed=1, setbacks=1),
                "Read": CallCounts(calls=1, answered=1),
            },
        ),
        # a person's refusal is no failure, and what comes after it no recovery
        (
            [call("Bash", "1"), result("1", refused=True), call("Bash", "2"), result("2", failed=False)],
            {"Bash": CallCounts(calls=2, answered=1, refused=1)},
        ),
        # parallel calls: results find their calls by id
        (
            [call("Read", "1"), call("Bash", "2"), result("2", failed=True), result("1", failed=False)],
            {
                "Read": CallCounts(calls=1, answered=1),
                "Bash": CallCounts(calls=1, answered=1, failed=1, setbacks=1),
            },
        ),
        # a result of nobody's call
        ([thought(), result("9", failed=True)], {"": CallCounts(answered=1, failed=1, setbacks=1)}),
    ],
)
def test_calls_by_tool(steps: list[dict[str, Any]], expected: dict[str, CallCounts]) -> None:
    assert work_of(logged(steps)).tools == expected


def test_a_native_trace_says_nothing_of_failures() -> None:
    work = work_of(trace(("tool_call", "observation", "error_recovery", "tool_call"), ("sql", "page")))
    assert (work.sequence, work.recoveries) == (("sql", "page"), 1)
    assert [counts.failed_share for counts in work.tools.values()] == [None, None]


def test_shares_are_none_where_nothing_was_counted() -> None:
    counts = CallCounts(calls=7, answered=4, failed=1, setbacks=1, recovered=1)
    assert (counts.failed_share, counts.recovered_share) == (0.25, 1.0)
    assert (CallCounts(calls=7).failed_share, CallCounts(calls=7).recovered_share) == (None, None)
