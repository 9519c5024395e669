"""The four dimensions of a trace's value, and the three rules that follow (contract value.5 to value.18).

Pure functions of a trace's shape and the policy, in the contract's order of operations, so that results are exact.
"""

from msgspec import Struct

from scalepan.errors import InputError, counted
from scalepan.policy.value import ScoringWeights, Value
from scalepan.score import Part, Rule, Score, Source
from scalepan.trace.model import STEP_TYPES, ReasoningTrace


class Shape(Struct, frozen=True, gc=False):
    """What the formulas see of a trace."""

    steps: int
    types: int
    recoveries: int
    tools: int
    uses_tools: bool
    single_thought: bool


def shape_of(trace: ReasoningTrace) -> Shape:
    """Count what the formulas need. Tools are told apart by name."""
    types = [step.type for step in trace.steps]
    unique = set(types)
    if not unique <= STEP_TYPES:
        # Decoding checks this; a trace built in Python has not been decoded.
        wrong = next(i for i, type_ in enumerate(types) if type_ not in STEP_TYPES)
        raise InputError(f"'{types[wrong]}' is not a step type", id=trace.id, path=f"steps[{wrong}].type")
    tools = len({tool.name for step in trace.steps if (tool := step.tool) is not None})
    return Shape(len(types), len(unique), types.count("error_recovery"), tools, tools > 0, types == ["thought"])


def complexity(shape: Shape, policy: Value) -> float:
    """C: step types, recovery and length.

    >>> complexity(Shape(steps=5, types=3, recoveries=0, tools=2, uses_tools=True, single_thought=False), Value())
    0.425
    """
    key = policy.complexity
    length = shape.steps / key.full_length
    if key.cap_length:
        length = min(1.0, length)
    recovered = key.recovery_worth if shape.recoveries > 0 else 0.0
    return min(1.0, (shape.types / key.step_types) * key.types_worth + recovered + length * key.length_worth)


def novelty(similarity: float) -> float:
    """N: 1 for a trace like no other, 0 for a repeat.

    >>> novelty(0.25), novelty(-0.2)
    (0.75, 1.0)
    """
    return min(1.0, max(0.0, 1.0 - similarity))


def tool_diversity(shape: Shape, policy: Value) -> float:
    """D: different tools per step; one in three steps earns all of it.

    >>> tool_diversity(Shape(steps=12, types=2, recoveries=0, tools=2, uses_tools=True, single_thought=False), Value())
    0.5
    """
    return min(1.0, (shape.tools / max(1, shape.steps)) * policy.tool_diversity.multiplier)


def outcome_confidence(confidence: float, success: bool, policy: Value) -> float:
    """O: stated confidence, worth less if the task failed.

    >>> outcome_confidence(0.5, True, Value()), outcome_confidence(0.5, False, Value())
    (0.5, 0.15)
    """
    return confidence * (1.0 if success else policy.outcome_confidence.failure_factor)


class Stated(Struct, frozen=True, gc=False):
    """O, and what it could be where the trace does not say."""

    value: float
    source: Source
    worst: float
    best: float
    confidence: float | None
    success: bool | None

    @property
    def note(self) -> str:
        """What the trace states, or what it does not."""
        if self.confidence is not None and self.success is not None:
            return f"{self.confidence:g} sure, {'succeeded' if self.success else 'failed'}"
        stated = (("confidence", self.confidence), ("success", self.success))
        return f"{' and '.join(name for name, said in stated if said is None)} not stated"


def outcome_of(confidence: float | None, success: bool | None, policy: Value) -> Stated:
    """O from what a trace states, and from what it leaves open."""
    if confidence is not None and success is not None:
        value = outcome_confidence(confidence, success, policy)
        return Stated(value, "measured", value, value, confidence, success)
    worst = outcome_confidence(confidence or 0.0, success is True, policy)
    best = outcome_confidence(1.0 if confidence is None else confidence, success is not False, policy)
    # The fallback is a place between worst and best, so that the value never leaves its own range.
    value = worst + policy.outcome_confidence.fallback * (best - worst)
    return Stated(value, "default", worst, best, confidence, success)


def composite(c: float, n: float, d: float, o: float, weights: ScoringWeights) -> float:
    """The weighted sum, left to right as the contract writes it."""
    return (
        c * weights.complexity
        + n * weights.novelty
        + d * weights.tool_diversity
        + o * weights.outcome_confidence
    )  # fmt: skip


class RuleChange(Struct, frozen=True, gc=False):
    """A rule that changed the number, and to what."""

    rule: str
    after: float


