"""The three overrides of a value: a single thought, the bonus for recoveries, the penalty for one tool."""

import pytest

from tests.law import assert_law
from tests.trace.spec import PART_NAMES, TYPES, compass, facing, parts, rules, trace_of, value, value_of


def test_a_single_thought_is_a_tenth() -> None:
    score = value(trace_of(["thought"], confidence=1.0))
    assert score.value == 0.1
    # .135 x .25 + .5 x .35 + 0 x .15 + 1 x .25 = .03375 + .175 + .25
    assert score.base == pytest.approx(0.45875, abs=1e-12)
    assert rules(score) == ["single_step_penalty"]
    assert score.rules[0].before == score.base
    assert score.rules[0].after == 0.1


def test_a_single_thought_is_lifted_to_a_tenth_too() -> None:
    # medical, repeat of an earlier trace, no confidence: .135 x .15 + 0 + 0 + 0 = .02025
    valuer = compass()
    valuer.evaluate_value(facing("east"))
    score = valuer.evaluate_value(facing("east", types=["thought"], tools=(), confidence=0.0, domain="medical"))
    assert_law(score)
    assert score.base == pytest.approx(0.02025, abs=1e-6)
    assert score.value == 0.1


@pytest.mark.parametrize("kind", ["tool_call", "observation", "error_recovery"])
def test_a_single_step_of_another_type_is_no_single_thought(kind: str) -> None:
    score = value(trace_of([kind]))
    assert score.rules == ()
    assert score.value == value_of([kind], [None], 0.9, success=True)


def test_two_thoughts_are_no_single_thought() -> None:
    assert value(trace_of(["thought", "thought"])).rules == ()


def test_a_single_thought_that_carries_a_tool_comes_to_nothing() -> None:
    score = value(trace_of(["thought"], ["scale"], confidence=1.0))
    assert [(rule.name, rule.after) for rule in score.rules] == [
        ("single_step_penalty", 0.1),
        ("zero_diversity_penalty", 0.0),  # max(0, .1 - .1)
    ]
    assert score.value == 0.0


@pytest.mark.parametrize(
    ("recoveries", "success", "bonus"), [(2, True, False), (3, True, True), (4, True, True), (3, False, False)]
)
def test_the_bonus_is_for_more_than_two_recoveries_and_success(recoveries: int, success: bool, bonus: bool) -> None:
    types = ["thought", *["error_recovery"] * recoveries]
    score = value(trace_of(types, confidence=0.4, success=success))
    assert rules(score) == (["error_recovery_bonus"] if bonus else [])
    assert score.base is not None
    assert score.value == (score.base + 0.1 if bonus else score.base)
    assert score.value == value_of(types, [None] * len(types), 0.4, success)


def test_the_bonus_by_hand() -> None:
    # C = 2/4 x .5 + .3 + 4/20 x .2 = .59; .59 x .25 + .175 + 0 + .4 x .25 = .1475 + .175 + .1 = .4225; + .1
    assert value(trace_of(["thought", *["error_recovery"] * 3], confidence=0.4)).value == pytest.approx(0.5225)


@pytest.mark.parametrize(
    ("tools", "penalty"),
    [
        ([], False),  # no tool at all
        (["a"], True),
        (["a", "a", "a"], True),
        (["a", "b"], False),
    ],
)
def test_the_penalty_is_for_tools_that_are_all_the_same(tools: list[str], penalty: bool) -> None:
    types = ["thought", "tool_call", "tool_call", "tool_call"]
    score = value(trace_of(types, [None, *tools]))
    assert rules(score) == (["zero_diversity_penalty"] if penalty else [])
    assert score.base is not None
    assert score.value == (score.base - 0.1 if penalty else score.base)


def test_the_penalty_by_hand() -> None:
    # C = 2/4 x .5 + 0 + 2/20 x .2 = .27; D = 1; .0675 + .175 + .15 + .225 = .6175; - .1
    assert value(trace_of(["thought", "tool_call"], [None, "a"])).value == pytest.approx(0.5175, abs=1e-12)


def test_a_tool_counts_in_any_step_and_a_tool_call_without_one_does_not() -> None:
    carried = value(trace_of(["thought", "observation"], [None, "a"]))
    assert rules(carried) == ["zero_diversity_penalty"]
    assert carried.part("tool_diversity").value == 1.0  # min(1, 1 / 2 x 3)
    bare = value(trace_of(["thought", "tool_call"]))
    assert bare.rules == ()
    assert bare.part("tool_diversity").value == 0.0


def test_bonus_and_penalty_in_that_order() -> None:
    types = ["thought", *["error_recovery"] * 3]
    score = value(trace_of(types, ["a"], confidence=0.4))
    # C .59, D 3/4; .1475 + .175 + .1125 + .1 = .535; + .1 = .635; - .1 = .535
    assert rules(score) == ["error_recovery_bonus", "zero_diversity_penalty"]
    assert score.base == pytest.approx(0.535, abs=1e-12)
    assert score.rules[0].after == pytest.approx(0.635, abs=1e-12)
    assert score.value == pytest.approx(0.535, abs=1e-12)
    assert score.value == value_of(types, ["a", None, None, None], 0.4, success=True)


def test_the_cap_falls_between_bonus_and_penalty() -> None:
    valuer = compass()
    valuer.evaluate_value(facing("east"))
    score = valuer.evaluate_value(
        facing("north", types=["error_recovery"] * 3, tools=["a"], confidence=1.0, domain="medical")
    )
    assert_law(score)
    # C = .125 + .3 + .03 = .455; .06825 + 1 x .2 + 1 x .1 + 1 x .55 = .91825; + .1 capped at 1; - .1
    assert score.base == pytest.approx(0.91825, abs=1e-6)
    assert [rule.after for rule in score.rules] == [1.0, 0.9]
    assert score.value == 0.9


def test_the_floor_of_the_penalty() -> None:
    valuer = compass()
    valuer.evaluate_value(facing("east"))
    score = valuer.evaluate_value(facing("east", types=["thought"] * 10, tools=["a"], confidence=0.0, domain="medical"))
    assert_law(score)
    # C = .125 + .1 = .225; .03375 + 0 + .3 x .1 + 0 = .06375; - .1 floored at 0
    assert score.base == pytest.approx(0.06375, abs=1e-6)
    assert rules(score) == ["zero_diversity_penalty"]
    assert score.value == 0.0


def test_a_rule_that_changes_nothing_is_not_listed() -> None:
    valuer = compass()
    valuer.evaluate_value(facing("east"))
    types = [*TYPES, *["error_recovery"] * 16]
    tools = [f"tool {i}" for i in range(7)]
    score = valuer.evaluate_value(facing("north", types=types, tools=tools, confidence=1.0))
    assert parts(score) == dict.fromkeys(PART_NAMES, 1.0)
    assert score.base == 1.0  # .25 + .35 + .15 + .25, and the bonus is capped away
    assert score.rules == ()


def test_a_sum_just_above_1_is_clamped_by_a_rule() -> None:
    weights = (0.7, 0.1, 0.1, 0.1 + 5e-10)  # within the tolerance of "sum to 1"
    profile = dict(zip(("complexity", "novelty", "tool_diversity", "outcome_confidence"), weights, strict=True))
    valuer = compass(profiles={"over": profile})
    valuer.evaluate_value(facing("east"))
    types = [*TYPES, *["observation"] * 16]
    score = valuer.evaluate_value(facing("north", types=types, tools=list("abcdefg"), confidence=1.0, domain="over"))
    assert score.base is not None
    assert score.base > 1.0
    assert rules(score) == ["clamp"]
    assert score.value == 1.0
