"""The formula, worked by hand from contract confidence.3 to confidence.11.

Written from the documents alone. `value_of` is the documents' own arithmetic in plain Python; beside every literal
stands its arithmetic.
"""

from math import isfinite
from typing import Any

import pytest
from hypothesis import given

from scalepan.confidence.calculator import ConfidenceCalculator
from scalepan.confidence.factors import ConfidenceFactors
from scalepan.confidence.formula import search_quality, tool_success
from scalepan.policy import Policy, load_policy
from tests.confidence.spec import FAILED, KEYS, NOTHING, UNSOURCED, found, score, some_factors, value_of
from tests.law import assert_law

# What search results are worth


@pytest.mark.parametrize(
    ("count", "best", "mean", "variance", "quality"),
    [
        (0, 0.0, 0.0, 1.0, 0.0),  # nothing found
        (0, 0.0, 0.9, 0.0, 0.0),  # nothing found, whatever the average
        (0, 0.5, 0.0, 1.0, 0.2),  # a best score without a count is a find: .35 + 0 - .15
        (0, 0.7, 0.0, 1.0, 0.7),  # and a good one counts as it is
        (3, 0.0, 0.5, 0.0, 0.15),  # a count without a best score is one too: 0 + .15 - 0
        (3, 0.6, 0.1, 1.0, 0.6),  # from .6 on the best counts as it is
        (3, 1.0, 0.0, 1.0, 1.0),
        (3, 0.59, 0.5, 0.01, 0.56),  # .413 + .15 - .003
        (3, 0.5, 0.4, 0.0, 0.47),  # .35 + .12
        (3, 0.5, 0.4, 0.4, 0.35),  # .47 - .12
        (3, 0.5, 0.4, 0.5, 0.32),  # .47 - .15: the limit, just reached
        (3, 0.5, 0.4, 0.6, 0.32),  # .47 - .15, not - .18
        (3, 0.5, 0.4, 1e300, 0.32),
        (3, 0.1, 0.1, 1.0, 0.0),  # .07 + .03 - .15 = -.05, not below 0
    ],
)
def test_search_quality(count: int, best: float, mean: float, variance: float, quality: float) -> None:
    factors = ConfidenceFactors(
        search_result_count=count, search_max_score=best, search_avg_score=mean, search_score_variance=variance
    )
    assert search_quality(factors) == pytest.approx(quality, abs=1e-12)


def test_the_cliff_at_a_best_score_of_six_tenths() -> None:
    below = score(**found(search_max_score=0.599, search_avg_score=0.599))  # .4193 + .1797 - .15
    at = score(**found(search_max_score=0.6, search_avg_score=0.599))
    assert (below.value, at.value) == (0.449, 0.6)


# Tools


@pytest.mark.parametrize(
    ("runs", "succeeded", "rate", "share"),
    [
        (0, 0, 1.0, 1.0),  # nothing ran: the rate that was given
        (0, 0, 0.3, 0.3),
        (4, 3, 1.0, 0.75),  # something ran: the counts, not the rate
        (4, 0, 1.0, 0.0),
        (4, 4, 0.5, 1.0),
    ],
)
def test_tool_success_is_counted_where_tools_ran(runs: int, succeeded: int, rate: float, share: float) -> None:
    factors = ConfidenceFactors(tool_execution_count=runs, tool_success_count=succeeded, tool_success_rate=rate)
    assert tool_success(factors) == share
    assert score(tool_execution_count=runs, tool_success_count=succeeded).breakdown["tool_success"] == (
        succeeded / runs if runs else 1.0
    )


# A search step


