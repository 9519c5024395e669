"""Support: verdicts by hand, and what holds for every answer."""

from time import process_time

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scalepan.confidence.stand_ins import Supported, support, support_many
from scalepan.policy.stand_ins import StandIns, Support
from scalepan.score import Score
from tests.confidence.stand_ins.embedders import Broken, Letters, Nonsense
from tests.law import assert_law

SALES = "Sales rose by 3 % to $1.2 million in May 2021, said Mary Smith. The store in Kyoto did not close."
JAPANESE = "売上は2021年5月に3%増加し、120万円になった。京都の店は閉店しなかった。担当はタナカ・マリコです。"


def details(score: Score) -> Supported:
    assert isinstance(score.details, Supported)
    return score.details


@pytest.mark.parametrize(
    ("answer", "source", "verdict", "kinds"),
    [
        # the same, in other words and signs
        ("Sales rose by three percent.", SALES, "supported", []),
        ("Sales rose to 1,200,000 dollars.", SALES, "supported", []),
        ("Sales rose in 2021.", SALES, "supported", []),
        ("The Kyoto store did not close.", SALES, "supported", []),
        # one thing is different
        ("Sales rose by 4 %.", SALES, "contradicted", ["number"]),
        ("Sales rose to $1.3 million.", SALES, "contradicted", ["number"]),
        ("Sales rose in May 2022.", SALES, "contradicted", ["date"]),
        ("Sales rose in June 2021.", SALES, "contradicted", ["date"]),
        ("Sales rose by 3 %, said Mary Jones.", SALES, "contradicted", ["name"]),
        ("Sales fell by 3 %.", SALES, "contradicted", ["antonym"]),
        ("Sales did not rise by 3 %.", SALES, "contradicted", ["negation"]),
        ("The store in Kyoto closed.", SALES, "contradicted", ["negation"]),
        # `did not fall` is no contradiction of `rose`
        ("Sales did not fall by 3 %.", SALES, "supported", []),
        # the sources say nothing about it
        ("Penguins cannot fly.", SALES, "undecided", []),
        ("Sales rose because of 17 hours of rain.", SALES, "undecided", ["number"]),
        ("Yes.", "Yes or no?", "supported", []),
        # Japanese
        ("売上は3パーセント増加した。", JAPANESE, "supported", []),
        ("売上は３％増加した。", JAPANESE, "supported", []),
        ("売上は百二十万円になった。", JAPANESE, "supported", []),
        ("売上は4%増加した。", JAPANESE, "contradicted", ["number"]),
        ("売上は2022年に3%増加した。", JAPANESE, "contradicted", ["date"]),
        ("売上は3%減少した。", JAPANESE, "contradicted", ["antonym"]),
        ("京都の店は閉店した。", JAPANESE, "contradicted", ["negation"]),
        ("売上は3%増加しなかった。", JAPANESE, "contradicted", ["negation"]),
        ("担当はスズキ・ハナコです。", JAPANESE, "contradicted", ["name"]),
        # mixed
        ("ScalepanはAPIで売上を返す。", "ScalepanはAPIで売上を返します。", "supported", []),
        ("GoogleはAPIで売上を返す。", "ScalepanはAPIで売上を返します。", "contradicted", ["name"]),
    ],
)
def test_verdicts(answer: str, source: str, verdict: str, kinds: list[str]) -> None:
    (claim,) = details(support(answer, [source])).claims
    assert (claim.verdict, [found.kind for found in claim.disagreements]) == (verdict, kinds)


def test_the_number_by_hand() -> None:
    # Both sentences are matched in full; the second has one contradiction, which leaves 0.2 of it.
    score = support("Sales rose by 3 %. The store in Kyoto closed.", [SALES])
    assert [claim.grade for claim in details(score).claims] == [1.0, 0.2]
    # mean (1 + .2) / 2 = .6, worst .2, half each
    assert score.value == pytest.approx(0.5 * 0.6 + 0.5 * 0.2)
    assert_law(score)


def test_a_claim_says_where_its_evidence_stands() -> None:
    sources = ["Nothing here.", f"  {SALES}"]
    (claim,) = details(support("Yes. Sales rose by 4 %.", sources)).claims[1:]
    assert claim.evidence is not None
    place = claim.evidence
    assert place.source == 1
    assert sources[1][place.start : place.end] == place.text
    assert place.text.startswith("Sales rose by 3 %")
    assert "Yes. Sales rose by 4 %."[claim.start : claim.end] == claim.text
    (found,) = claim.disagreements
    assert (found.said, found.instead) == ("4 %", "3 %")


@pytest.mark.parametrize(
    ("answer", "sources", "reason"),
    [
        ("", [SALES], "the answer is empty"),
        (" \n\u3000", [SALES], "the answer is empty"),
        ("Sales rose.", [], "there are no sources"),
        ("Sales rose.", ["", " "], "there are no sources"),
        ("!!! ...", [SALES], "no sentence of the answer says anything that could be looked up"),
    ],
)
def test_nothing_to_judge_is_not_measured(answer: str, sources: list[str], reason: str) -> None:
    score = support(answer, sources)
    assert (score.value, score.status, score.reason) == (None, "not_applicable", reason)


