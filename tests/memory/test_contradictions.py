"""Contradictions are proposed: near texts in which one value differs, with the evidence. Nothing is changed by it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import NotFoundError
from scalepan.memory import Memory
from scalepan.memory.differing import difference
from scalepan.memory.requests import Contradicting
from tests.memory.conftest import Clock, Open

HIGH, LOW = "Refunds above 500 euros need approval", "Refunds above 300 euros need approval"


@pytest.mark.parametrize(
    ("one", "other", "kind", "says", "instead_of"),
    [
        (HIGH, LOW, "number", "500", "300"),
        ("The token lives for two hours", "The token lives for 3 hours", "number", "two", "3"),
        ("上限は500円です", "上限は３００円です", "number", "500", "300"),
        ("The release is on 19 August 2023", "The release is on 2023-08-20", "date", "19 August 2023", "2023-08-20"),
        ("Staging is reset every Monday", "Staging is reset every Friday", "date", "Monday", "Friday"),
        ("会議は月曜日に行う", "会議は火曜日に行う", "date", "月曜日", "火曜日"),
        ("The office is in Kyoto", "The office is in Osaka", "name", "Kyoto", "Osaka"),
        ("返金の承認は経理チームが行う", "返金の承認は法務チームが行う", "name", "経理", "法務"),
        ("Plans can be cancelled online", "Plans can't be cancelled online", "negation", "-", "not"),
        ("We use Postgres for billing", "We no longer use Postgres for billing", "negation", "-", "no longer"),
        (
            "The cache is enabled in production",
            "The cache is disabled in production",
            "negation",
            "enabled",
            "disabled",
        ),
        ("本番ではキャッシュを使う", "本番ではキャッシュを使わない", "negation", "-", "わない"),
    ],
)
def test_one_value_differs(one: str, other: str, kind: str, says: str, instead_of: str) -> None:
    found = difference(one, other)
    assert found is not None
    assert (found.kind, found.one, found.other) == (kind, says, instead_of)
    back = difference(other, one)
    assert back is not None
    assert (back.kind, back.one, back.other) == (kind, instead_of, says)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (HIGH, HIGH),
        (HIGH, "Plans renew every 12 months"),
        ("The release is on 19 August 2023", "The release is on 2023-08-19"),  # the same day
        ("It costs 1,000 euros a year", "It costs 1000 euros a year"),
        ("The ship Aurora lands at pier 1", "The ship Boreas lands at pier 2"),  # two ships
        ("The ship Aurora lands at pier 1", "The ship Boreas lands at pier 1"),
        ("Item 17 costs five euros", "Item 18 costs five euros"),
        ("Aoi prefers short answers", "Aoi prefers long answers"),  # neither a number, a date, a name nor a denial
        ("Plans cannot be cancelled", "Plans can not be cancelled"),
        ("", ""),
    ],
)
def test_the_same_or_something_else(one: str, other: str) -> None:
    assert difference(one, other) is None
    assert difference(other, one) is None


def test_about_the_same_entity_the_first_words_may_differ() -> None:
    one, other = "Aoi leads the billing team", "Bo leads the billing team"
    assert difference(one, other) is None
    found = difference(one, other, same_subject=True)
    assert found is not None
    assert (found.kind, found.one, found.other) == ("name", "Aoi", "Bo")


@given(st.text(max_size=80), st.text(max_size=80), st.booleans())
def test_of_any_texts_there_is_an_answer_and_it_has_two_sides(one: str, other: str, same: bool) -> None:
    assert difference(one, one, same_subject=same) is None
    found = difference(one, other, same_subject=same)
    assert found is None or (found.one != found.other and 0.5 <= found.alike < 1)


def told(found: Contradicting) -> set[tuple[str, str]]:
    return {(pair.newer.text, pair.older.text) for pair in found.pairs}


def test_they_are_proposed_with_the_evidence_and_nothing_is_changed(memory: Memory, clock: Clock) -> None:
    memory.add("Plans renew every month")
    old = memory.add(HIGH, entities=["refunds"])
    clock.pass_days(1)
    new = memory.add(LOW, entities=["refunds"])
    found = memory.contradictions()
    (pair,) = found.pairs
    assert (pair.newer.id, pair.older.id) == (new, old)
    assert (pair.kind, pair.says, pair.instead_of, pair.entities) == ("number", "300", "500", ["refunds"])
    assert pair.evidence == "both about refunds; 83% of their words alike; number: 300 instead of 500"
    assert (found.looked_at, found.complete) == (3, True)
    assert {one.text for one in memory.search("refunds approval")} >= {HIGH, LOW}


def test_accepting_one_ends_it(memory: Memory, clock: Clock) -> None:
    memory.add(HIGH)
    clock.pass_days(1)
    memory.add(LOW)
    (pair,) = memory.contradictions().pairs
    memory.update(pair.newer.id, supersedes=pair.older.id)
    assert memory.contradictions().pairs == []
    assert {one.text for one in memory.search("refunds approval")} == {LOW}


def test_which_is_newer_is_when_it_was_said(memory: Memory, clock: Clock) -> None:
    memory.add(HIGH, said_at="2024-05-01")
    clock.pass_days(1)
    memory.add(LOW, said_at="2023-05-01")
    assert told(memory.contradictions()) == {(HIGH, LOW)}


def test_of_one_claim(memory: Memory) -> None:
    high, other = memory.add(HIGH), memory.add("Plans renew every month")
    memory.add(LOW)
    assert len(memory.contradictions(high).pairs) == 1
    assert memory.contradictions(other).pairs == []
    with pytest.raises(NotFoundError, match="no claim 'clm_none' here that is in force"):
        memory.contradictions("clm_none")


def test_two_speakers_kinds_tenants_and_times_do_not_contradict(open_memory: Open) -> None:
    memory = open_memory()
    memory.add("I am 25 years old now", speaker="Aoi")
    memory.add("I am 26 years old now", speaker="Bo")
    memory.add(HIGH, kind="fact")
    memory.add(LOW, kind="policy_hint")
    memory.add("The office is in Kyoto", valid_until="2020-01-01")
    memory.add("The office is in Osaka")
    open_memory(tenant="other").add("The office is in Nara")
    assert told(memory.contradictions()) == set()


def test_what_the_asker_may_not_read_is_not_shown(open_memory: Open) -> None:
    memory = open_memory()
    memory.add(HIGH, boundary_class="pii")
    memory.add(LOW)
    assert memory.contradictions().pairs == []
    assert len(open_memory(purposes=["tool:contact-lookup"]).contradictions().pairs) == 1


def test_how_much_is_looked_at_is_bounded(memory: Memory, clock: Clock) -> None:
    memory.add(HIGH)
    clock.pass_days(1)
    memory.add(LOW)
    clock.pass_days(1)
    memory.add("Plans renew every month")
    assert memory.contradictions(look_at=1).pairs == []
    found = memory.contradictions(look_at=2)
    assert (len(found.pairs), found.looked_at) == (1, 2)