def changes(base: float, shape: Shape, success: bool, policy: Value) -> tuple[RuleChange, ...]:
    """The overrides in order, then the clamp; only those that change something.

    >>> lone = Shape(steps=1, types=1, recoveries=0, tools=0, uses_tools=False, single_thought=True)
    >>> changes(0.4, lone, True, Value())
    (RuleChange(rule='single_step_penalty', after=0.1),)
    """
    applied: list[RuleChange] = []
    score = base
    if shape.single_thought:
        score = _change(applied, "single_step_penalty", score, policy.single_step_penalty.value)
    if _earns_bonus(shape, success, policy):
        score = _change(applied, "error_recovery_bonus", score, min(1.0, score + policy.error_recovery_bonus.add))
    if _costs_penalty(shape, policy):
        after = max(0.0, score - policy.zero_diversity_penalty.subtract)
        score = _change(applied, "zero_diversity_penalty", score, after)
    if not 0.0 <= score <= 1.0:
        _change(applied, "clamp", score, min(1.0, max(0.0, score)))
    return tuple(applied)


def _change(applied: list[RuleChange], rule: str, score: float, after: float) -> float:
    if after != score:
        applied.append(RuleChange(rule, after))
    return after


class ValueNumbers(Struct, frozen=True, gc=False):
    """The numbers of a trace's value, without their reasons."""

    complexity: float
    novelty: float
    tool_diversity: float
    outcome_confidence: float
    base: float
    changes: tuple[RuleChange, ...]
    value: float


def value_numbers(
    shape: Shape, novelty: float, outcome: Stated, weights: ScoringWeights, policy: Value
) -> ValueNumbers:
    """The value of a trace, from what is measured of it."""
    c, d = complexity(shape, policy), tool_diversity(shape, policy)
    base = composite(c, novelty, d, outcome.value, weights)
    changed = changes(base, shape, outcome.success is True, policy)
    return ValueNumbers(c, novelty, d, outcome.value, base, changed, changed[-1].after if changed else base)


def value_range(
    numbers: ValueNumbers, shape: Shape, outcome: Stated, weights: ScoringWeights, policy: Value
) -> tuple[float, float]:
    """The value at its worst and at its best, whatever the trace leaves open."""
    c, n, d, success = numbers.complexity, numbers.novelty, numbers.tool_diversity, outcome.success
    return (
        after_rules(composite(c, n, d, outcome.worst, weights), shape, success is True, policy),
        after_rules(composite(c, n, d, outcome.best, weights), shape, success is not False, policy),
    )


def value_score(
    numbers: ValueNumbers, shape: Shape, novelty: Part, outcome: Stated, weights: ScoringWeights, version: str
) -> Score:
    """The numbers with their reasons."""
    used = f"{counted(shape.tools, 'tool')}, {counted(shape.steps, 'step')}"
    parts = (
        Part("complexity", numbers.complexity, weights.complexity, note=_complexity_note(shape)),
        novelty,
        Part("tool_diversity", numbers.tool_diversity, weights.tool_diversity, note=used),
        Part("outcome_confidence", outcome.value, weights.outcome_confidence, outcome.source, outcome.note),
    )
    applied = _rules(numbers, shape)
    return Score("value", numbers.value, parts=parts, base=numbers.base, rules=applied, policy=version)


def _rules(numbers: ValueNumbers, shape: Shape) -> tuple[Rule, ...]:
    starts = (numbers.base, *(change.after for change in numbers.changes))
    return tuple(
        Rule(change.rule, before, change.after, _rule_note(change.rule, shape))
        for before, change in zip(starts, numbers.changes, strict=False)
    )


def _rule_note(rule: str, shape: Shape) -> str:
    if rule == "single_step_penalty":
        return "one thought and nothing else"
    if rule == "error_recovery_bonus":
        return f"succeeded after {counted(shape.recoveries, 'recovery', 'recoveries')}"
    if rule == "zero_diversity_penalty":
        return f"{counted(shape.tools, 'tool')} in {counted(shape.steps, 'step')}"
    return "0 to 1"


def _complexity_note(shape: Shape) -> str:
    recovered = f", {counted(shape.recoveries, 'recovery', 'recoveries')}" if shape.recoveries else ""
    return f"{counted(shape.types, 'step type')}, {counted(shape.steps, 'step')}{recovered}"


def after_rules(base: float, shape: Shape, success: bool, policy: Value) -> float:
    """Where the rules lead from `base`."""
    changed = changes(base, shape, success, policy)
    return changed[-1].after if changed else base


def base_needed(threshold: float, shape: Shape, success: bool, policy: Value) -> float | None:
    """The base from which the rules lead to `threshold`; None if no base does.

    >>> one_tool = Shape(steps=9, types=2, recoveries=0, tools=1, uses_tools=True, single_thought=False)
    >>> base_needed(0.75, one_tool, True, Value())
    0.85
    """
    if shape.single_thought:
        return None
    bonus = policy.error_recovery_bonus.add if _earns_bonus(shape, success, policy) else 0.0
    penalty = policy.zero_diversity_penalty.subtract if _costs_penalty(shape, policy) else 0.0
    # The bonus stops at 1, and the penalty comes after it.
    return threshold + penalty - bonus if threshold + penalty <= 1.0 else None


def _earns_bonus(shape: Shape, success: bool, policy: Value) -> bool:
    return shape.recoveries > policy.error_recovery_bonus.more_than and success


def _costs_penalty(shape: Shape, policy: Value) -> bool:
    return shape.tools <= policy.zero_diversity_penalty.at_most and shape.uses_tools
