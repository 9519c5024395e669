"""Every formula and constant of spec/memory.md, sections 4 and 5.3, with numbers worked by hand: rerank, MMR, caps."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.memory import rank
from scalepan.memory.halflife import faded
from scalepan.memory.recall.diversify import Contender, diversify
from scalepan.memory.recall.population import Population, population
from scalepan.policy.retrieval import Diversity, Hybrid, Rerank, Retrieval
from tests.memory.conftest import Open

UNIT = st.floats(0, 1)


# Section 4: rerank.


@pytest.mark.parametrize(
    ("z", "confidence", "recency", "expected"),
    [
        (0.0, 0.5, 1.0, 0.6),  # new and unrated: .8 x .75 x 1
        (0.0, 0.0, 0.0, 0.12),  # nothing known: .8 x .5 x .3
        (50.0, 1.0, 1.0, 1.0),  # g never lifts a score
        (-50.0, 0.0, 0.0, 0.09),  # .6 x .5 x .3
        (log(3), 0.5, 0.5, 0.43875),  # sigma = .75: .9 x .75 x .65
        (0.0, 7.0, 9.0, 0.8),  # clipped to 1
        (0.0, -7.0, -9.0, 0.12),  # clipped to 0
    ],
)
def test_g(z: float, confidence: float, recency: float, expected: float) -> None:
    assert rank.g(z, confidence, recency) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("quality", "expected"), [(None, 0.6), (1.0, 0.6), (0.0, 0.3), (0.5, 0.45), (2.0, 0.6)])
def test_quality_scales_g_where_it_counts(quality: float | None, expected: float) -> None:
    # .6 x (.5 + .5 q)
    assert rank.g(0.0, 0.5, 1.0, quality) == pytest.approx(expected)


@given(st.floats(-100, 100), UNIT, UNIT, UNIT)
def test_g_stays_between_its_floors_and_1(z: float, confidence: float, recency: float, quality: float) -> None:
    assert 0.09 - 1e-12 <= rank.g(z, confidence, recency) <= 1.0
    assert rank.g(z, confidence, recency, quality) <= rank.g(z, confidence, recency) + 1e-15


@given(st.floats(-5, 5), st.floats(0, 5), UNIT, UNIT)
def test_more_use_certainty_or_freshness_never_lowers_g(z: float, more: float, one: float, other: float) -> None:
    assert rank.g(z + more, one, other) >= rank.g(z, one, other)
    low, high = sorted([one, other])
    assert rank.g(z, high, 0.5) >= rank.g(z, low, 0.5)
    assert rank.g(z, 0.5, high) >= rank.g(z, 0.5, low)


def test_sigmoid() -> None:
    assert rank.sigmoid(0) == 0.5
    assert rank.sigmoid(1) == pytest.approx(0.7310585786)
    assert rank.sigmoid(-1e6) == 0.0
    assert rank.sigmoid(1e6) == 1.0


@pytest.mark.parametrize(
    ("age", "half_life", "expected"),
    [
        (0, 30, 1.0),
        (30, 30, 0.5),
        (60, 30, 0.25),
        (15, 30, 0.5**0.5),
        (14, 14, 0.5),
        (12, 120, 0.5**0.1),  # .933: the spec's "recent=12d" and rec .93 are a fact's
        (-5, 30, 1.0),  # a clock that went back
        (1e9, 30, 0.0),
    ],
)
def test_recency(age: float, half_life: float, expected: float) -> None:
    assert rank.recency(age, half_life) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "days"), [("fact", 120), ("task", 14), ("preference", 90), ("policy_hint", 365), ("rumor", 30)]
)
def test_half_lives_by_kind(kind: str, days: float) -> None:
    assert Retrieval().half_life(kind) == days


def test_recency_half_life_days_is_for_kinds_that_have_none() -> None:
    policy = Retrieval(hybrid=Hybrid(recency_half_life_days=7), rerank=Rerank(half_life_days={"task": 3}))
    assert [policy.half_life(kind) for kind in ("task", "fact")] == [3, 7]


def test_utility_z_is_over_the_population() -> None:
    people = population(np.array([0.0, 0.0, 0.3, 0.5]))
    # mean .2; squares .04 .04 .01 .09, sum .18, / 4 = .045; deviation .21213
    assert people == pytest.approx((0.2, 0.045**0.5))
    # z = (.5 - .2) / .21213 = 1.41421; sigma = .80443
    assert people.gain(0.5) == pytest.approx(1 / (1 + exp(-(0.3 / 0.045**0.5))))
    assert people.gain(0.2) == 0.5


@pytest.mark.parametrize("utilities", [[], [0.4], [0.4, 0.4, 0.4]])
def test_without_spread_there_is_no_z_and_utility_stands_in(utilities: list[float]) -> None:
    people = population(np.array(utilities))
    assert people == Population(0.0, 0.0)
    # (u + 1) / 2
    assert [people.gain(u) for u in (-1.0, 0.0, 0.4, 1.0, 3.0)] == pytest.approx([0.0, 0.5, 0.7, 1.0, 1.0])


@pytest.mark.parametrize(
    ("value", "age", "half_life", "left"),
    [(0.8, 30, 30, 0.4), (0.8, 60, 30, 0.2), (-0.4, 30, 30, -0.2), (0.8, 120, 120, 0.4), (0.8, -9, 30, 0.8)],
)
def test_decay(value: float, age: float, half_life: float, left: float) -> None:
    assert faded(value, age, half_life) == pytest.approx(left)


# Section 5.3: MMR and caps.


def choose(
    scores: list[float],
    sims: list[list[float]] | None = None,
    *,
    k: int = 9,
    hashes: str = "",
    entities: list[str] | None = None,
    policy: Diversity | None = None,
) -> tuple[list[int], dict[int, str], list[float]]:
    count = len(scores)
    near = np.array(sims if sims is not None else np.eye(count))
    contenders = [
        Contender(score, hashes[i] if hashes else str(i), tuple(entities[i]) if entities else ())
        for i, score in enumerate(scores)
    ]
    found = diversify(contenders, k, policy or Diversity(), lambda place: near[place])
    return (
        [place for place, _ in found.chosen],
        found.passed_over,
        [score for _, score in found.chosen if score is not None],
    )


def test_mmr_by_hand() -> None:
    sims = [[1.0, 0.95, 0.1], [0.95, 1.0, 0.2], [0.1, 0.2, 1.0]]
    # First .85 x .60 = .51. Then B: .85 x .58 - .15 x .95 = .3505; C: .85 x .50 - .15 x .10 = .41: C goes first.
    # Last B: its nearest chosen is still A, .95: .3505.
    order, passed_over, score_div = choose([0.60, 0.58, 0.50], sims)
    assert order == [0, 2, 1]
    assert score_div == pytest.approx([0.51, 0.41, 0.3505])
    assert passed_over == {}


def test_lambda_1_is_the_score_alone() -> None:
    order, _, score_div = choose([0.6, 0.58, 0.5], [[1.0] * 3] * 3, policy=Diversity(mmr_lambda=1.0))
    assert order == [0, 1, 2]
    assert score_div == pytest.approx([0.6, 0.58, 0.5])


def test_lambda_0_is_unlikeness_alone() -> None:
    sims = [[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]]
    assert choose([0.6, 0.5, 0.1], sims, policy=Diversity(mmr_lambda=0.0))[0] == [0, 2, 1]


def test_one_claim_for_each_content() -> None:
    order, passed_over, _ = choose([0.9, 0.8, 0.7, 0.6], hashes="abab")
    assert order == [0, 1]
    assert passed_over == {2: "repeats=content", 3: "repeats=content"}
    every = Diversity(unique_content=False)
    assert choose([0.9, 0.8], [[1.0, 1.0]] * 2, hashes="aa", policy=every)[0] == [0, 1]


def test_at_most_two_claims_for_each_entity() -> None:
    # x is full after 0 and 1; 3 is about y too, and would be a third for x; 4 is about nothing and free.
    order, passed_over, _ = choose([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], entities=["x", "x", "x", "xy", "", "y"])
    assert order == [0, 1, 4, 5]
    assert set(passed_over) == {2, 3}
    assert all("entity_cap=2" in why and "x" in why for why in passed_over.values())


@pytest.mark.parametrize(("cap", "order"), [(0, [0, 1, 2]), (1, [0]), (3, [0, 1, 2])])
def test_the_cap_is_the_policy_s(cap: int, order: list[int]) -> None:
    assert choose([0.9, 0.8, 0.7], entities=["x", "x", "x"], policy=Diversity(entity_cap=cap))[0] == order


def test_k_bounds_what_is_chosen() -> None:
    order, passed_over, _ = choose([0.9, 0.8, 0.7], k=1)
    assert order == [0]
    assert passed_over == {1: "k=1", 2: "k=1"}
    assert choose([])[0] == []


@given(st.lists(UNIT, max_size=12).map(lambda scores: sorted(scores, reverse=True)), st.integers(1, 6))
def test_everybody_is_chosen_once_or_passed_over_with_a_reason(scores: list[float], k: int) -> None:
    order, passed_over, _ = choose(scores, k=k)
    assert sorted([*order, *passed_over]) == list(range(len(scores)))
    assert len(order) == min(k, len(scores))
    assert order[:1] == ([0] if scores else [])


def test_of_equal_scores_the_newer_comes_first(open_memory: Open) -> None:
    ageless = {"rerank": {"recency": {"floor": 1.0, "span": 0.0}}, "diversity": {"mmr_lambda": 1.0}}
    memory = open_memory(policy={"retrieval": ageless, "embed": {"model": "none"}})
    days = [3, 0, 4, 1, 2, 5]  # added in another order than the one that is expected
    memory.add_many([{"text": f"pier {day}", "created_at": f"2026-01-{10 - day:02}T00:00:00+00:00"} for day in days])
    found = memory.search("pier", alpha=0.0)
    assert len({one.score_final.value for one in found}) == 1
    assert [one.text for one in found] == [f"pier {day}" for day in range(6)]
