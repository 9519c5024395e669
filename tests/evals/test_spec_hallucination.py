"""anti-hallucination: (noNewContent && noDeletedBlocks && onlySpecifiedChanges) ? 1 : 0"""

from typing import Any

import pytest

from scalepan.evals import Evaluator
from tests.evals.spec import (
    ABC,
    Json,
    by_page,
    case,
    delete,
    details,
    insert,
    output,
    page,
    patterns,
    replace,
    score_of,
)

CHECKS = ("noNewContent", "noDeletedBlocks", "onlySpecifiedChanges")


@pytest.mark.parametrize(
    ("done", "asked", "broken"),
    [
        ([], [], None),
        ([replace("b0", content="x")], [replace("b0")], None),
        ([delete("b0")], [delete("b0")], None),
        ([insert("b0", content="x")], [insert("b0")], None),  # a legitimate insert passes
        ([insert("b1", "before", content="x")], [insert("b0")], None),  # the same place by another name
        ([], [replace("b0")], None),  # too little is another scorer's matter
        ([replace("b0", content="a")], [], None),  # replaced by what it was: nothing changed
        ([insert("b0", content="x")], [], "noNewContent"),
        ([insert("b1", content="x")], [insert("b0")], "noNewContent"),  # asked for elsewhere
        ([insert("b0", content="x"), insert("b0", content="y")], [insert("b0")], "noNewContent"),  # asked for once
        ([delete("b1")], [], "noDeletedBlocks"),
        ([delete("b1")], [delete("b0")], "noDeletedBlocks"),
        ([delete("b0")], [replace("b0")], "noDeletedBlocks"),
        ([replace("b1", content="x")], [], "onlySpecifiedChanges"),
        ([replace("b1", content="x")], [replace("b0")], "onlySpecifiedChanges"),
        ([replace("b0", content="x")], [delete("b0")], "onlySpecifiedChanges"),
        # where the golden case gives exact content, another one was not asked for
        ([replace("b0", content="x")], [replace("b0", content="x")], None),
        ([replace("b0", content="y")], [replace("b0", content="x")], "onlySpecifiedChanges"),
    ],
)
def test_anti_hallucination(done: list[Json], asked: list[Json], broken: str | None) -> None:
    score = score_of("anti-hallucination", done, asked, ABC)
    assert score.value == (1.0 if broken is None else 0.0)
    made = details(score)
    assert {check: made[check] for check in CHECKS} == {check: check != broken for check in CHECKS}


def test_every_check_shows_its_evidence() -> None:
    done = [insert("b0", content="invented"), delete("b1"), replace("b2", content="changed")]
    made = details(score_of("anti-hallucination", done, [], ABC))
    assert [made[check] for check in CHECKS] == [False, False, False]
    (new,), (lost,), (changed,) = made["newBlocks"], made["deletedBlocks"], made["changedBlocks"]
    assert (new["pageId"], new["after"]) == ("p", "invented")
    assert (lost["blockId"], lost["before"]) == ("b1", "b")
    assert (changed["blockId"], changed["before"], changed["after"]) == ("b2", "c", "changed")


def test_every_page_of_the_case_is_looked_at() -> None:
    pages = [page("a", id_="p"), page("a", id_="q")]
    done = by_page(p=[delete("b0")], q=[delete("b0")])
    score = score_of("anti-hallucination", done, by_page(p=[delete("b0")]), pages)
    assert score.value == 0.0
    assert [lost["pageId"] for lost in details(score)["deletedBlocks"]] == ["q"]


NEST = {
    "id": "p",
    "blocks": [
        {"id": "top", "content": "top", "children": [{"id": "in", "content": "inside", "children": []}]},
        {"id": "end", "content": "end"},
    ],
}


