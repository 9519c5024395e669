"""Recall by evidence: profiles default and best. The contract's own mapping is tested in test_spec_*."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scalepan.memory import Memory
from scalepan.memory.recall.answers import Recall
from scalepan.policy.evidence import EvidenceWeights, Usual
from scalepan.policy.retrieval import Retrieval
from scalepan.receipts import explain
from tests.law import assert_law
from tests.memory.conftest import Open

WORDS = ["plan", "cancel", "billing", "invoice", "refund", "api", "解約", "請求書", "注文"]
PROFILES = ["default", "best"]
SEVERAL = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def by(profile: str, **more: Any) -> dict[str, Any]:
    return {"policy": {"retrieval": {"profile": profile, **more}}}


def ids(found: Recall) -> list[str]:
    return [one.id for one in found]


def turn(conversation: str, number: int, speaker: str, day: str, text: str) -> dict[str, Any]:
    said_at = f"{day}T10:0{number}:00Z"
    return {"text": text, "conversation": conversation, "turn": number, "speaker": speaker, "said_at": said_at}


TALK = [
    turn("c1", 1, "Aoi", "2023-05-08", "Where were you?"),
    turn("c1", 2, "Ren", "2023-05-08", "At the pottery class."),
    turn("c2", 1, "Aoi", "2024-01-02", "The harbor closes at night."),
    turn("c2", 2, "Mio", "2024-01-02", "A pottery class costs 20 euros."),
]


@pytest.mark.parametrize("profile", PROFILES)
@given(some=st.lists(texts, min_size=1, max_size=30, unique=True), query=texts)
@SEVERAL
def test_k_only_cuts_the_list(profile: str, open_memory: Open, some: list[str], query: str) -> None:
    memory = open_memory(tenant=f"t{abs(hash((profile, query, *some)))}", **by(profile))
    memory.add_many(some)
    whole = memory.search(query, 50)
    for k in (1, 3, 12):
        assert ids(memory.search(query, k)) == ids(whole)[:k]


@pytest.mark.parametrize("profile", PROFILES)
@given(some=st.lists(texts, min_size=2, max_size=20, unique=True), query=texts, dice=st.randoms(use_true_random=False))
@SEVERAL
def test_neither_the_order_of_adds_nor_what_was_forgotten_changes_anything(
    profile: str, open_memory: Open, some: list[str], query: str, dice: Any
) -> None:
    shuffled = [*some]
    dice.shuffle(shuffled)
    answers = []
    for turn, texts_ in enumerate((some, shuffled)):
        memory = open_memory(tenant=f"t{turn}{abs(hash((profile, query, *some)))}", **by(profile))
        gone = [memory.add(f"{text} and more to forget") for text in texts_[::2]] if turn else []
        memory.add_many(texts_)
        if gone:
            memory.forget(*gone)
        answers.append({one.text: float(one.score_final) for one in memory.search(query, 50)})
    first, second = answers
    assert first.keys() == second.keys()
    assert [second[text] for text in first] == pytest.approx(list(first.values()), abs=1e-6)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_candidate_has_both_sides(profile: str, open_memory: Open) -> None:
    memory = open_memory(**by(profile))
    memory.add_many(["cancel a plan", "an invoice", "billing of the plan"])
    for one in memory.search("plan"):
        assert one.features.s_text is not None
        assert one.features.s_vec is not None
        assert_law(one.score_final)
        assert 0 <= (one.p_useful or 0.0) <= 1


def test_the_formula_of_default_is_the_contracts(open_memory: Open) -> None:
    memory = open_memory(**by("default"))
    memory.add("cancel a plan", confidence=1.0)
    memory.add("an invoice")
    one = memory.search("cancel a plan", alpha=0.65)[0]
    features = one.features
    assert features.s_vec is not None
    assert features.s_text is not None
    assert pytest.approx(0.65 * features.s_vec + 0.35 * features.s_text) == features.S
    # g = (.6 + .4 x .5) x (.5 + .5 x 1) x 1
    assert float(one.score_final) == pytest.approx(features.S * 0.8)


def test_a_store_without_places_is_ranked_by_best_without_them(open_memory: Open) -> None:
    memory = open_memory(**by("best"))
    memory.add_many(["cancel a plan", "an invoice", "billing of the plan"])
    names = {part.name for part in memory.search("plan")[0].score_final.parts}
    assert names == {"coverage", "rarest", "cosine_z", "stronger", "weaker"}


def test_best_counts_neighbors_source_speaker_and_date_and_its_explanation_fits_a_screen(open_memory: Open) -> None:
    memory = open_memory(**by("best"))
    memory.add_many(TALK)
    found = {one.text: one for one in memory.search("What did Aoi ask Ren, where were they on 8 May 2023?", k=4)}
    said = found["At the pottery class."].score_final
    parts = {part.name: part.value for part in said.parts}
    assert (parts["speaker"], parts["date"]) == (1.0, 1.0)
    assert parts["beside_text"] > 0  # Aoi's turn before it
    assert parts["source_best"] > 0  # and both are of one conversation
    later = found["A pottery class costs 20 euros."].score_final
    assert later.part("date").value < 0.01
    assert later.part("speaker").value == 0.0
    assert_law(said)
    lines = said.explain().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 120


def test_default_looks_at_no_place(open_memory: Open) -> None:
    memory = open_memory(**by("default"))
    memory.add_many(TALK)
    names = [part.name for part in memory.search("Where was Ren on 8 May 2023?")[0].score_final.parts]
    assert names == ["s_vec", "s_text"]


def test_a_neighbor_that_may_not_be_read_counts_for_nothing(open_memory: Open) -> None:
    memory = open_memory(**by("best"))
    secret, public = ({**one, "conversation": "c"} for one in TALK[:2])
    memory.add_many([{**secret, "text": "zebra zebra", "boundary_class": "pii"}, public])
    one = memory.search("zebra class")[0]
    assert one.text == "At the pottery class."
    assert one.score_final.part("beside_text").value == 0.0


@pytest.mark.parametrize(
    ("query", "level"), [("解約の方法は何ですか", ""), ("how to cancel 解約", "index"), ("42?", "index")]
)
def test_a_query_beyond_the_encoders_reading_is_recalled_by_words(query: str, level: str, open_memory: Open) -> None:
    usual = {"mean": 0.0, "deviation": 0.1, "claims": 30}
    memory = open_memory(**by("default", evidence={"encoders": {"stand-in": {"reads": "latin", "usual": usual}}}))
    memory.add_many(["解約の方法", "cancel a plan 42"])
    found = memory.search(query)
    assert found.vector_level == level
    part = found[0].score_final.part("s_vec")
    assert (part.source == "default") == (level == "")
    assert any("beyond the encoder's reading" in note for note in found.notes) == (level == "")


@pytest.mark.parametrize("profile", PROFILES)
def test_an_activation_is_empty_when_nothing_fits_and_says_why(profile: str, open_memory: Open) -> None:
    memory = open_memory(**by(profile))
    memory.add_many(["The harbor closes at night", "Invoices are sent on Mondays", "The office has a blue door"])
    nothing = memory.activate("quantum chromodynamics lattice")
    assert list(nothing) == []
    assert nothing.p_useful is not None
    assert nothing.p_useful < 0.05
    assert any(note.startswith("nothing") for note in nothing.notes)
    fits = memory.activate("when are invoices sent?")
    assert [one.text for one in fits] == ["Invoices are sent on Mondays"]
    assert fits.p_useful == max(one.p_useful or 0.0 for one in fits)
    assert not any(note.startswith("nothing") for note in fits.notes)


@pytest.mark.parametrize("profile", ["spec", *PROFILES])
def test_what_is_kept_of_an_activation_can_be_computed_again(profile: str, open_memory: Open) -> None:
    memory = open_memory(**by(profile, threshold=0.0, evidence={"threshold": 0.0}))
    memory.add_many(TALK)
    context = memory.activate("Where was Ren on 8 May 2023?")
    assert len(context) >= 2
    explained = explain(memory, context.active_context_id)
    assert len(explained.numbers) == len(context)
    assert explained.status == "equal", explained


def test_an_old_claim_is_not_lost_for_its_age(open_memory: Open) -> None:
    """G decides between equals; it does not turn a fit into a misfit."""
    memory = open_memory(**by("default"))
    old = {"text": "Invoices are sent on Mondays", "created_at": "2020-01-01T00:00:00Z"}
    memory.add_many([old, "Invoices of May", "The harbor closes at night", "The office has a blue door"])
    assert memory.search("when are invoices sent?")[0].text == "Invoices are sent on Mondays"


@pytest.mark.parametrize(
    ("scores", "mean", "variance", "population", "z"),
    [
        ([0.5], 0.1, 0.01, 800, [4.0]),  # many claims speak for themselves: (.5 - .1) / .1
        ([0.5], 0.5, 0.0, 0, [4.0]),  # none: what is usual decides
        ([0.1], 0.1, 0.01, 200, [0.0]),
    ],
)
def test_few_claims_are_judged_by_what_is_usual(
    scores: Sequence[float], mean: float, variance: float, population: int, z: Sequence[float]
) -> None:
    import numpy as np

    usual = Usual(mean=0.1, deviation=0.1, claims=200)
    assert usual.z(np.array(scores), mean, variance, population).tolist() == pytest.approx(z)


def test_weights_are_never_negative() -> None:
    """More evidence never lowers a score."""
    evidence = Retrieval().evidence
    for weights in (evidence.text, evidence.vector, evidence.best, evidence.useful, evidence.useful_alone):
        assert isinstance(weights, EvidenceWeights)
        assert all(getattr(weights, name) >= 0 for name in weights.__struct_fields__ if name != "bias")


def test_a_store_of_thousands_keeps_the_order_where_vectors_are_preselected(memory: Memory, open_memory: Open) -> None:
    claims = [f"{a} {b} {n}" for n, (a, b) in enumerate((x, y) for x in WORDS for y in WORDS)]
    exact = open_memory(tenant="many", **by("default"))
    exact.add_many(claims)
    signs = open_memory(
        tenant="many", **by("default", vectors={"exact_claims": 10, "rescore": 1}, evidence={"pool": 20})
    )
    assert ids(signs.search("plan refund", 3)) == ids(exact.search("plan refund", 3))
