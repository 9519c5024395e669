"""Secrets and personal data out of text: keys, passwords, e-mail, phones, cards, My Number, accounts, IP addresses.

A mark says what was there (`[secret:aws-key]`, `[pii:email]`), a finding says which kind, where, and a keyed hash.
Neither holds the value. Time is linear in the text, whatever it holds, and redacting twice changes nothing.
"""

from functools import cache

from scalepan.policy.redact import Redact
from scalepan.redact.finding import Finding, Redacted
from scalepan.redact.redactor import Redactor

__all__ = ["Finding", "Redact", "Redacted", "Redactor", "findings", "redact"]


def redact(text: str, policy: Redact | None = None) -> Redacted:
    """The text with marks in place of what should not be kept, and what that was.

    >>> redact("user=ann password=hunter2").text
    'user=ann password=[secret:password]'
    """
    return _redactor(policy).redact(text)


def findings(text: str, policy: Redact | None = None) -> tuple[Finding, ...]:
    """What is in the text that should not be kept: kind, place and hash, never the value.

    >>> [(found.kind, found.start, found.end) for found in findings("mail ann@example.com")]
    [('email', 5, 20)]
    """
    return _redactor(policy).findings(text)


def _redactor(policy: Redact | None) -> Redactor:
    return _by_default() if policy is None else Redactor(policy)


@cache
def _by_default() -> Redactor:
    return Redactor()
