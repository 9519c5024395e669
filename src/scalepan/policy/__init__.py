"""Every constant of every formula, with its unit, range and reason: loaded, checked, versioned."""

from typing import TYPE_CHECKING

from scalepan.lazy import lazily

if TYPE_CHECKING:
    from scalepan.policy.load import load_policy, resolve
    from scalepan.policy.model import Policy, schema
    from scalepan.policy.trust import Layer
    from scalepan.policy.value import ScoringWeights

__all__ = ["Layer", "Policy", "ScoringWeights", "load_policy", "resolve", "schema"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "scalepan.policy.load": ["load_policy", "resolve"],
        "scalepan.policy.model": ["Policy", "schema"],
        "scalepan.policy.trust": ["Layer"],
        "scalepan.policy.value": ["ScoringWeights"],
    },
)
