"""The user's own rules: any regular expression, with a time limit. After a timeout nothing is returned."""

from collections.abc import Iterator
from time import monotonic

import regex

from scalepan.errors import PolicyError
from scalepan.policy.redact import UserRule
from scalepan.redact.rule import Hit, RedactionRule
from scalepan.redact.view import View


def as_rule(rule: UserRule, timeout_ms: float) -> RedactionRule:
    """A user's rule as a Rule. It raises after a timeout: a text that was not searched must not pass for clean."""
    pattern = regex.compile(rule.pattern)
    cut: str | int = "value" if "value" in pattern.groupindex else 0

    def find(view: View) -> Iterator[Hit]:
        deadline = monotonic() + timeout_ms / 1000.0
        try:
            for match in pattern.finditer(view.text, timeout=timeout_ms / 1000.0):
                if monotonic() > deadline:
                    raise TimeoutError
                start, end = match.span(cut)
                if end > start:
                    yield start, end, rule.name
        except (TimeoutError, MemoryError) as error:
            excess = (
                f"longer than {timeout_ms:g} ms" if isinstance(error, TimeoutError) else "more memory than there is"
            )
            problem = f"rule '{rule.name}' took {excess}; the text was not redacted"
            raise PolicyError(problem, path="redact.rules") from None

    return RedactionRule(frozenset([rule.name]), find)
