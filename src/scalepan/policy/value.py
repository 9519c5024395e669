"""Constants of a trace's value (docs/contract/value.md)."""

from typing import Annotated

import msgspec

from scalepan.policy._fields import Section, choice, count, number, share

WEIGHTS_TOLERANCE = 1e-9


class ScoringWeights(Section, frozen=True, kw_only=True):
    """How much each dimension counts; they add up to 1."""

    complexity: Annotated[float, share("how much structure counts")]
    novelty: Annotated[float, share("how much difference from earlier traces counts")]
    tool_diversity: Annotated[float, share("how much using different tools counts")]
    outcome_confidence: Annotated[float, share("how much a confident and successful outcome counts")]

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
    """C: the structural richness of a trace."""

    step_types: Annotated[int, count("number of step types that earn all of types_worth", "types", 1)] = 4
    types_worth: Annotated[float, share("what using all step types adds")] = 0.5
    recovery_worth: Annotated[float, share("what a recovery from an error adds")] = 0.3
    full_length: Annotated[int, count("the length that earns the whole length term", "steps", 1)] = 20
    length_worth: Annotated[float, share("what a trace of full length adds")] = 0.2
    cap_length: Annotated[bool, choice("whether the length term stops growing at full_length (contract value.10)")] = (
        False
    )


class NoveltyPolicy(Section, frozen=True, kw_only=True):
    """N: how different from the traces valued before."""

    fallback: Annotated[float, share("N if it cannot be measured: no encoder, or nothing to compare with")] = 0.5
    max_elements: Annotated[int, count("how many traces are remembered; the oldest is dropped first", "vectors", 1)] = (
        1000
    )
    ttl_ms: Annotated[float, number("after this a trace is forgotten; null: never", "ms", gt=0)] | None = None


class ToolDiversity(Section, frozen=True, kw_only=True):
    """D: different tools per step."""

    multiplier: Annotated[float, number("3: a different tool in every third step gives 1", "factor", gt=0)] = 3.0


class OutcomeConfidence(Section, frozen=True, kw_only=True):
    """O: how sure the agent was, and whether it was right to be."""

    failure_factor: Annotated[float, share("factor on the stated confidence if the task failed")] = 0.3
    fallback: Annotated[
        float, share("where O lies between its worst and best, if another tool's log does not state it")
    ] = 0.5


class SingleStepPenalty(Section, frozen=True, kw_only=True):
    """A trace of one thought teaches little."""

    value: Annotated[float, share("the value of such a trace, whatever else it has")] = 0.1


class ErrorRecoveryBonus(Section, frozen=True, kw_only=True):
    """Recovering several times and then succeeding is worth learning from."""

    more_than: Annotated[int, count("the bonus needs more recoveries than this", "recoveries")] = 2
    add: Annotated[float, share("what it adds")] = 0.1


class ZeroDiversityPenalty(Section, frozen=True, kw_only=True):
    """Tools were used, but too few different ones."""

    at_most: Annotated[int, count("at most this many different tools are penalized", "tools")] = 1
    subtract: Annotated[float, share("what it subtracts")] = 0.1


class Value(Section, frozen=True, kw_only=True):
    """How valuable is a trace?"""

    version: Annotated[str, choice("your label for this section; comes before its hash")] = ""
    profiles: Annotated[dict[str, ScoringWeights], choice("weights by task domain; add your own, matched exactly")] = (
        msgspec.field(default_factory=PROFILES.copy)
    )
    aliases: Annotated[dict[str, str], choice("other names of a domain: {coding: code}")] = msgspec.field(
        default_factory=dict
    )
    complexity: Complexity = Complexity()
    novelty: NoveltyPolicy = NoveltyPolicy()
    tool_diversity: ToolDiversity = ToolDiversity()
    outcome_confidence: OutcomeConfidence = OutcomeConfidence()
    single_step_penalty: SingleStepPenalty = SingleStepPenalty()
    error_recovery_bonus: ErrorRecoveryBonus = ErrorRecoveryBonus()
    zero_diversity_penalty: ZeroDiversityPenalty = ZeroDiversityPenalty()
    budget_ms: (
        Annotated[
            float,
            number(
                "how long the encoder may take for one call, without waiting in its queue; null: no limit", "ms", gt=0
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
                raise ValueError(f"alias '{alias}' names the profile '{profile}', which does not exist")

    def profile(self, domain: str) -> tuple[str, ScoringWeights]:
        """The profile of a task domain and its name; `default` for a domain that has none."""
        name = self.aliases.get(domain, domain)
        if name not in self.profiles:
            name = "default"
        return name, self.profiles[name]

    def gate_for(self, domain: str) -> float:
        """The gate of a task domain."""
        return self.gates.get(domain, self.gates.get(self.aliases.get(domain, domain), self.gate))
