"""The value of a trace, worked by hand from docs/contract/value.md.

Written from the contract alone. `value_of` is its formula in plain Python; the arithmetic of every
literal stands beside it. The other test_spec files of this folder are of the same make.
"""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import InputError
from scalepan.policy import ScoringWeights, load_policy
from scalepan.trace import TraceValuer
from tests.law import assert_law
from tests.trace.spec import (
    FIVE_STEPS,
    FIVE_TOOLS,
    PART_NAMES,
    TYPES,
    WEIGHTS,
    c_of,
    compass,
    d_of,
    facing,
    o_of,
    parts,
    rules,
    trace_of,
    value,
    value_of,
)

# The composite


def test_the_first_example() -> None:
    score = value(trace_of(FIVE_STEPS, FIVE_TOOLS, 0.95, domain="code-review"))
    assert [part.name for part in score.parts] == PART_NAMES
    assert [part.weight for part in score.parts] == [0.25, 0.35, 0.15, 0.25]  # code-review is no profile
    assert parts(score) == pytest.approx(
        {
            "complexity": 0.425,  # 3 / 4 x .5 + 0 + 5 / 20 x .2 = .375 + .05
            "novelty": 0.5,  # no embedder
            "tool_diversity": 1.0,  # min(1, 2 / 5 x 3 = 1.2)
            "outcome_confidence": 0.95,  # .95 x 1
        },
        abs=1e-15,
    )
    assert score.value == pytest.approx(0.66875, abs=1e-12)  # .10625 + .175 + .15 + .2375
    assert score.value == value_of(FIVE_STEPS, FIVE_TOOLS, 0.95, success=True)
    assert score.value == score.base
    assert score.rules == ()
    assert score.part("novelty").source == "default"
    assert {part.source for part in score.parts if part.name != "novelty"} == {"measured"}
    assert score.details.domain == "code-review"
    assert score.details.profile == "default"


def test_the_second_example() -> None:
    score = value(trace_of(FIVE_STEPS, FIVE_TOOLS, 0.92, domain="finance"))
    # .425 x .2 + .5 x .25 + 1 x .1 + .92 x .45 = .085 + .125 + .1 + .414
    assert score.value == pytest.approx(0.724, abs=1e-12)
    assert score.details.profile == "finance"


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("default", 0.66125),  #          .10625 + .175 + .15 + .23
        ("finance", 0.724),  #            .085   + .125 + .10 + .414
        ("code", 0.719),  #               .085   + .15  + .30 + .184
        ("medical", 0.76975),  #          .06375 + .10  + .10 + .506
        ("customer_service", 0.711),  #   .085   + .15  + .20 + .276
    ],
)
def test_one_trace_in_five_domains(domain: str, expected: float) -> None:
    score = value(trace_of(FIVE_STEPS, FIVE_TOOLS, 0.92, domain=domain))
    assert score.value == pytest.approx(expected, abs=1e-12)
    assert score.value == value_of(FIVE_STEPS, FIVE_TOOLS, 0.92, success=True, domain=domain)
    assert tuple(part.weight for part in score.parts) == WEIGHTS[domain]
    assert score.details.profile == domain


@pytest.mark.parametrize("domain", ["astrology", "Finance", " finance", "finance ", "FINANCE", "customer-service", ""])
def test_an_unknown_domain_is_silently_the_default(domain: str, recwarn: pytest.WarningsRecorder) -> None:
    score = value(trace_of(FIVE_STEPS, FIVE_TOOLS, 0.92, domain=domain))
    assert score.value == pytest.approx(0.66125, abs=1e-12)
    assert (score.details.domain, score.details.profile) == (domain, "default")
    assert score.status == "ok"
    assert not recwarn.list


def test_both_contexts_of_the_spec_are_accepted() -> None:
    trace = trace_of(FIVE_STEPS, FIVE_TOOLS, 0.95)
    here = value(trace)
    assert value(trace | {"@context": "https://knowledgepulse.dev/schema/v1"}).value == here.value


def test_profiles_and_aliases_of_the_policy() -> None:
    own = {"complexity": 0.1, "novelty": 0.2, "toolDiversity": 0.3, "outcome_confidence": 0.4}
    trace = trace_of(FIVE_STEPS, FIVE_TOOLS, 0.92, domain="law")
    score = value(trace, profiles={"law": own})
    # .425 x .1 + .5 x .2 + 1 x .3 + .92 x .4 = .0425 + .1 + .3 + .368
    assert score.value == pytest.approx(0.8105, abs=1e-12)
    assert value(trace, aliases={"law": "finance"}).value == pytest.approx(0.724, abs=1e-12)
    assert value(trace, aliases={"law": "finance"}).details.profile == "finance"
    # The built-in profiles stay beside the added one.
    assert value(trace | {"metadata": trace["metadata"] | {"task_domain": "code"}}, profiles={"law": own}).value == (
        pytest.approx(0.719, abs=1e-12)
    )


