"""Every constant of every formula, with its unit, range and reason: loaded, checked, versioned."""

from karat.policy.load import Layer, load_policy, resolve
from karat.policy.model import Policy, schema
from karat.policy.value import ScoringWeights

__all__ = ["Layer", "Policy", "ScoringWeights", "load_policy", "resolve", "schema"]