@pytest.mark.parametrize(
    ("done", "broken"),
    [
        # the children come along as they were
        ({"content": "new", "children": [{"id": "in", "content": "inside"}]}, None),
        ({"content": "new", "children": [{"id": "in", "content": "CHANGED"}]}, "onlySpecifiedChanges"),
        ({"content": "new", "children": [{"id": "other", "content": "inside too"}]}, "noDeletedBlocks"),
        (
            {"content": "new", "children": [{"id": "in", "content": "inside"}, {"id": "x", "content": "invented"}]},
            "noNewContent",
        ),
        ([{"content": "new"}, {"id": "x", "content": "invented"}], "noNewContent"),
    ],
)
def test_what_a_replacement_brings_along_or_leaves_out_is_looked_at(done: Any, broken: str | None) -> None:
    score = score_of("anti-hallucination", [replace("top", content=done)], [replace("top")], [NEST])
    assert score.value == (1.0 if broken is None else 0.0)
    if broken:
        assert details(score)[broken] is False


def test_deleting_a_block_takes_its_children_and_no_others() -> None:
    assert score_of("anti-hallucination", [delete("top")], [delete("top")], [NEST]).value == 1.0
    assert score_of("anti-hallucination", [delete("in")], [delete("top")], [NEST]).value == 0.0
    assert score_of("anti-hallucination", [delete("top")], [delete("in")], [NEST]).value == 0.0


@pytest.mark.parametrize(
    ("done", "asked", "value"),
    [
        ([insert("b0", content="x")], [insert("b0")], 0.0),  # newBlocks.length > 0 -> 0, even where it was asked for
        ([delete("b0")], [delete("b0")], 1.0),  # expectedDeleteIds has it
        ([delete("b0")], [], 0.0),
        ([replace("b0", content="x")], [replace("b0")], 1.0),
        ([replace("b0", content=[{"content": "x"}, {"id": "n", "content": "y"}])], [replace("b0")], 0.0),  # n is new
    ],
)
def test_the_samples_literal_rule_is_a_policy_key(done: list[Json], asked: list[Json], value: float) -> None:
    assert score_of("anti-hallucination", done, asked, ABC, {"literal_hallucination": True}).value == value
    assert score_of("anti-hallucination", done, asked, ABC, literal=True).value == value


TOLD = [page("Delivery takes two days. Ask Ann at 03-1234-5678.", "You pay on 2026-05-01.", "担当は田中さんです。")]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("alpha2. Also, the CEO resigned.", ("name", "CEO")),
        ("alpha2. It costs 40 euros.", ("number", "40")),
        ("alpha2. It takes three days.", ("number", "three")),
        ("alpha2. You pay on 2026-05-02.", ("date", "2026-05-02")),
        ("alpha2. You pay on June 3.", ("date", "June 3")),
        ("alpha2. Closed on Mondays.", ("date", "Mondays")),
        ("alpha2. It was written by Bob Miller.", ("name", "Bob")),
        ("alpha2. Berlin has been chosen.", ("name", "Berlin")),
        ("alpha2. Mr. Okafor agreed.", ("name", "Okafor")),
        ("alpha2. Write to ceo@example.org.", ("address", "ceo@example.org")),
        ("alpha2. See https://example.org/x.", ("address", "https://example.org/x.")),
        ('alpha2. She said "we are bankrupt".', ("quotation", "we are bankrupt")),
        ("alpha2. The ticket is ABC-123.", ("identifier", "ABC-123")),
        ("alpha2. Set `max_rows` first.", ("identifier", "max_rows")),
        ("alpha2。佐藤さんが辞めました。", ("name", "佐藤")),
        ("alpha2。三日後に届きます。", ("number", "三")),
        ("alpha2。十二月三日に届きます。", ("date", "十二月三日")),
        ("alpha2。株式会社ホゲが買収した。", ("name", "株式会社ホゲ")),
        ("alpha2。「倒産した」とのこと。", ("quotation", "倒産した")),
    ],
)
def test_a_fact_that_the_input_does_not_hold_breaks_no_new_content(text: str, fact: tuple[str, str]) -> None:
    """Contract evals.21: information that is not in the input; evals.23 for a golden with patterns."""
    score = score_of("anti-hallucination", [replace("b0", content=text)], patterns("alpha2"), TOLD)
    assert score.value == 0.0
    made = details(score)
    assert [made[check] for check in CHECKS] == [False, True, True]
    assert fact in [(one["kind"], one["text"]) for one in made["newFacts"]]
    # the same where it was inserted, and where the golden gives neither content nor patterns
    assert score_of("anti-hallucination", [insert("b0", content=text)], [insert("b0")], TOLD).value == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "alpha2. Also, delivery takes 2 days.",  # two, in other words
        "alpha2. Ask Ann's office.",
        "alpha2. You pay on May 1.",  # 2026-05-01, in other words
        "alpha2。五月一日に払います。田中さんへ。",
        "alpha2. However, nothing else changes. Customers are informed.",  # words that start sentences
        "alpha2. This is NOT free, OK?",  # emphasis
        "1. alpha2\n2. delivery",  # the numbers of a list
        'alpha2. Ask about "two days".',  # quoted from the page
        "How to Pay and Whom to Ask",  # a title
        "お客様へのご案内です。十分に確認します。",
    ],
)
def test_other_words_for_what_the_input_holds_are_no_news(text: str) -> None:
    score = score_of("anti-hallucination", [replace("b0", content=text)], patterns("alpha2"), TOLD)
    assert (score.value, details(score)["newFacts"]) == (1.0, [])


