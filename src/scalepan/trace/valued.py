"""A trace and its value: numbers at once, and the Score with every reason when it is first asked for.

Most traces of a large file are only counted and written as a row, and reasons cost more than the numbers.
"""

import msgspec

from scalepan.policy.value import ScoringWeights, Value
from scalepan.score import Part, Score
from scalepan.trace import formula, gate
from scalepan.trace.formula import Shape, Stated, ValueNumbers
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.novelty import Novelty
from scalepan.trace.vectors import Near


class ValueDetails(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence behind a trace's value."""

    domain: str
    profile: str
    gate: gate.ValueGate
    nearest: Near | None = None
    """The most similar earlier trace, if novelty was measured."""
    range: tuple[float, float] | None = None
    """Worst and best value, if the trace does not state its confidence or success."""
    text_length: int | None = None
    """Length of the text to embed, in characters; None without an encoder."""
    text_cut: bool | None = None
    """Whether the encoder saw only the beginning of them."""
    took_ms: float


class DomainConstants(msgspec.Struct, frozen=True):
    """What the policy has for one task domain."""

    profile: str
    weights: ScoringWeights
    threshold: float
    policy: Value
    version: str

    @classmethod
    def of(cls, domain: str, policy: Value, version: str) -> "DomainConstants":
        """Those of a domain; `default` stands in for one that the policy does not name."""
        return cls(*policy.profile(domain), policy.gate_for(domain), policy, version)


class Valued(msgspec.Struct, eq=False):
    """A trace and its value."""

    trace: ReasoningTrace
    shape: Shape
    novelty: Novelty
    outcome: Stated
    numbers: ValueNumbers
    constants: DomainConstants
    took_ms: float = 0.0
    _score: Score | None = None

    @property
    def value(self) -> float:
        """The number; a trace that could be read always has one."""
        return self.numbers.value

    @property
    def verdict(self) -> gate.Verdict:
        """Whether it passes the gate of its domain."""
        return gate.verdict(self.numbers.value, self.constants.threshold)

    @property
    def range(self) -> tuple[float, float] | None:
        """Worst and best value, if the trace does not state its confidence or success."""
        if self.outcome.source == "measured":
            return None
        constants = self.constants
        return formula.value_range(self.numbers, self.shape, self.outcome, constants.weights, constants.policy)

    @property
    def score(self) -> Score:
        """The value with its reasons."""
        if self._score is None:
            self._score = _explained(self)
        return self._score


def value_trace(trace: ReasoningTrace, novelty: Novelty, constants: DomainConstants) -> Valued:
    """A trace with its value: a pure function of what it is given."""
    policy = constants.policy
    shape = formula.shape_of(trace)
    outcome = formula.outcome_of(trace.outcome.confidence, trace.metadata.success, policy)
    numbers = formula.value_numbers(shape, novelty.value, outcome, constants.weights, policy)
    return Valued(trace, shape, novelty, outcome, numbers, constants)


def _explained(valued: Valued) -> Score:
    numbers, shape, novelty, outcome = valued.numbers, valued.shape, valued.novelty, valued.outcome
    constants = valued.constants
    weights, threshold = constants.weights, constants.threshold
    measured = Part("novelty", novelty.value, weights.novelty, novelty.source, novelty.note)
    score = formula.value_score(numbers, shape, measured, outcome, weights, constants.version)
    needed = formula.base_needed(threshold, shape, outcome.success is True, constants.policy)
    lift = needed - numbers.base if needed is not None else None
    details = ValueDetails(
        domain=valued.trace.metadata.task_domain,
        profile=constants.profile,
        gate=gate.judge(numbers.value, threshold, score.parts, lift),
        nearest=novelty.nearest,
        range=valued.range,
        text_length=novelty.text_length,
        text_cut=novelty.text_cut,
        took_ms=valued.took_ms,
    )
    return msgspec.structs.replace(score, details=details)