@pytest.mark.parametrize(
    ("factors", "value", "penalties"),
    [
        (found(search_max_score=0.8), 0.8, ()),  # no sources needed where there are results
        (found(search_max_score=0.8, tool_success_rate=0.5), 0.36, (FAILED,)),  # .8 x .5 x (.8 + .2 x .5)
        (found(search_max_score=0.8, tool_execution_count=4, tool_success_count=2), 0.4, ()),  # .8 x .5; the rate is 1
        (
            found(search_max_score=0.8, tool_execution_count=4, tool_success_count=4, tool_success_rate=0.5),
            0.72,  # .8 x .9: the penalty goes by the rate alone
            (FAILED,),
        ),
        (found(search_max_score=0.8, tool_success_rate=0.0), 0.0, ("tool_failures(rate=0.00)",)),  # .8 x 0 x .8
        ({"is_search_step": True}, 0.0, (NOTHING, UNSOURCED)),  # 0 x .5 x .7
        ({"is_search_step": True, "search_max_score": 0.8}, 0.28, (NOTHING, UNSOURCED)),  # .8 x .5 x .7
        ({"is_search_step": True, "search_max_score": 0.8, "source_count": 1}, 0.4, (NOTHING,)),  # .8 x .5
        (
            {"is_search_step": True, "search_max_score": 0.8, "llm_self_confidence": 1.0},
            0.28,  # a sure model waives the sources of other steps only
            (NOTHING, UNSOURCED),
        ),
        (
            {"is_search_step": True, "search_max_score": 0.8, "tool_success_rate": 0.5},
            0.126,  # .8 x .5, then x .5 x .9 x .7
            (NOTHING, FAILED, UNSOURCED),
        ),
    ],
)
def test_search_step(factors: dict[str, Any], value: float, penalties: tuple[str, ...]) -> None:
    made = score(**factors)
    assert (made.value, made.penalties) == (value, penalties)
    assert [part.name for part in made.parts] == ["search_quality"]


def test_a_search_step_looks_at_neither_agreement_nor_the_language_model() -> None:
    plain = score(**found(search_max_score=0.8))
    full = score(**found(search_max_score=0.8, source_agreement=0.1, llm_self_confidence=0.9, query_coverage=0.9))
    assert plain.value == full.value == 0.8


# Another step: the weighted mean of what applies


@pytest.mark.parametrize(
    ("factors", "value"),
    [
        ({}, 1.0),  # tools alone: .4 / .4
        ({"search_max_score": 0.8}, 0.88),  # (.48 + .4) / 1
        ({"search_result_count": 3, "search_avg_score": 0.1}, 1.0),  # quality .03 - .15 is 0: left out
        ({"tool_success_rate": 1.0, "tool_execution_count": 2, "tool_success_count": 1}, 0.5),  # .2 / .4
        ({"source_count": 2, "source_agreement": 0.7}, 0.9),  # (.4 + .14) / .6
        ({"source_count": 2, "source_agreement": 0.0}, 0.667),  # .4 / .6: disagreement counts
        ({"source_count": 1, "source_agreement": 0.7}, 1.0),  # one source agrees with itself: left out
        ({"llm_self_confidence": 0.6}, 1.0),  # at .6: left out
        ({"llm_self_confidence": 0.65}, 0.85),  # (.4 + .195) / .7
        ({"query_coverage": 0.1}, 1.0),  # at .1: left out
        ({"query_coverage": 0.11}, 0.822),  # (.4 + .011) / .5
        (
            {
                "search_result_count": 5,
                "search_max_score": 0.8,
                "tool_execution_count": 2,
                "tool_success_count": 1,
                "source_count": 3,
                "source_agreement": 0.9,
                "llm_self_confidence": 0.7,
                "query_coverage": 0.5,
            },
            0.7,  # (.48 + .2 + .18 + .21 + .05) / 1.6 = 1.12 / 1.6
        ),
    ],
)
def test_other_step(factors: dict[str, Any], value: float) -> None:
    assert score(**{"source_count": 1, **factors}).value == value


def test_the_parts_are_what_applied_and_their_weights_are_shares() -> None:
    made = score(search_max_score=0.8, source_count=2, source_agreement=0.5)
    # .6, .4 and .2 of 1.2
    assert [(part.name, round(part.weight, 6)) for part in made.parts] == [
        ("search_quality", 0.5),
        ("tool_success", 0.333333),
        ("source_agreement", 0.166667),
    ]
    assert made.base == pytest.approx((0.48 + 0.4 + 0.1) / 1.2)


@pytest.mark.parametrize(
    ("factors", "value", "penalties"),
    [
        ({}, 0.7, (UNSOURCED,)),  # 1 x .7
        ({"search_result_count": 3}, 0.7, (UNSOURCED,)),  # results waive it for a search step only
        ({"source_count": 1}, 1.0, ()),
        ({"llm_self_confidence": 0.79}, 0.637, (UNSOURCED,)),  # (.4 + .237) / .7 = .91, x .7
        ({"llm_self_confidence": 0.8}, 0.914, ()),  # (.4 + .24) / .7 = .91429: waived from .8 on
        ({"tool_success_rate": 0.5}, 0.315, (FAILED, UNSOURCED)),  # .5 x .9 x .7; no results is no penalty here
        ({"tool_success_rate": 0.5, "source_count": 1}, 0.45, (FAILED,)),  # .5 x .9
        ({"tool_success_rate": 0.0, "search_max_score": 0.8, "source_count": 1}, 0.384, ("tool_failures(rate=0.00)",)),
        # above: .48 / 1 x .8
        ({"tool_success_rate": 2 / 3, "source_count": 1}, 0.622, ("tool_failures(rate=0.67)",)),  # .66667 x .93333
        ({"tool_success_rate": 0.999, "source_count": 1}, 0.999, ("tool_failures(rate=1.00)",)),  # .999 x .9998
        ({"tool_execution_count": 2, "tool_success_count": 1, "source_count": 1}, 0.5, ()),  # counts are no penalty
    ],
)
def test_penalties(factors: dict[str, Any], value: float, penalties: tuple[str, ...]) -> None:
    made = score(**factors)
    assert (made.value, made.penalties) == (value, penalties)


