"""The spec's own classes: a calculator and an aggregator under one policy."""

from collections.abc import Sequence

from scalepan.confidence.aggregate import aggregate_scores
from scalepan.confidence.decide import ActionDecision, decide
from scalepan.confidence.factors import ConfidenceFactors
from scalepan.confidence.formula import ConfidenceScore, confidence
from scalepan.policy import Policy
from scalepan.policy.confidence import Confidence
from scalepan.policy.model import section_version
from scalepan.score import Score

Config = Policy | Confidence | None
"""What the spec calls config: a whole policy, its confidence section, or nothing for the spec's constants."""


def section_of(config: Config) -> Confidence:
    """The confidence section that a config means."""
    if config is None:
        return Confidence()
    return config.confidence if isinstance(config, Policy) else config


class ConfidenceCalculator:
    """Factors to a score, a score to a decision.

    >>> calculator = ConfidenceCalculator()
    >>> score = calculator.calculate(ConfidenceFactors(search_result_count=5, search_max_score=0.8, source_count=2))
    >>> float(score), calculator.decide_action(score).level.name
    (0.733, 'NOTIFY')
    """

    def __init__(self, config: Config = None) -> None:
        self.policy = section_of(config)
        self.version = section_version(self.policy)

    def calculate(self, factors: ConfidenceFactors) -> ConfidenceScore:
        """How sure the agent may be of one step."""
        return confidence(factors, self.policy, self.version)

    def decide_action(self, score: Score) -> ActionDecision:
        """Go on, tell, ask, or hand over."""
        return decide(score, self.policy.thresholds)


class ConfidenceAggregator:
    """The scores of several steps to one number."""

    def __init__(self, config: Config = None) -> None:
        self.policy = section_of(config)
        self.version = section_version(self.policy)

    def aggregate(self, scores: Sequence[Score], method: str | None = None) -> Score:
        """`mean`, `min`, or `weighted` (later steps more); by default what the policy says."""
        return aggregate_scores(scores, method or self.policy.aggregation, self.version)
