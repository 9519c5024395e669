"""Judgement: the result of one question to the judge. A failure is a value with a reason, never a number."""

from typing import Literal

import msgspec

Status = Literal["ok", "failed"]


class TokenUsage(msgspec.Struct, frozen=True, gc=False):
    """What a call cost, as the server counted it."""

    prompt: int = 0
    completion: int = 0

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """A number from 0 to 1, or why there is none.

    >>> failed("the endpoint answered 500").value is None
    True
    """

    value: float | None = None
    """The number; if there are several, the first."""
    values: dict[str, float] = {}
    """Every number by name; empty if it failed: all of them or none."""
    status: Status = "ok"
    reason: str = ""
    raw: str = ""
    """What the model wrote, redacted and shortened."""
    notes: tuple[str, ...] = ()
    """What is worth knowing: a number was clamped, the server refused a parameter."""
    tokens: TokenUsage | None = None
    """None if the server does not count. Those of a cached judgement were spent when it was made."""
    model: str = ""
    prompt: str = ""
    """The prompt's version."""
    cached: bool = False
    calls: int = 0
    """How often the endpoint was called, retries included; 0 if it came from the cache."""
    took_ms: float = 0.0


def failed(reason: str, raw: str = "") -> Judgement:
    """No number, and why."""
    return Judgement(status="failed", reason=reason, raw=raw)
