"""Regular expressions over page content: searched, within a time limit, and, where they miss, how near they came."""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from karat.errors import InputError, quoted
from karat.policy.evals import Patterns

if TYPE_CHECKING:
    import regex

LONGEST_NEAR_MISS = 8
NEAR_TEXT = 20_000
"""Where a near miss is looked for: fuzzy search is slow, and what it finds is only a hint."""


class PatternTimeoutError(Exception):
    """A pattern searched for longer than it may."""


@lru_cache(maxsize=4096)
def compiled(pattern: str, ignore_case: bool = False) -> "regex.Pattern[str]":
    """The pattern, `.` crossing lines; InputError if it is none."""
    import regex

    flags = regex.DOTALL | (regex.IGNORECASE if ignore_case else 0)
    try:
        return regex.compile(pattern, flags)
    except (regex.error, OverflowError, RecursionError) as error:
        raise InputError(f"{quoted(pattern)} is not a regular expression: {error}") from None


def found(pattern: str, text: str, limits: Patterns) -> bool:
    """Whether the pattern occurs anywhere in the text."""
    try:
        return compiled(pattern, limits.ignore_case).search(text, timeout=limits.timeout_ms / 1000.0) is not None
    except TimeoutError:
        raise PatternTimeoutError(f"pattern {quoted(pattern)} took longer than {limits.timeout_ms:g} ms") from None


def with_case(limits: Patterns, ignore_case: bool | None) -> Patterns:
    """The limits with a scorer's own word on case, if it has one."""
    return limits if ignore_case is None else msgspec.structs.replace(limits, ignore_case=ignore_case)


class NearMiss(NamedTuple):
    """Where a pattern nearly matched: the text there, its place, and how many characters differ."""

    text: str
    start: int
    errors: int


def near_miss(pattern: str, text: str, limits: Patterns) -> NearMiss | None:
    """The place where the pattern fits best with a few characters changed; None if it fits nowhere nearly."""
    import regex

    flags = regex.DOTALL | regex.BESTMATCH | (regex.IGNORECASE if limits.ignore_case else 0)
    allowed = min(LONGEST_NEAR_MISS, max(1, len(pattern) // 4))
    try:
        fuzzy = regex.compile(f"(?:{pattern}){{e<={allowed}}}", flags)
        match = fuzzy.search(text[:NEAR_TEXT], timeout=limits.timeout_ms / 1000.0)
    except (regex.error, TimeoutError):
        return None
    if match is None or not match.group():
        return None
    return NearMiss(match.group(), match.start(), sum(match.fuzzy_counts))
