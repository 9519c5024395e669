"""Contract memory.14 to memory.27 with numbers worked by hand: from candidates to S."""

from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.memory import rank
from scalepan.memory.recall.candidates.words import Words, bm25
from scalepan.memory.recall.weigh import calibrated, side_weights
from scalepan.policy.retrieval import Curve, Dynamic, Hybrid, Normalize, Retrieval, Text

# memory.14 to memory.17: normalization.


@pytest.mark.parametrize(
    ("sim", "s_vec"),
    [
        (1.0, 1.0),
        (0.0, 0.5),
        (-1.0, 0.0),
        (0.82, 0.91),  # (.82 + 1) / 2
        (1 - 0.3, 0.85),  # VSS: sim = 1 - dist
        (1.0000001, 1.0),  # rounding of float32
        (-1.0000001, 0.0),
    ],
)
def test_norm_cos(sim: float, s_vec: float) -> None:
    assert rank.norm_cos(sim) == pytest.approx(s_vec, abs=1e-12)
    assert 0.0 <= rank.norm_cos(sim) <= 1.0


@pytest.mark.parametrize(
    ("bm25", "s_text"),
    [
        ([], []),
        ([2.0, 5.0, 8.0], [0.0, 0.5, 1.0]),  # (5 - 2) / (8 - 2)
        ([8.0, 3.5, 2.0], [1.0, 0.25, 0.0]),  # (3.5 - 2) / 6
        ([4.2], [1.0]),  # one candidate, or equal ones: 1 each
        ([4.2, 4.2, 4.2], [1.0, 1.0, 1.0]),
    ],
)
def test_min_max(bm25: list[float], s_text: list[float]) -> None:
    assert rank.norm_bm25(bm25) == pytest.approx(s_text)


def test_min_max_of_equals_is_0_by_the_bare_formula() -> None:
    zero = Normalize(minmax_tie="zero")
    # (4.2 - 4.2) / max(0, 1e-6)
    assert rank.norm_bm25([4.2], zero) == [0.0]
    assert rank.norm_bm25([4.2, 4.2], zero) == [0.0, 0.0]
    # (1e-7) / max(1e-7, 1e-6): epsilon floors the denominator.
    assert rank.norm_bm25([0.0, 1e-7], zero) == pytest.approx([0.0, 0.1])


def test_scores_that_differ_by_rounding_only_are_equal() -> None:
    """.1 + .2 + .3 and .3 + .2 + .1 are the same words in another order: both texts get 1, not 0 and 0.00000001."""
    one, other = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
    assert one != other
    assert rank.norm_bm25([one, other]) == pytest.approx([1.0, 1.0], abs=1e-6)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_min_max_stays_within_0_and_1_and_keeps_the_order(scores: list[float]) -> None:
    mapped = rank.norm_bm25(scores)
    assert min(mapped) >= 0.0
    assert max(mapped) <= 1.0
    by_raw = [s for _, s in sorted(zip(scores, mapped, strict=True))]
    assert by_raw == sorted(by_raw)


@pytest.mark.parametrize(("place", "s_text"), [(1, 1 / 2), (2, 1 / 3), (3, 1 / 4), (48, 1 / 49)])
def test_without_fts_the_rank_counts(place: int, s_text: float) -> None:
    assert rank.norm_rank(place) == s_text


def test_bm25_by_hand() -> None:
    # 4 texts, 2 have the term: idf = ln(1 + (4 - 2 + .5) / (2 + .5)) = ln 2. The text has it twice in 6 terms, where
    # the average is 4: 2 x 2.2 / (2 + 1.2 x (.25 + .75 x 6 / 4)) = 4.4 / 3.65.
    found = bm25(np.array([2], np.int32), np.array([6], np.int32), 4.0, 2, 4, Text())
    assert found[0] == pytest.approx(log(2) * 4.4 / 3.65)


def test_bm25_counts_within_what_may_be_read_only() -> None:
    words = Words()
    words.add([["plan", "plan"], ["plan", "refund"], ["order"], ["plan"]])
    newest = np.zeros(4)
    mine = np.array([True, False, True, False])
    # Of 2 texts, 1 has "plan": ln(1 + 1.5 / 1.5) = ln 2; twice in 2 terms, average 1.5:
    # 2 x 2.2 / (2 + 1.2 x (.25 + .75 x 2 / 1.5)) = 4.4 / 3.5.
    ((row, score),) = words.search(["plan"], mine, 9, newest, Text())
    assert (row, score) == pytest.approx((0, log(2) * 4.4 / 3.5))


