"""The whole policy: every constant of every formula, one section per part of Scalepan, each with its own version."""

from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec

from scalepan.check import json_schema, resolved
from scalepan.policy._fields import Section
from scalepan.policy.boundary import Boundary
from scalepan.policy.confidence import Confidence
from scalepan.policy.embed import Embed
from scalepan.policy.evals import Evals
from scalepan.policy.judge import Judge
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
    judge: Judge = Judge()
    embed: Embed = Embed()

    def version(self, section: str) -> str:
        """The version of one section: the user's label, if there is one, and a hash of its content.

        >>> Policy().version("value") == Policy().version("value")
        True
        """
        return section_version(getattr(self, section))


resolved(Policy)


def section_version(section: Section) -> str:
    """Label and hash: `2026-q4+1f0c9a3b22de`, or the hash alone."""
    content = msgspec.to_builtins(section)
    label = content.pop("version")
    digest = sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:12]
    return f"{label}+{digest}" if label else digest


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """JSON Schema of a policy file, for editors. Every key is optional: a file says only what differs."""
    document = json_schema(Policy)
    for definition in document["$defs"].values():
        definition.pop("required", None)
    document["title"] = "Scalepan policy"
    return document
