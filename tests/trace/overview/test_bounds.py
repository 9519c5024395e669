"""Whatever comes, however much: counters have a limit, and what is beyond it is counted together."""

from datetime import date, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scalepan.errors import InputError
from scalepan.policy import Policy
from scalepan.trace import ReasoningTrace, TraceValuer
from scalepan.trace.overview.calls import CallCounts
from scalepan.trace.overview.cells import MOST_CELLS, MOST_NAMES, REST, Cells, Key
from scalepan.trace.overview.distinct import HELD, Distinct
from scalepan.trace.overview.listing import FOR_SCREEN, ListedTrace, Listing, ListSizes, held
from scalepan.trace.overview.rejects import MOST_REASONS, Rejects
from scalepan.trace.overview.repeats import MOST_GROUPS, MOST_MEMBERS, MOST_SEEN, Repeats
from scalepan.trace.overview.tally import Tally, TraceFacts, day_and_week
from scalepan.trace.summary import Summary
from tests.trace.overview.logs import call, logged, result, summed, thought
from tests.trace.traces import trace

MANY = 50_000
FACTS = TraceFacts(0.5, False, CallCounts(), 0, None, None)


def test_many_different_names_are_counted_together() -> None:
    cells = Cells()
    for number in range(MANY):
        day = (date(1900, 1, 1) + timedelta(weeks=number % 5000)).isoformat()
        key: Key = (f"d{number % 7}", f"project {number}", day, "claude-code", None, "agent")
        cells.add(key, FACTS)
    assert len(cells) <= MOST_CELLS + 1
    for dimension in ("domain", "project", "week", "format", "model", "agent"):
        sums = cells.by(dimension)
        assert len(sums) <= MOST_NAMES + 1
        assert sum(tally.count for tally in sums.values()) == MANY
    assert cells.by("project")[REST].count > 0
    assert cells.by("format")["claude-code"].count == MANY
    assert cells.total().count == MANY


def test_a_project_called_others_is_one_project() -> None:
    cells = Cells()
    cells.add((None, "others", None, None, None, None), FACTS)
    assert list(cells.by("project")) == ["others"]
    assert REST not in cells.by("project")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_a_median_is_that_of_values_to_two_places(values: list[float]) -> None:
    tally = Tally()
    for value in values:
        tally.add(FACTS._replace(value=value))
    places = sorted(int(value * 100 + 0.5) for value in values)
    middle = len(places) // 2
    expected = places[middle] if len(places) % 2 else (places[middle - 1] + places[middle]) / 2
    assert tally.median == pytest.approx(expected / 100)


@given(st.lists(st.sampled_from("abcdef"), max_size=30))
def test_few_names_are_counted_exactly(names: list[str]) -> None:
    distinct = Distinct()
    for name in names:
        distinct.add(name)
    assert (distinct.count, distinct.exact) == (len(set(names)), True)


def test_many_names_are_counted_within_five_percent() -> None:
    distinct = Distinct()
    for number in range(MANY):
        distinct.add(f"session {number}")
        distinct.add(f"session {number // 2}")
    assert not distinct.exact
    assert distinct.count == pytest.approx(MANY, rel=0.05)
    assert len(distinct._held) == len(distinct._largest) == HELD


ONE = trace()
ROW: ListedTrace = summed(ONE).listing.rows[0]


@given(st.lists(st.integers(0, 9), max_size=60))
def test_the_best_and_the_worst_are_kept_and_of_equals_the_earlier(tenths: list[int]) -> None:
    listing = Listing(ListSizes(whole=5, best=3, worst=3, sample=0))
    rows = {number: replace(ROW, number=number, value=tenth / 10) for number, tenth in enumerate(tenths, 1)}
    for row in rows.values():
        listing.add(row.value, partial(replace, row))
    by_value = sorted(rows.values(), key=lambda row: (-row.value, row.number))
    assert [row.number for row in listing.best(3)] == [row.number for row in by_value[:3]]
    from_below = sorted(rows.values(), key=lambda row: (row.value, row.number))
    assert [row.number for row in listing.worst(3)] == [row.number for row in from_below[:3]]
    assert listing.complete == (len(rows) <= 5)
    assert len(listing.rows) <= 6


def test_a_sample_is_of_the_whole_run_and_the_same_each_time() -> None:
    def numbers() -> list[int]:
        listing = Listing(ListSizes(whole=100, best=10, worst=10, sample=50))
        for number in range(1, 10_001):
            listing.add(0.5, partial(replace, ROW, number=number))
        return [row.number for row in listing.rows]

    first = numbers()
    assert 50 <= len(first) <= 70
    assert sum(number > 5000 for number in first) > 10
    assert numbers() == first