# memory.18: calibration.


@pytest.mark.parametrize(
    ("curve", "raw", "expected"),
    [
        (Curve(method="isotonic", x=[1.0, 3.0], y=[0.2, 0.6]), [0.0, 2.0, 9.0], [0.2, 0.4, 0.6]),
        (Curve(method="quantile", x=[5.0], y=[0.5]), [1.0, 5.0], [0.5, 0.5]),
        # 1 / (1 + exp(-2 s + 1)): s = .5 -> .5; s = 1 -> 1 / (1 + e^-1)
        (Curve(method="platt", x=[-2.0, 1.0], y=[]), [0.5, 1.0], [0.5, 1 / (1 + exp(-1))]),
        (Curve(method="platt", x=[-2.0, 1.0], y=[]), [], []),
    ],
)
def test_calibrated_scores(curve: Curve, raw: list[float], expected: list[float]) -> None:
    assert calibrated(raw, curve) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("method", "x", "y", "problem"),
    [
        ("platt", [1.0], [], "two numbers"),
        ("platt", [1.0, 2.0], [0.5], "two numbers"),
        ("isotonic", [], [], "not empty"),
        ("isotonic", [1.0, 2.0], [0.5], "equally long"),
        ("isotonic", [2.0, 1.0], [0.1, 0.2], "must rise"),
        ("quantile", [1.0, 1.0], [0.1, 0.2], "must rise"),
        ("isotonic", [1.0, 2.0], [0.2, 0.1], "must not fall"),
    ],
)
def test_a_curve_that_is_none_is_refused(method: str, x: list[float], y: list[float], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Curve(method=method, x=x, y=y)  # type: ignore[arg-type]


# memory.21 to memory.27: fusion.


@pytest.mark.parametrize(
    ("s_vec", "s_text", "alpha", "fused"),
    [
        (0.91, 0.55, 0.65, 0.784),  # .65 x .91 + .35 x .55 = .5915 + .1925; the document's example says .76
        (1.0, 0.0, 0.65, 0.65),  # one side only: the other counts 0
        (0.0, 1.0, 0.65, 0.35),
        (0.3, 0.8, 0.0, 0.8),
        (0.3, 0.8, 1.0, 0.3),
    ],
)
def test_fuse(s_vec: float, s_text: float, alpha: float, fused: float) -> None:
    assert rank.fuse(s_vec, s_text, alpha) == pytest.approx(fused, abs=1e-12)


def test_the_worked_example_of_the_notes() -> None:
    fused = rank.fuse(0.91, 0.55, 0.65)
    assert fused == pytest.approx(0.784, abs=1e-9)
    product = 1.0
    for _, factor in rank.g_factors(rank.Gains(util=0.86, conf=0.72, rec=0.93)):
        product *= factor
    # (.6 + .4 x .86) x (.5 + .5 x .72) x (.3 + .7 x .93) = .944 x .86 x .951 = .77206; x .784 = .6053
    assert product == pytest.approx(0.77206, abs=1e-6)
    assert fused * product == pytest.approx(0.605, abs=5e-4)


@pytest.mark.parametrize(
    ("text_level", "vector_level", "s_text", "s_vec", "missing_side", "weights"),
    [
        ("index", "index", 0.5, 0.5, "zero", (0.65, 0.35)),
        ("index", "index", None, 0.5, "zero", (0.65, 0.35)),  # not found there: 0 with its weight
        ("index", "index", None, 0.5, "as_is", (1.0, 0.0)),
        ("index", "index", 0.5, None, "as_is", (0.0, 1.0)),
        ("index", "index", 0.5, 0.5, "as_is", (0.65, 0.35)),
        ("index", "", 0.5, None, "zero", (0.0, 1.0)),  # a side that did not run is left out
        ("", "index", None, 0.5, "zero", (1.0, 0.0)),
    ],
)
def test_a_missing_side(
    text_level: str,
    vector_level: str,
    s_text: float | None,
    s_vec: float | None,
    missing_side: str,
    weights: tuple[float, float],
) -> None:
    policy = Retrieval(normalize=Normalize(missing_side=missing_side))  # type: ignore[arg-type]
    assert side_weights(0.65, text_level, vector_level, s_text, s_vec, policy) == pytest.approx(weights)


def test_the_constants_of_the_spec() -> None:
    policy = Retrieval()
    assert policy.hybrid == Hybrid(alpha=0.65, k_txt=48, k_vec=96, k_final=12, recency_half_life_days=30)
    assert policy.threshold == 0.15
    assert policy.rerank.half_life_days == {"fact": 120, "task": 14, "preference": 90, "policy_hint": 365}
    assert policy.rerank.use_quality is False
    assert (policy.diversity.mmr_lambda, policy.diversity.entity_cap) == (0.85, 2)
    assert policy.normalize.epsilon == 1e-6
    feedback = policy.feedback
    assert [(c.utility, c.confidence) for c in (feedback.helpful, feedback.harmful, feedback.outdated)] == [
        (0.10, 0.05),
        (-0.20, -0.10),
        (0.0, -0.20),
    ]
    assert (feedback.utility_half_life_days, feedback.quality_half_life_days) == (30, 120)
    assert policy.context_hours == 24
    # k_txt is 3 to 5 times k_final, k_vec 6 to 10 times, VSS fetches 1.5 to 2.0 times as many.
    assert 1.5 <= policy.vectors.overfetch <= 2.0


LONG = (
    "please tell me how customers with yearly contracts cancel running subscriptions before their next invoice arrives"
)
LONG_JAPANESE = "年間契約のお客様が次回の請求書の発行前に契約中のプランを解約する方法と返金の手順を教えてください"


@pytest.mark.parametrize(
    ("query", "alpha", "why"),
    [
        ("billing", 0.4, "at most 2 words"),
        ("cancel plan", 0.4, "at most 2 words"),
        ("解約方法", 0.4, "at most 2 words"),
        ("cancel yearly plan", 0.65, "by the policy"),
        ("how do I cancel", 0.65, "by the policy"),  # four words, of which search looks for one
        ("what is it that I have to do for it to be over", 0.75, "12 words or more"),
        ("解約方法を教えて", 0.65, "by the policy"),
        ("what does getUserName() return for guests today", 0.4, "a piece of code, a quote or a URL"),
        ('where is "subscription cancelled" shown to customers', 0.4, "a piece of code, a quote or a URL"),
        ("customers see https://example.com/cancel after checkout fails", 0.4, "a piece of code, a quote or a URL"),
        (LONG, 0.75, "12 words or more"),
        (
            LONG_JAPANESE,
            0.75,
            "12 words or more",
        ),
    ],
)
@pytest.mark.parametrize("morphology", ["auto", "off"])
def test_dynamic_alpha(query: str, alpha: float, why: str, morphology: Any) -> None:
    """Contract memory.27: all words count, stop words too; unspaced Japanese by morphemes or an estimate."""
    found = rank.parameters(query, Retrieval(morphology=morphology))
    assert (found.alpha, found.why_alpha) == (alpha, why)


def test_dynamic_alpha_stays_in_the_spec_s_ranges() -> None:
    dynamic = Dynamic()
    assert dynamic.lexical_terms == 2
    assert 0.3 <= dynamic.lexical_alpha <= 0.5
    assert 0.7 <= dynamic.semantic_alpha <= 0.85


def test_an_alpha_in_the_call_wins_and_dynamic_can_be_switched_off() -> None:
    for query in ("billing", LONG, "cancel yearly plan"):
        assert rank.parameters(query, Retrieval(), alpha=0.11)[:2] == (0.11, "by the call")
        off = Retrieval(dynamic=Dynamic(alpha=False), hybrid=Hybrid(alpha=0.5))
        assert rank.parameters(query, off)[:2] == (0.5, "by the policy")
    assert rank.parameters(LONG, Retrieval(), alpha=0.0).alpha == 0.0


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (None, (48, 96, 12)),  # 4 x 12, 8 x 12
        (12, (48, 96, 12)),
        (5, (20, 40, 5)),
        (1, (4, 8, 1)),
        (100, (400, 800, 100)),
    ],
)
def test_k_grows_with_k_final(k: int | None, expected: tuple[int, int, int]) -> None:
    assert rank.parameters("cancel yearly plan", Retrieval(), k=k)[2:] == expected
