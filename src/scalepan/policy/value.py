"""Constants of a trace's value (docs/contract/value.md)."""

from typing import Annotated

import msgspec

from scalepan.policy._fields import Section, choice, count, number, share

WEIGHTS_TOLERANCE = 1e-9


class ScoringWeights(Section, frozen=True, kw_only=True):
    """How much each dimension counts; together they are 1."""

    complexity: Annotated[float, share("how much structure counts")]
    novelty: Annotated[float, share("how much being unlike earlier traces counts")]
    tool_diversity: Annotated[float, share("how much using different tools counts")]
    outcome_confidence: Annotated[float, share("how much a sure and successful outcome counts")]

    def __post_init__(self) -> None:
        total = self.complexity + self.novelty + self.tool_diversity + self.outcome_confidence
        if abs(total - 1.0) > WEIGHTS_TOLERANCE:
            raise ValueError(f"the weights add up to {total:g}, not 1")


def _weights(complexity: float, novelty: float, tool_diversity: float, outcome_confidence: float) -> ScoringWeights:
    return ScoringWeights(
        complexity=complexity, novelty=novelty, tool_diversity=tool_diversity, outcome_confidence=outcome_confidence
    )


PROFILES = {
    "default": _weights(0.25, 0.35, 0.15, 0.25),
    "finance": _weights(0.20, 0.25, 0.10, 0.45),
    "code": _weights(0.20, 0.30, 0.30, 0.20),
    "medical": _weights(0.15, 0.20, 0.10, 0.55),
    "customer_service": _weights(0.20, 0.30, 0.20, 0.30),
}


class Complexity(Section, frozen=True, kw_only=True):
    """C: how rich in structure a trace is."""

    step_types: Annotated[int, count("how many step types there are to use", "types", 1)] = 4
    types_worth: Annotated[float, share("what using all step types is worth")] = 0.5
    recovery_worth: Annotated[float, share("what one recovery from an error is worth")] = 0.3
    full_length: Annotated[int, count("the length that earns the whole length term", "steps", 1)] = 20
    length_worth: Annotated[float, share("what a trace of full length earns for it")] = 0.2
    cap_length: Annotated[bool, choice("whether the length term stops growing at full_length (contract value.10)")] = (
        False
    )


class Novelty(Section, frozen=True, kw_only=True):
    """N: how unlike the traces valued before."""

    fallback: Annotated[float, share("N where it cannot be measured: no encoder, or nothing to compare with")] = 0.5
    max_elements: Annotated[int, count("how many traces are remembered; the oldest goes first", "vectors", 1)] = 1000
    ttl_ms: Annotated[float, number("after this a trace is forgotten; null: never", "ms", gt=0)] | None = None


class ToolDiversity(Section, frozen=True, kw_only=True):
    """D: how many different tools, for the number of steps."""

    multiplier: Annotated[float, number("3: a different tool in every third step earns all", "factor", gt=0)] = 3.0


class OutcomeConfidence(Section, frozen=True, kw_only=True):
    """O: how sure the agent was, and whether it was right to be."""

    failure_factor: Annotated[float, share("what stated confidence is worth when the task failed")] = 0.3
    fallback: Annotated[
        float, share("where O lies between its worst and its best, if a log of another tool leaves it open")
    ] = 0.5


class SingleStepPenalty(Section, frozen=True, kw_only=True):
    """A trace of one thought teaches little."""

    value: Annotated[float, share("what such a trace is worth, whatever else it has")] = 0.1


class ErrorRecoveryBonus(Section, frozen=True, kw_only=True):
    """Getting up again and again, and then succeeding, is worth learning from."""

    more_than: Annotated[int, count("recoveries that do not yet earn it", "recoveries")] = 2
    add: Annotated[float, share("what it adds")] = 0.1


class ZeroDiversityPenalty(Section, frozen=True, kw_only=True):
    """Tools were used, but hardly different ones."""

    at_most: Annotated[int, count("different tools that still cost", "tools")] = 1
    subtract: Annotated[float, share("what it costs")] = 0.1


class Value(Section, frozen=True, kw_only=True):
    """What a trace is worth keeping for."""

    version: Annotated[str, choice("your label for this section; stands before its hash")] = ""
    profiles: Annotated[dict[str, ScoringWeights], choice("weights by task domain; add your own, matched exactly")] = (
        msgspec.field(default_factory=PROFILES.copy)
    )
    aliases: Annotated[dict[str, str], choice("other names of a domain: {coding: code}")] = msgspec.field(
        default_factory=dict
    )
    complexity: Complexity = Complexity()
    novelty: Novelty = Novelty()
    tool_diversity: ToolDiversity = ToolDiversity()
    outcome_confidence: OutcomeConfidence = OutcomeConfidence()
    single_step_penalty: SingleStepPenalty = SingleStepPenalty()
    error_recovery_bonus: ErrorRecoveryBonus = ErrorRecoveryBonus()
    zero_diversity_penalty: ZeroDiversityPenalty = ZeroDiversityPenalty()
    budget_ms: (
        Annotated[
            float,
            number(
                "how long the encoder may take for one call, its turn in line not counted; null: any time", "ms", gt=0
            ),
        ]
        | None
    ) = 100.0
    gate: Annotated[float, share("a trace is shared from this value on")] = 0.75
    gates: Annotated[dict[str, Annotated[float, share("the gate of one domain")]], choice("gates by task domain")] = (
        msgspec.field(default_factory=dict)
    )

    def __post_init__(self) -> None:
        if "default" not in self.profiles:
            raise ValueError("profiles needs a 'default'")
        for alias, profile in self.aliases.items():
            if profile not in self.profiles:
                raise ValueError(f"alias '{alias}' names the profile '{profile}', which is not there")

    def profile(self, domain: str) -> tuple[str, ScoringWeights]:
        """The profile of a task domain and its name; `default` for a domain that has none."""
        name = self.aliases.get(domain, domain)
        if name not in self.profiles:
            name = "default"
        return name, self.profiles[name]

    def gate_for(self, domain: str) -> float:
        """The gate of a task domain."""
        return self.gates.get(domain, self.gates.get(self.aliases.get(domain, domain), self.gate))