@pytest.mark.parametrize(
    ("pattern", "text", "value"),
    [
        (r"due \d{4}-\d\d-\d\d", "due 2027-01-01", 1.0),  # the golden asks for some date there
        (r"due \d{4}-\d\d-\d\d", "due 2027-01-01, says Kim", 0.0),
        ("Total.*paid", "Total 99 paid", 0.0),  # a wildcard asks for nothing
        ("Total: (?:98|99)", "Total: 99", 1.0),
        ("CEO|CFO", "the CFO", 1.0),
    ],
)
def test_what_the_pattern_itself_asks_for_is_no_news(pattern: str, text: str, value: float) -> None:
    assert score_of("anti-hallucination", [replace("b0", content=text)], patterns(pattern), ABC).value == value


def test_the_instruction_is_part_of_the_input() -> None:
    golden = case(patterns("price"), userMessage="The price is 40 euros now, says Bob.")
    done = output([replace("b0", content="The price is 40 euros, says Bob.")])
    assert Evaluator("strict").evaluate(golden, done).passed
    bare = case(patterns("price"))
    assert not Evaluator("strict").evaluate(bare, done).passed


def test_exact_content_may_state_what_it_likes() -> None:
    asked = [replace("b0", content="Bob pays 40")]
    assert score_of("anti-hallucination", asked, asked, ABC).value == 1.0


@pytest.mark.parametrize(
    ("done", "value"),
    [
        (delete("ghost"), 0.0),
        (delete(99), 0.0),
        (delete(None), 0.0),
        ({**delete("b1")}, 1.0),  # asked for
    ],
)
def test_deleting_a_block_that_is_not_there_fails_in_strict(done: Json, value: float) -> None:
    """Contract evals.24: deleting a block that is not there fails in `strict`."""
    asked = [delete("b1")]
    score = score_of("anti-hallucination", [delete("b1"), done], asked, ABC)
    assert score.value == value
    assert details(score)["noDeletedBlocks"] is (value == 1.0)
    result = Evaluator("strict").evaluate(case(asked), output([delete("b1"), done]))
    assert result.passed is (value == 1.0)


def test_a_deletion_on_a_page_that_is_not_there_fails_too() -> None:
    score = score_of("anti-hallucination", by_page(nowhere=[delete("b0")]), [], ABC)
    assert score.value == 0.0


def test_german_nouns_are_no_names() -> None:
    text = (
        "Die Lieferung dauert zwei Tage und der Kunde bekommt eine Nachricht mit der Nummer der Sendung. Danach kann "
        "die Ware im Laden bei der Kasse und auch im Lager neben dem Eingang geholt werden, wenn der Ausweis gezeigt "
        "wird und die Rechnung bezahlt ist."
    )
    done = [replace("b1", content="Wir schicken die Ware mit der Post, und alpha2 bleibt.")]
    assert score_of("anti-hallucination", done, patterns("alpha2", on="b1"), [page(text, "x")]).value == 1.0
