"""Removes secrets and personal data from text: keys, passwords, e-mail, phones, cards, My Number, IBAN, IP.

A placeholder (`[secret:aws-key]`, `[pii:email]`) replaces each value; a finding has its kind, its position and a keyed
hash. Neither contains the value. Time is linear in the length of any text, and redacting twice changes nothing.
"""

from functools import cache

from scalepan.policy.redact import Redact
from scalepan.redact.finding import Finding, Redacted
from scalepan.redact.redactor import Redactor

__all__ = ["Finding", "Redact", "Redacted", "Redactor", "findings", "redact"]


def redact(text: str, policy: Redact | None = None) -> Redacted:
    """The text with placeholders instead of secrets and personal data, and the findings.

    >>> redact("user=ann password=hunter2").text
    'user=ann password=[secret:password]'
    """
    return _redactor(policy).redact(text)


def findings(text: str, policy: Redact | None = None) -> tuple[Finding, ...]:
    """The secrets and personal data in the text: kind, position and hash, never the value.

    >>> [(found.kind, found.start, found.end) for found in findings("mail ann@example.com")]
    [('email', 5, 20)]
    """
    return _redactor(policy).findings(text)


def _redactor(policy: Redact | None) -> Redactor:
    return _by_default() if policy is None else Redactor(policy)


@cache
def _by_default() -> Redactor:
    return Redactor()