def test_weights_must_sum_to_1() -> None:
    with pytest.raises(InputError, match="weights"):
        load_policy(
            overrides={
                "value": {
                    "profiles": {
                        "law": {"complexity": 0.5, "novelty": 0.5, "tool_diversity": 0.5, "outcome_confidence": 0.5}
                    }
                }
            }
        )
    for weights in WEIGHTS.values():
        made = ScoringWeights(
            complexity=weights[0], novelty=weights[1], tool_diversity=weights[2], outcome_confidence=weights[3]
        )
        assert made.complexity + made.novelty + made.tool_diversity + made.outcome_confidence == pytest.approx(1.0)


# C, D and O


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["thought"], 0.135),  #                                    1/4 x .5 + 0  +  1/20 x .2 = .125 + .01
        (["error_recovery"], 0.435),  #                             1/4 x .5 + .3 +  1/20 x .2 = .125 + .3 + .01
        (["thought", "observation"], 0.27),  #                      2/4 x .5 + 0  +  2/20 x .2 = .25 + .02
        (["thought", "tool_call", "observation"], 0.405),  #        3/4 x .5 + 0  +  3/20 x .2 = .375 + .03
        (list(TYPES), 0.84),  #                                     4/4 x .5 + .3 +  4/20 x .2 = .5 + .3 + .04
        (["thought"] * 19 + ["error_recovery"], 0.75),  #           2/4 x .5 + .3 + 20/20 x .2 = .25 + .3 + .2
        ([*TYPES, *["error_recovery"] * 16], 1.0),  #               4/4 x .5 + .3 + 20/20 x .2
        (["thought"] * 20, 0.325),  #                               1/4 x .5 + 0  + 20/20 x .2 = .125 + .2
        (["thought"] * 40, 0.525),  #                               1/4 x .5 + 0  + 40/20 x .2 = .125 + .4
        (["thought"] * 100, 1.0),  #                                min(1, .125 + 1)
    ],
)
def test_complexity(types: list[str], expected: float) -> None:
    c = value(trace_of(types)).part("complexity").value
    assert c == pytest.approx(expected, abs=1e-12)
    assert c == c_of(types)


def test_a_second_recovery_adds_nothing_to_complexity_but_its_length() -> None:
    one, two = (value(trace_of(["thought", *["error_recovery"] * n])).part("complexity").value for n in (1, 2))
    assert two - one == pytest.approx(0.01)  # one step more: 1/20 x .2


@pytest.mark.parametrize(
    ("steps", "as_written", "capped"),
    [
        (19, 0.315, 0.315),  # .125 + 19/20 x .2 = .125 + .19
        (20, 0.325, 0.325),  # .125 + .2
        (21, 0.335, 0.325),  # .125 + .21, or .125 + .2
        (60, 0.725, 0.325),  # .125 + .6,  or .125 + .2
    ],
)
def test_the_length_term_has_no_cap_but_the_policys(steps: int, as_written: float, capped: float) -> None:
    trace = trace_of(["thought"] * steps)
    assert value(trace).part("complexity").value == pytest.approx(as_written, abs=1e-12)
    assert value(trace, complexity={"cap_length": True}).part("complexity").value == pytest.approx(capped, abs=1e-12)


@pytest.mark.parametrize(
    ("tools", "steps", "expected"),
    [
        ([], 5, 0.0),  #                        0 / 5 x 3
        (["a"], 1, 1.0),  #                     min(1, 1 / 1 x 3)
        (["a"], 3, 1.0),  #                     1 / 3 x 3: every third step a different tool
        (["a"], 4, 0.75),  #                    1 / 4 x 3
        (["a", "a", "a"], 6, 0.5),  #           1 / 6 x 3: the same tool counts once
        (["a", "b", "a"], 10, 0.6),  #          2 / 10 x 3
        (["a", "b", "c", "d"], 12, 1.0),  #     4 / 12 x 3
        (["a", "A"], 12, 0.5),  #               2 / 12 x 3: names are exact
    ],
)
def test_tool_diversity(tools: list[str], steps: int, expected: float) -> None:
    d = value(trace_of(["tool_call"] * steps, tools)).part("tool_diversity").value
    assert d == pytest.approx(expected, abs=1e-12)
    assert d == d_of([*tools, *[None] * (steps - len(tools))])


@pytest.mark.parametrize(
    ("confidence", "success", "expected"),
    [
        (0.9, True, 0.9),
        (0.9, False, 0.27),  # .9 x .3
        (1.0, False, 0.3),
        (0.0, True, 0.0),
        (1, True, 1.0),  # a whole number is a number
    ],
)
def test_outcome_confidence(confidence: float, success: bool, expected: float) -> None:
    o = value(trace_of(FIVE_STEPS, FIVE_TOOLS, confidence, success)).part("outcome_confidence").value
    assert o == pytest.approx(expected, abs=1e-12)
    assert o == o_of(confidence, success)