def test_the_rules_say_each_step_of_the_way() -> None:
    made = score(is_search_step=True, search_max_score=0.81, tool_success_rate=0.5)
    assert [rule.name for rule in made.rules] == ["tool_success", NOTHING, FAILED, UNSOURCED, "round"]
    # .81 -> x .5 -> x .5 -> x .9 -> x .7 -> .1275750 to 3 places
    assert [rule.after for rule in made.rules] == pytest.approx([0.405, 0.2025, 0.18225, 0.127575, 0.128])
    assert score(**found(search_max_score=0.8)).rules == ()


def test_the_penalty_for_tools_is_the_spec_s_expression_to_the_last_digit() -> None:
    # .8 + .2 x .996 is .9992; .8 + (1 - .8) x .996 would be a digit less, and .625 of it the other side of .6245
    rate, best = 0.996, 0.625
    made = score(**found(search_max_score=best, tool_execution_count=1, tool_success_count=1, tool_success_rate=rate))
    assert made.value == round(best * (0.8 + 0.2 * rate), 3)
    assert made.value != round(best * (0.8 + (1 - 0.8) * rate), 3)


# Breakdown, clamp, round


def test_breakdown() -> None:
    given = {
        "search_result_count": 3,
        "search_max_score": 0.8,
        "source_count": 2,
        "source_agreement": 0.4,
        "llm_self_confidence": 0.5,
        "query_coverage": 0.05,
        "tool_success_rate": 0.5,
    }
    shared = {"search_quality": 0.8, "source_agreement": 0.4, "tool_success": 0.5}
    # What was left out of the mean is still shown.
    assert score(**given).breakdown == {**shared, "llm_self_eval": 0.5, "query_coverage": 0.05}
    assert score(**given, is_search_step=True).breakdown == {**shared, "llm_self_eval": 0.0, "query_coverage": 0.0}


def test_more_than_everything_is_clamped() -> None:
    policy = load_policy(env={}, overrides={"confidence": {"search_quality": {"max_weight": 1.0, "avg_weight": 1.0}}})
    factors = ConfidenceFactors(**found(search_max_score=0.59, search_avg_score=0.59, search_score_variance=0.0))
    made = ConfidenceCalculator(policy).calculate(factors)
    assert (made.base, made.value) == (1.18, 1.0)  # .59 + .59
    assert [(rule.name, rule.before, rule.after) for rule in made.rules] == [("clamp", 1.18, 1.0)]
    assert_law(made)


@pytest.mark.parametrize(
    ("best", "rounded"),
    [
        (0.8995, 0.899),  # really .89949999999999996625; numpy says .900
        (0.6125, 0.613),  # really .61250000000000004441; numpy says .612
        (0.8125, 0.812),  # exactly a half: to the even one
        (0.6875, 0.688),
    ],
)
def test_rounding_is_python_s(best: float, rounded: float) -> None:
    assert score(**found(search_max_score=best)).value == rounded


def test_whole_numbers_are_numbers_and_the_score_is_a_float() -> None:
    made = score(**found(search_max_score=1))
    assert type(made.value) is float
    assert type(made.breakdown["search_quality"]) is float


# The known faults of the formula, which stay (contract confidence.12)


def test_known_fault_no_evidence_at_all_scores_highest() -> None:
    assert score(source_count=1).value == 1.0


def test_known_fault_a_self_evaluation_of_nothing_beats_a_fair_one() -> None:
    known = {"search_result_count": 1, "search_max_score": 0.75, "source_count": 1}
    assert score(**known, llm_self_confidence=0.0).value == 0.85  # .45 + .4
    assert score(**known, llm_self_confidence=0.61).value == 0.795  # (.45 + .4 + .183) / 1.3 = .79462


