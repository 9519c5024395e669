"""The whole policy: every constant of every formula, one section per part of Scalepan, each with its own version."""

from functools import lru_cache
from typing import Any

from scalepan.check import json_schema, resolved
from scalepan.policy._fields import Section
from scalepan.policy.boundary import Boundary
from scalepan.policy.confidence import Confidence
from scalepan.policy.embed import Embed
from scalepan.policy.evals import Evals
from scalepan.policy.judge import JudgePolicy
from scalepan.policy.redact import Redact
from scalepan.policy.retrieval import Retrieval
from scalepan.policy.value import Value


class Policy(Section, frozen=True, kw_only=True):
    """All sections. What is not set has the built-in value of the contract.

    >>> Policy().value.gate
    0.75
    """

    value: Value = Value()
    evals: Evals = Evals()
    retrieval: Retrieval = Retrieval()
    boundary: Boundary = Boundary()
    redact: Redact = Redact()
    confidence: Confidence = Confidence()
    judge: JudgePolicy = JudgePolicy()
    embed: Embed = Embed()

    def version(self, section: str) -> str:
        """The version of one section: the user's label, if there is one, and a hash of its content.

        >>> Policy().version("value") == Policy().version("value")
        True
        """
        found: Section = getattr(self, section)
        return found.label_and_hash


resolved(Policy)


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """JSON Schema of a policy file, for editors. Every key is optional: a file says only what differs."""
    document = json_schema(Policy)
    for definition in document["$defs"].values():
        definition.pop("required", None)
    document["title"] = "Scalepan policy"
    return document
