"""Every constant of every formula, with its unit, range and reason: loaded, checked, versioned."""

from scalepan.policy.load import load_policy, resolve
from scalepan.policy.model import Policy, schema
from scalepan.policy.trust import Layer
from scalepan.policy.value import ScoringWeights

__all__ = ["Layer", "Policy", "ScoringWeights", "load_policy", "resolve", "schema"]
