"""The redactor in force: by the caller's policy, made stricter by the store's policy for its tenant.

Decisions, receipts and the notes of tokens all go through it on their way into the store. It runs in the process that
owns the file, so that no caller can forget it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.names import without_controls
from scalepan.policy import Policy, load_policy
from scalepan.policy.redact import Redact, tighten
from scalepan.redact import Redactor
from scalepan.store.policies import WhosePolicy, as_layers, policy_layers

if TYPE_CHECKING:
    from scalepan.store import Here

KEPT_REDACTORS = 64


def as_sent(policy: Policy | None = None) -> bytes:
    """What a write carries: how its caller's policy redacts. Without a policy, the one in force here."""
    return msgspec.msgpack.encode((policy or load_policy()).redact)


def redactor_for(here: "Here", sent: bytes, tenant: str | None, project: str | None = None) -> Redactor:
    """The redactor for a write. Without a policy of the caller, the policy in force at the owner is used."""
    known: dict[Any, Redactor] = here.state.setdefault("redactors", {})
    key = (sent, tenant, project, here.policies.generation)
    found = known.get(key)
    if found is None:
        section: dict[str, Any] = msgspec.to_builtins(
            msgspec.msgpack.decode(sent, type=Redact) if sent else load_policy().redact
        )
        if tenant is not None:
            for layer in as_layers(policy_layers(here, WhosePolicy(tenant, project))):
                if isinstance(said := layer.values.get("redact"), Mapping):
                    tighten(section, said)
        found = Redactor(msgspec.convert(section, Redact))
        if len(known) >= KEPT_REDACTORS:
            known.clear()
        known[key] = found
    return found


def redacted(value: Any, redactor: Redactor) -> Any:
    """Plain data, every text in it without secrets, personal data and control characters.

    >>> redacted({"why": ["mail ann@example.com", 1]}, Redactor())
    {'why': ['mail [pii:email]', 1]}
    """
    if isinstance(value, str):
        return redactor.redact(without_controls(value)).text
    if isinstance(value, Mapping):
        return {redacted(key, redactor): redacted(item, redactor) for key, item in value.items()}
    return [redacted(item, redactor) for item in value] if isinstance(value, (list, tuple)) else value