def named(objective: str) -> ReasoningTrace:
    """A trace made without decoding, which would take the time of these tests."""
    return replace(ONE, id=f"kp:trace:{objective}", task=replace(ONE.task, objective=objective))


def test_repeats_are_bounded() -> None:
    repeats = Repeats()
    for number in range(MOST_SEEN + 10):
        repeats.add(named(str(number)), (), "f", number)
    assert repeats.overflow
    assert len(repeats._seen) == MOST_SEEN
    near = Repeats()
    for number in range(MOST_GROUPS + 10):
        near.add_near(named(str(number)), f"kp:trace:other {number}", "f", number)
    assert (near.near_groups, near.near_traces, near.overflow) == (MOST_GROUPS, MOST_GROUPS + 10, True)
    assert len(near._members) <= MOST_MEMBERS


def test_reasons_are_bounded_and_values_do_not_make_new_ones() -> None:
    rejects = Rejects()
    for number in range(MANY):
        rejects.add(InputError(f"'{number}' is not between 0 and {number}", path=f"steps[{number}].type"))
    assert [(reason.count, reason.line) for reason in rejects.reasons] == [(MANY, 0)]
    for number in range(1000):
        rejects.add(InputError("x" * (number + 1)))
    assert len(rejects.reasons) == MOST_REASONS
    assert rejects.count == MANY + 1000 == rejects.others + sum(reason.count for reason in rejects.reasons)


def test_a_summary_of_very_many_traces_stays_small() -> None:
    """Everything that grows with names is bounded; here every trace has names of its own."""
    template = logged([thought(), call("Bash", "1"), result("1", failed=True)], session="s", project="p", model="m")
    assert template.origin is not None
    assert template.steps[1].tool is not None
    (valued,) = TraceValuer(Policy(), embedder=None).value_many([template])
    summary = Summary(encoder=False)
    for number in range(MANY):
        name = f"{number}"
        origin = replace(template.origin, session=name, project=name, model=name, format=name)
        tool = replace(template.steps[1].tool, name=name)
        steps = [template.steps[0], replace(template.steps[1], tool=tool), template.steps[2]]
        metadata = replace(template.metadata, task_domain=name)
        one = replace(template, id=f"kp:trace:{name}", origin=origin, steps=steps, metadata=metadata)
        summary.add(replace(valued, trace=one), f"file {name}", number)
    assert summary.count == MANY
    assert len(summary.tools) == MOST_NAMES
    assert summary.other_tools.calls == MANY - MOST_NAMES
    assert len(summary.cells) <= MOST_CELLS + MOST_NAMES
    assert len(summary.listing.rows) <= FOR_SCREEN.best + FOR_SCREEN.worst
    assert len(summary.missing.outcomes) <= 100
    assert summary.missing.ranges == MANY


def test_long_names_are_held_without_their_ends() -> None:
    long = "x" * 100_000
    origin: dict[str, Any] = dict.fromkeys(("format", "project", "session", "parent", "model"), long)
    traces = [
        logged(
            [call(f"{long}{at % 2}", "1"), result("1", failed=True)], id=f"kp:trace:{long}{at}", domain=long, **origin
        )
        for at in range(4)
    ]
    summary = summed(*traces)
    sizes = [len(name or "") for dimension in ("domain", "project", "format") for name in summary.cells.by(dimension)]
    assert sizes == [4001] * 3
    assert {len(name): counts.calls for name, counts in summary.tools.items()} == {4001: 4}
    (row, *_) = summary.listing.rows
    assert len(row.id) == len(row.domain) == len(row.project or "") == 4001
    assert [len(format_) for format_, _ in summary.missing.outcomes] == [4001]


def test_a_long_objective_is_cut() -> None:
    assert held("x" * 5000) == ("x" * 4000, True)
    assert held("x") == ("x", False)


@pytest.mark.parametrize(
    ("created_at", "expected"),
    [
        (None, None),
        ("2026-01-31T12:00:00Z", ("2026-01-31", "2026-01-26")),
        ("2026-01-26T00:00:00+00:00", ("2026-01-26", "2026-01-26")),
        ("20260131T120000Z", ("2026-01-31", "2026-01-26")),
        ("0001-01-01T00:00:00Z", ("0001-01-01", "0001-01-01")),
        ("yesterday", None),
        ("", None),
    ],
)
def test_days_and_weeks(created_at: str | None, expected: tuple[str, str] | None) -> None:
    assert day_and_week(created_at) == expected