def test_without_an_embedder_the_sum_has_a_fixed_middle() -> None:
    """value-1: `C * 0.25 + 0.175 + D * 0.15 + O * 0.25`."""
    score = value(trace_of(FIVE_STEPS, FIVE_TOOLS, 0.95))
    assert score.part("novelty").adds == 0.175  # .5 x .35
    assert score.details.text_length is None
    assert score.details.nearest is None


# The whole formula against the contract's formula, bit for bit


def test_a_grid_of_traces_equals_the_spec_to_the_last_bit() -> None:
    valuer = TraceValuer(embedder=None)
    shapes = [
        [kind for kind, times in zip(TYPES, counts, strict=True) for _ in range(times)]
        for counts in product((0, 1, 3, 8), (0, 2, 5), (0, 1, 13), (0, 1, 2, 3))
        if sum(counts)
    ]
    assert ["thought"] in shapes
    seen = set()
    for i, types in enumerate(shapes):
        for unique in (0, 1, 2, 5):
            tools = [f"tool {j % unique}" if unique and j < 7 else None for j in range(len(types))]
            domain = [*WEIGHTS, "unknown"][(i + unique) % 6]
            for confidence, success in product((0.0, 0.1, 0.37, 0.92, 1.0), (True, False)):
                score = valuer.evaluate_value(trace_of(types, tools, confidence, success, domain))
                assert score.value == value_of(types, tools, confidence, success, 0.5, domain)
                assert_law(score)
                seen.update(rules(score))
    assert seen >= {"single_step_penalty", "error_recovery_bonus", "zero_diversity_penalty"}


@st.composite
def shapes(draw: st.DrawFn) -> tuple[list[str], list[str | None]]:
    """Step types, and the tool that each step carries."""
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=45))
    tool = st.none() | st.sampled_from(["a", "b", "c", "d", "e"])
    return types, draw(st.lists(tool, min_size=len(types), max_size=len(types)))


@given(shapes(), st.floats(0, 1), st.booleans(), st.sampled_from([*WEIGHTS, "unknown"]))
def test_any_trace_equals_the_spec_to_the_last_bit(
    shape: tuple[list[str], list[str | None]], confidence: float, success: bool, domain: str
) -> None:
    types, tools = shape
    score = value(trace_of(types, tools, confidence, success, domain))
    assert parts(score) == {
        "complexity": c_of(types),
        "novelty": 0.5,
        "tool_diversity": d_of(tools),
        "outcome_confidence": o_of(confidence, success),
    }
    assert score.value == value_of(types, tools, confidence, success, 0.5, domain)


@given(
    shapes(),
    st.floats(0, 1),
    st.booleans(),
    st.sampled_from([*WEIGHTS]),
    st.sampled_from(["east", "north", "west", "northeast", "nowhere"]),
)
def test_measured_novelty_enters_the_same_formula(
    shape: tuple[list[str], list[str | None]], confidence: float, success: bool, domain: str, direction: str
) -> None:
    types, tools = shape
    valuer = compass()
    valuer.evaluate_value(facing("east"))
    trace = facing(direction, types=types, tools=tools, confidence=confidence, success=success, domain=domain)
    score = valuer.evaluate_value(trace)
    assert_law(score)
    n = score.part("novelty").value
    # 1 - cos: the same, at right angles, opposite (2, clamped to 1), .6 along, and no direction at all
    assert n == pytest.approx({"east": 0, "north": 1, "west": 1, "northeast": 0.4, "nowhere": 1}[direction], abs=1e-6)
    assert score.value == value_of(types, tools, confidence, success, n, domain)


# The gate


@pytest.mark.parametrize(("above", "verdict"), [(0.0, "share"), (1e-9, "keep"), (-1e-9, "share")])
def test_a_trace_is_shared_from_the_gate_on(above: float, verdict: str) -> None:
    trace = trace_of(FIVE_STEPS, FIVE_TOOLS, 0.95)
    worth = float(value(trace))
    gate = value(trace, gate=worth + above).details.gate
    assert (gate.verdict, gate.threshold) == (verdict, worth + above)


def test_the_gate_by_default() -> None:
    keep, share = (
        value(trace_of(FIVE_STEPS, FIVE_TOOLS, 0.95)),
        value(trace_of(FIVE_STEPS, FIVE_TOOLS, 0.92, domain="medical")),
    )
    assert (keep.details.gate.verdict, keep.details.gate.threshold) == ("keep", 0.75)
    assert keep.details.gate.short_by == pytest.approx(0.08125)  # .75 - .66875
    assert share.details.gate.verdict == "share"  # .76975
