"""Many steps to one number, worked by hand from contract confidence.21 and confidence.22."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.confidence.aggregate import Bounds, aggregate_scores
from scalepan.confidence.calculator import ConfidenceAggregator, ConfidenceCalculator
from scalepan.confidence.decide import InterventionLevel
from scalepan.confidence.factors import ConfidenceFactors
from scalepan.errors import InputError
from scalepan.policy import load_policy
from scalepan.score import Part, Score, not_measured
from tests.law import assert_law


def steps(*values: float | None) -> list[Score]:
    """A score for each value; None was not measured."""
    return [
        not_measured("confidence", "no judge")
        if value is None
        else Score("confidence", value, parts=(Part("search_quality", value, 1.0),), base=value)
        for value in values
    ]


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("mean", 0.6),  # (.9 + .6 + .3) / 3
        ("min", 0.3),
        ("weighted", 0.5),  # (1 x .9 + 2 x .6 + 3 x .3) / 6 = 3 / 6
    ],
)
def test_methods(method: str, value: float) -> None:
    made = ConfidenceAggregator().aggregate(steps(0.9, 0.6, 0.3), method)
    assert float(made) == pytest.approx(value, abs=1e-12)
    assert made.details is None
    assert_law(made)


def test_weighted_is_of_later_steps() -> None:
    rising, falling = (float(aggregate_scores(steps(*values), "weighted")) for values in ((0.3, 0.9), (0.9, 0.3)))
    assert rising == pytest.approx(0.7)  # (.3 + 1.8) / 3
    assert falling == pytest.approx(0.5)  # (.9 + .6) / 3


def test_a_part_for_each_step_with_its_share() -> None:
    made = aggregate_scores(steps(0.9, 0.6, 0.3), "weighted")
    assert [part.name for part in made.parts] == ["step 1", "step 2", "step 3"]
    assert [part.weight for part in made.parts] == pytest.approx([1 / 6, 2 / 6, 3 / 6])


def test_min_puts_all_weight_on_the_smallest() -> None:
    made = aggregate_scores(steps(0.9, 0.3, 0.6, 0.3), "min")
    assert [part.weight for part in made.parts] == [0, 1, 0, 0]  # the first of equal ones


@pytest.mark.parametrize("method", ["mean", "min", "weighted"])
def test_no_step_at_all_is_zero(method: str) -> None:
    made = ConfidenceAggregator().aggregate([], method)
    assert made.value == 0.0
    assert_law(made)


@pytest.mark.parametrize("method", ["mean", "min", "weighted"])
def test_one_step_is_itself(method: str) -> None:
    assert aggregate_scores(steps(0.733), method).value == 0.733


@pytest.mark.parametrize(
    ("method", "value", "worst", "best"),
    [
        ("mean", 0.6, 0.4, 2.2 / 3),  # of .9 and .3; with 0 in between 1.2 / 3; with 1 in between 2.2 / 3
        ("min", 0.3, 0.0, 0.3),
        ("weighted", 0.45, 0.3, 3.8 / 6),  # (.9 + 3 x .3) / 4; (1.8 + 2 x 0) / 6; (1.8 + 2 x 1) / 6
    ],
)
def test_an_unmeasured_step_is_left_out_and_bounds_say_what_it_could_do(
    method: str, value: float, worst: float, best: float
) -> None:
    made = ConfidenceAggregator().aggregate(steps(0.9, None, 0.3), method)
    assert float(made) == pytest.approx(value)
    assert [part.name for part in made.parts] == ["step 1", "step 3"]
    assert isinstance(made.details, Bounds)
    assert (made.details.worst, made.details.best) == pytest.approx((worst, best))
    assert made.details.unmeasured == 1
    assert_law(made)


@pytest.mark.parametrize("method", ["mean", "min", "weighted"])
def test_steps_of_which_none_was_measured_are_handed_over(method: str) -> None:
    made = ConfidenceAggregator().aggregate(steps(None, None), method)
    assert made.value is None
    assert "2 steps" in made.reason
    assert_law(made)
    assert ConfidenceCalculator().decide_action(made).level is InterventionLevel.ESCALATE


def test_the_method_is_the_policy_s_where_none_is_said() -> None:
    scores = steps(0.9, 0.6, 0.3)
    assert float(ConfidenceAggregator().aggregate(scores)) == pytest.approx(0.5)
    policy = load_policy(env={}, overrides={"confidence": {"aggregation": "min"}})
    made = ConfidenceAggregator(policy).aggregate(scores)
    assert (made.value, made.policy) == (0.3, policy.version("confidence"))


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match=r"method: no method 'wieghted'; did you mean 'weighted'\?"):
        ConfidenceAggregator().aggregate(steps(0.5), "wieghted")


def test_real_scores_come_together() -> None:
    calculator = ConfidenceCalculator()
    plan = [
        calculator.calculate(ConfidenceFactors(is_search_step=True, search_result_count=3, search_max_score=0.8)),  # .8
        calculator.calculate(ConfidenceFactors(source_count=1)),  # 1.0
    ]
    assert float(ConfidenceAggregator().aggregate(plan, "mean")) == pytest.approx(0.9)
    assert float(ConfidenceAggregator().aggregate(plan, "weighted")) == pytest.approx(2.8 / 3)


@given(st.lists(st.none() | st.floats(0, 1), max_size=12), st.sampled_from(["mean", "min", "weighted"]))
def test_the_number_lies_between_its_steps_and_within_its_bounds(values: Sequence[float | None], method: str) -> None:
    made = aggregate_scores(steps(*values), method)
    assert_law(made)
    known = [value for value in values if value is not None]
    if known:
        assert min(known) - 1e-12 <= float(made) <= max(known) + 1e-12
    if made.details is not None:
        assert 0 <= made.details.worst <= float(made) + 1e-12
        assert float(made) - 1e-12 <= made.details.best <= 1
