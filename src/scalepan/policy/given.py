"""A policy as callers give it: a Policy, a file, a few keys that override the policy in force, or nothing."""

import os
from collections.abc import Mapping
from typing import Any

from scalepan.arguments import as_path, wrong
from scalepan.policy.load import load_policy
from scalepan.policy.model import Policy

Given = str | os.PathLike[str] | Policy | Mapping[str, Any] | None
LEGAL = "a Policy, a policy file, or a dict of sections such as {'value': {'gate': 0.6}}"


def policy_given(policy: Given, name: str = "policy") -> Policy:
    """The policy that an argument means; nothing means the policy in force.

    >>> policy_given({"value": {"gate": 0.6}}).value.gate
    0.6
    """
    if isinstance(policy, Policy):
        return policy
    if policy is None:
        return load_policy()
    if isinstance(policy, Mapping):
        return load_policy(overrides=policy)
    if isinstance(policy, (str, os.PathLike)):
        return load_policy(as_path(name, policy, LEGAL))
    raise wrong(name, policy, LEGAL)
