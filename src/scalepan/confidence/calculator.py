"""A calculator and an aggregator under one policy (contract confidence.30)."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from scalepan.arguments import as_instance, wrong
from scalepan.confidence.aggregate import aggregate_scores
from scalepan.confidence.decide import ActionDecision, decide
from scalepan.confidence.factors import ConfidenceFactors
from scalepan.confidence.formula import ConfidenceScore, confidence
from scalepan.policy import Policy, load_policy
from scalepan.policy.confidence import Confidence
from scalepan.policy.given import LEGAL as LEGAL_POLICY
from scalepan.policy.given import policy_given
from scalepan.score import Score

Config = Policy | Confidence | None
"""`config`: a whole policy, its confidence section, or nothing for the policy in force."""


def section_of(config: Config) -> Confidence:
    """The confidence section that a config means."""
    if config is None:
        return load_policy().confidence
    return config.confidence if isinstance(config, Policy) else config


def config_given(config: Any) -> Config:
    """A config as it is, or the policy that a file or a dict of sections means."""
    if config is None or isinstance(config, (Policy, Confidence)):
        return config
    if isinstance(config, (str, os.PathLike, Mapping)):
        return policy_given(config, "config")
    raise wrong("config", config, f"{LEGAL_POLICY}, the confidence section of a policy, or None")


def factors_given(factors: ConfidenceFactors | Mapping[str, Any], name: str = "factors") -> ConfidenceFactors:
    """Factors as they are, or checked from a dict.

    >>> factors_given({"source_count": 2}).source_count
    2
    """
    if isinstance(factors, ConfidenceFactors):
        return factors
    if isinstance(factors, Mapping):
        return ConfidenceFactors.from_dict(factors)
    raise wrong(name, factors, "ConfidenceFactors, or a dict of factors such as {'source_count': 2}")


def evidence_given(evidence: Score | ConfidenceFactors | Mapping[str, Any]) -> Score | ConfidenceFactors:
    """What a gate decides by: a score, or factors."""
    return evidence if isinstance(evidence, Score) else factors_given(evidence, "evidence")


def score_given(score: Score, name: str) -> Score:
    """A score, and not the bare number: a decision says where its number comes from."""
    return as_instance(name, score, Score, "a Score, as calculate gives it")


class ConfidenceCalculator:
    """Factors to a score, a score to a decision.

    >>> calculator = ConfidenceCalculator()
    >>> score = calculator.calculate(ConfidenceFactors(search_result_count=5, search_max_score=0.8, source_count=2))
    >>> float(score), calculator.decide_action(score).level.name
    (0.733, 'NOTIFY')
    """

    def __init__(self, config: Config = None) -> None:
        self.policy = section_of(config_given(config))
        self.version = self.policy.label_and_hash

    def calculate(self, factors: ConfidenceFactors | Mapping[str, Any]) -> ConfidenceScore:
        """How sure the agent may be of one step, by its factors or a dict of them."""
        return confidence(factors_given(factors), self.policy, self.version)

    def decide_action(self, score: Score) -> ActionDecision:
        """Go on, tell, ask, or hand over."""
        return decide(score_given(score, "score"), self.policy.thresholds)


class ConfidenceAggregator:
    """The scores of several steps to one number."""

    def __init__(self, config: Config = None) -> None:
        self.policy = section_of(config_given(config))
        self.version = self.policy.label_and_hash

    def aggregate(self, scores: Sequence[Score], method: str | None = None) -> Score:
        """`mean`, `min`, or `weighted` (later steps more); by default what the policy says."""
        if isinstance(scores, (str, Mapping, Score)) or not isinstance(scores, Sequence):
            raise wrong("scores", scores, "a list of Scores")
        for number, score in enumerate(scores):
            score_given(score, f"scores[{number}]")
        return aggregate_scores(scores, method or self.policy.aggregation, self.version)