def test_it_can_be_switched_off_and_says_so() -> None:
    score = support("Sales rose.", [SALES], policy=StandIns(support=Support(enabled=False)))
    assert score.value is None
    assert "confidence.stand_ins.support.enabled" in score.reason


@pytest.mark.parametrize(
    ("switch", "answer"),
    [
        ("numbers", "Sales rose by 4 %."),
        ("dates", "Sales rose in June 2021."),
        ("names", "Sales rose by 3 %, said Mary Jones."),
        ("antonyms", "Sales fell by 3 %."),
        ("negation", "Sales did not rise by 3 %."),
    ],
)
def test_each_check_has_its_switch(switch: str, answer: str) -> None:
    policy = StandIns(support=msgspec.convert({switch: False}, Support))
    assert details(support(answer, [SALES])).count("contradicted") == 1
    assert details(support(answer, [SALES], policy=policy)).count("contradicted") == 0


def test_it_names_itself_a_stand_in_and_its_encoder() -> None:
    assert "stand-in" in support("Sales rose.", [SALES]).parts[0].note
    assert "no encoder" in support("Sales rose.", [SALES]).parts[0].note
    assert "letters" in support("Sales rose.", [SALES], Letters()).parts[0].note


@pytest.mark.parametrize("encoder", [Broken(), Nonsense()])
def test_an_encoder_that_fails_costs_only_what_it_would_add(encoder: Letters) -> None:
    score = support("Sales rose.", [SALES], encoder)
    assert score.value == support("Sales rose.", [SALES]).value
    assert "words alone: the encoder" in score.parts[0].note


def test_too_many_sentences_are_compared_by_words_and_cost_others_nothing() -> None:
    encoder, policy = Letters(), StandIns(max_embedded=3)
    long, short = support_many([("Sales rose. Yes. Yes. No.", [SALES]), ("Sales rose.", [SALES])], encoder, policy)
    assert "words alone: 5 sentences are more than 3" in long.parts[0].note
    assert long.value == support("Sales rose. Yes. Yes. No.", [SALES]).value
    assert "letters" in short.parts[0].note
    assert short == support("Sales rose.", [SALES], encoder, policy)


def test_many_are_encoded_at_once_and_get_the_same_as_one_by_one() -> None:
    pairs = [("Sales fell.", [SALES]), ("", [SALES]), ("売上は減少した。", [JAPANESE, SALES]), ("Hm.", [])]
    encoder = Letters()
    many = support_many(pairs, encoder)
    assert encoder.calls == 1
    assert many == [support(answer, sources, encoder) for answer, sources in pairs]
    assert support_many([]) == []


def test_a_lone_text_is_one_source() -> None:
    assert support("Sales rose.", SALES).value == support("Sales rose.", [SALES]).value


WORDS = [
    *("sales", "rose", "fell", "not", "3 %", "$4", "May 2021", "Bob Ross", "Kyoto", "never", "five", "Q2", "一"),
    *(
        "売上は",
        "増加",
        "減少",
        "しない",
        "三百円",
        "タナカ",
        "。",
        ".",
        "!",
        "\n",
        "\ud800",
        "2024-05-06",
        "7 pm",
        "田中さん",
    ),
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=40)


@given(TEXTS, st.lists(TEXTS, max_size=3), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=25)
def test_the_law_holds_and_the_order_of_sources_does_not_matter(answer, sources, random, encoded):  # type: ignore[no-untyped-def]
    encoder = Letters() if encoded else None
    score = support(answer, sources, encoder)
    assert_law(score)
    shuffled = random.sample(sources, len(sources))
    other = support(answer, shuffled, encoder)
    assert other.value == score.value
    if score.value is not None:
        assert [claim.verdict for claim in other.details.claims] == [claim.verdict for claim in score.details.claims]


@given(TEXTS, st.lists(TEXTS, max_size=2), st.booleans())
@settings(max_examples=25)
@example("0AÀ", [], False)
def test_a_copy_of_the_source_is_supported(text, others, encoded):  # type: ignore[no-untyped-def]
    score = support(text, [*others, text], Letters() if encoded else None)
    if score.value is not None:
        assert score.value == pytest.approx(1.0)
        judged = [claim.verdict for claim in score.details.claims if claim.grade is not None]
        assert set(judged) == {"supported"}


HOSTILE = [
    *("a", "1", "1,", "A ", "漢", "ない、", "one ", "三百円", "$1 ", "・", "No. ", "\ud800"),
    "".join(f"Name{at} {at} not " for at in range(250)),  # one sentence of many facts
    "".join(f"Big common {at} word. " for at in range(150)),
]


@pytest.mark.parametrize("seed", HOSTILE, ids=lambda seed: ascii(seed[:8]))
def test_long_text_is_no_danger(seed: str) -> None:
    text = seed * (5_000 // len(seed) or 1)
    start = process_time()
    support(text, [text, "Sales rose by 3 %."])
    support(text, ["Name1 2 not Big common 3 word A ない 400円 " * 100])
    # A few hundredths of a second; `bench/groundedness.py` has the megabyte.
    assert process_time() - start < 1
