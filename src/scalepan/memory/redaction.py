"""Redaction of claims, on the way in and on the way out: what may be stored of them, and what a caller may see."""

from typing import Any, get_type_hints

import msgspec

from scalepan.memory.claim import TIMES, Claim, Entity, Provenance, zoned
from scalepan.memory.state import Rules
from scalepan.names import LONGEST, without_controls
from scalepan.policy.boundary import CLASSES
from scalepan.redact import Redactor
from scalepan.store.reach import Reach
from scalepan.store.request import Who

VERBATIM = frozenset(
    [
        *("id", "tenant", "project", "session", "kind", "scope", "boundary_class", "content_hash"),
        *("created_at", "updated_at", "merged_into", "conversation", "supersedes", "superseded_by", *TIMES),
    ]
)
"""Fields of a claim that hold no free text: ids, names with a grammar, times, digests. Any other text is redacted, also
that of a field that is added later."""
_FREE_TEXT = tuple(
    name for name, hint in get_type_hints(Claim).items() if hint in (str, str | None) and name not in VERBATIM
)
SECRET_TEXT = "[secret:claim]"  # noqa: S105 - a placeholder, not a secret
"""What is kept of a claim of class secret."""


def clean(said: str, boundary_class: str, rules: Rules) -> tuple[str, str, dict[str, int]]:
    """A text as it may be kept, its class, and what was cut, by kind."""
    if boundary_class == "secret":
        return SECRET_TEXT, "secret", {"secret": 1}
    # Controls first: one inside of a secret would hide it from the rules.
    text = without_controls(said)
    found = rules.redactor.redact(text)
    counts: dict[str, int] = {}
    for finding in found.findings:
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
    if rules.policy.redact.store_pii and any(finding.category == "pii" for finding in found.findings):
        kept = rules.secrets_only.redact(text)
        cut = {finding.kind for finding in kept.findings}
        return kept.text, stricter(boundary_class, "pii"), {kind: n for kind, n in counts.items() if kind in cut}
    return found.text, boundary_class, counts


def stricter(one: str, other: str) -> str:
    return max(one, other, key=lambda name: CLASSES.index(name))


def clean_text(said: str, redactor: Redactor) -> str:
    """Any text beside a claim's own, as it may be kept and shown: without controls, then without what is redacted."""
    return redactor.redact(without_controls(said)).text


def redacted_provenance(provenance: Provenance, redactor: Redactor) -> Provenance:
    """Provenance without secrets and personal data: a URL may carry a token, a note anything.

    A time that is none was kept by an older version, and could be any text.
    """
    fields = {name: getattr(provenance, name) for name in ("actor", "source", "note")}
    cleaned = {name: clean_text(value, redactor) for name, value in fields.items() if value}
    return msgspec.structs.replace(provenance, at=zoned(provenance.at) if provenance.at else None, **cleaned)


def redacted_entity(entity: Entity, redactor: Redactor) -> Entity:
    """The same for the name of what a claim is about."""
    return msgspec.structs.replace(entity, name=_one_line(entity.name, redactor))


def clean_actor(who: Who, redactor: Redactor) -> str | None:
    """Who asks, as it is kept: a name, on one line."""
    return _one_line(who.actor, redactor) if who.actor else None


def _one_line(name: str, redactor: Redactor) -> str:
    return " ".join(clean_text(name, redactor).split())[:LONGEST]


def redacted_field(name: str, value: Any, redactor: Redactor) -> Any:
    """A field of a claim as it may be stored and shown. What is not known to be safe is redacted."""
    if name == "speaker" and value is not None:
        return _one_line(value, redactor) or None
    return clean_text(value, redactor) if isinstance(value, str) and name not in VERBATIM else value


def redacted_claim(claim: Claim, redactor: Redactor) -> Claim:
    """A whole claim, redacted once more."""
    return msgspec.structs.replace(
        claim,
        **{name: redacted_field(name, getattr(claim, name), redactor) for name in _FREE_TEXT},
        provenance=redacted_provenance(claim.provenance, redactor),
        entities=[redacted_entity(entity, redactor) for entity in claim.entities],
    )


def outgoing(claim: Claim, rules: Rules, within: Reach) -> Claim:
    """A claim on its way out: secrets are always cut, personal data unless its class is open to this purpose."""
    kept = claim.boundary_class == "pii" and "pii" in within.classes and "pii" not in within.redacted
    redactor = rules.secrets_only if kept else rules.redactor
    return redacted_claim(claim, redactor)


def exported(claim: Claim, rules: Rules) -> Claim:
    """A claim in its owner's own copy: personal data that the policy stores stays in it."""
    return redacted_claim(claim, rules.secrets_only if claim.boundary_class == "pii" else rules.redactor)