# Every constant is read from the policy

OTHER = {"search_result_count": 3, "search_max_score": 0.5, "search_avg_score": 0.4, "search_score_variance": 0.4}
FULL = {**OTHER, "source_count": 2, "source_agreement": 0.5, "llm_self_confidence": 0.7, "query_coverage": 0.2}


@pytest.mark.parametrize(
    ("path", "constant", "factors", "value"),
    [
        # quality is .35 + .12 - .12 = .35 where nothing else is said
        ("search_quality.good_max", 0.5, {**OTHER, "is_search_step": True}, 0.5),  # the best as it is
        ("search_quality.max_weight", 0.5, {**OTHER, "is_search_step": True}, 0.25),  # .25 + .12 - .12
        ("search_quality.avg_weight", 0.5, {**OTHER, "is_search_step": True}, 0.43),  # .35 + .2 - .12
        ("search_quality.variance_factor", 0.1, {**OTHER, "is_search_step": True}, 0.43),  # .47 - .04
        ("search_quality.variance_limit", 0.05, {**OTHER, "is_search_step": True}, 0.42),  # .47 - .05
        # .21 + .4 + .1 + .21 + .02 = .94 of 1.6, which is .5875
        ("weights.search_quality", 1.0, FULL, 0.54),  # (.94 + .14) / 2
        ("weights.tool_success", 0.8, FULL, 0.67),  # (.94 + .4) / 2
        ("weights.source_agreement", 0.6, FULL, 0.57),  # (.94 + .2) / 2
        ("weights.llm_self_eval", 0.7, FULL, 0.61),  # (.94 + .28) / 2
        ("weights.query_coverage", 0.5, FULL, 0.51),  # (.94 + .08) / 2
        ("applies.llm_self_eval", 0.7, FULL, 0.562),  # (.94 - .21) / 1.3 = .56154
        ("applies.query_coverage", 0.2, FULL, 0.613),  # (.94 - .02) / 1.5 = .61333
        ("penalties.no_search_results", 0.25, {"is_search_step": True, "search_max_score": 0.8}, 0.14),  # x .25 x .7
        ("penalties.tool_failures_floor", 0.4, {"tool_success_rate": 0.5, "source_count": 1}, 0.25),  # .5 x (.4 + .1)
        ("penalties.tool_failures_span", 0.0, {"tool_success_rate": 0.5, "source_count": 1}, 0.4),  # .5 x .8
        ("penalties.no_sources", 0.3, {}, 0.3),
        ("penalties.sources_waived", 0.5, {}, 1.0),  # the default self-evaluation is .5
        ("places", 1, {"search_max_score": 0.8, "source_count": 1}, 0.9),  # .88
        ("places", 0, {"search_max_score": 0.8, "source_count": 1}, 1.0),
    ],
)
def test_every_constant_is_the_policy_s(path: str, constant: float, factors: dict[str, Any], value: float) -> None:
    said: Any = constant
    for key in reversed(path.split(".")):
        said = {key: said}
    policy = load_policy(env={}, overrides={"confidence": said})
    made = ConfidenceCalculator(policy).calculate(ConfidenceFactors(**factors))
    assert made.value == value
    assert made.value != score(**factors).value, "the case does not tell"
    assert made.policy == policy.version("confidence") != Policy().version("confidence")
    assert_law(made)
    assert ConfidenceCalculator(policy.confidence).calculate(ConfidenceFactors(**factors)) == made


@given(some_factors())
def test_any_factors_give_the_documents_number_and_keep_the_law(factors: ConfidenceFactors) -> None:
    made = ConfidenceCalculator().calculate(factors)
    assert_law(made)
    assert made.value == value_of(factors)
    assert made.value is not None
    assert isfinite(made.value)
    assert set(made.breakdown) == KEYS
    assert all(0 <= value <= 1 for value in made.breakdown.values())
    named = [rule.name for rule in made.rules if rule.name not in ("tool_success", "clamp", "round")]
    # A penalty that changes no digit (of nothing, or for a rate a hair below 1) is named and no rule.
    assert named == [name for name in made.penalties if name in named]


@given(some_factors())
def test_the_same_factors_give_the_same_score(factors: ConfidenceFactors) -> None:
    calculator = ConfidenceCalculator()
    assert calculator.calculate(factors) == calculator.calculate(ConfidenceFactors.from_dict(_plain(factors)))


def _plain(factors: ConfidenceFactors) -> dict[str, Any]:
    return {name: getattr(factors, name) for name in factors.__struct_fields__}
