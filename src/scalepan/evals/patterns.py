"""Regular expressions over page content: searched within a time limit, and, if not found, the nearest miss."""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from scalepan.errors import InputError, quoted
from scalepan.policy.evals import Patterns

if TYPE_CHECKING:
    import regex

LONGEST_NEAR_MISS = 8
NEAR_TEXT = 20_000
"""How much text is searched for a near miss: fuzzy search is slow, and its result is only a hint."""


MOST_REPEATS = 100_000
"""The most repeats that nested `{n}` may add up to: the engine allocates room for each of them when it compiles."""


class PatternTimeoutError(Exception):
    """A pattern exceeded its time limit, or needs too much memory."""


@lru_cache(maxsize=4096)
def compiled(pattern: str, ignore_case: bool) -> "regex.Pattern[str]":
    """The compiled pattern, `.` matching newlines; InputError if it is invalid."""
    import regex

    _check_shape(pattern)
    flags = regex.DOTALL | (regex.IGNORECASE if ignore_case else 0)
    try:
        # Cached here; the package's own cache would store it, and look it up, a second time.
        return regex.compile(pattern, flags, cache_pattern=False)
    except RecursionError:
        raise InputError(f"{quoted(pattern)} is nested too deeply") from None
    except MemoryError:
        raise InputError(f"{quoted(pattern)} needs too much memory") from None
    except Exception as error:  # whatever the engine's parser raises, the pattern is at fault
        raise InputError(f"{quoted(pattern)} is not a regular expression: {error}") from None


# An escape; a set; recursion into the pattern or a group; the start or end of a group; a counted repeat.
_SHAPE = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\\\]])*\]"
    r"|(?P<recursion>\(\?(?:R|[-+]?\d+|&\w+|P>\w+)\))"
    r"|(?P<open>\()|(?P<close>\))|\{(?P<least>\d*)(?P<range>,?)(?P<most>\d*)\}",
    re.DOTALL,
)


def _check_shape(pattern: str) -> None:
    """InputError for patterns that compile and then exhaust memory or time: recursion, and repeats of repeats."""
    repeats = [1]
    """The number of repeats, by depth of groups."""
    closed = 1
    for token in _SHAPE.finditer(pattern):
        if token["recursion"]:
            raise InputError(f"{quoted(pattern)} calls itself with {token['recursion']}; recursion is not supported")
        if token["open"]:
            repeats.append(1)
        elif token["close"] and len(repeats) > 1:
            closed = repeats.pop()
            repeats[-1] = max(repeats[-1], closed)
        elif token["least"] is not None or token["most"]:
            count = max(_count(token["least"]), _count(token["most"]))
            inside = closed if pattern[token.start() - 1 : token.start()] == ")" else 1
            repeats[-1] = max(repeats[-1], count * inside)
        if repeats[-1] > MOST_REPEATS:
            raise InputError(f"{quoted(pattern)} repeats something more than {MOST_REPEATS:,} times")


def _count(digits: str) -> int:
    # More digits than this are too many repeats in any case.
    return min(int(digits[:9]), MOST_REPEATS + 1) if digits else 0


# An escaped character; `.*`; `|`; a group or class of literal characters, once; literal characters.
_SIMPLE = re.compile(
    r"\\(?P<escaped>[^\w\s])"
    r"|(?P<anything>\.\*\??)"
    r"|(?P<otherwise>\|)"
    r"|\((?:\?:)?(?P<group>[^\\^$.?*+{}\[\]()]*)\)(?![?*+{])"
    r"|\[(?P<signs>[^\\^\]\[\-&|~]+)\](?![?*+{])"
    r"|(?P<words>[^\\^$.?*+{}\[\]()|]+(?![?*+{]))"
)
_SPECIAL = re.compile(r"[\\^$.?*+{}\[\]()]")
MOST_CHOICES = 32
_OWN_DIALECT = re.compile(r"\[\^?\[|--|&&|~~|\|\||\{(?!\d+,?\d*\})")
"""Syntax that the engine reads differently from the standard library: sets within sets, and errors in braces."""
_ATOM = r"(?:\\[^\w\s]|\\[dDnt]|\[\^?(?:[^\\\]\[^]|\\[^\w\s]|\\[dDnt])+\]|[^\\^$?*+{}\[\]()|])"
_TOKENS = rf"(?:{_ATOM}|[\^$])*"
_QUICK = re.compile(rf"{_TOKENS}(?:{_ATOM}[*+]\??{_TOKENS})?")
"""Characters, sets, and at most one repeat of a single character: without alternatives there is no backtracking."""
QUICK_TEXT = 4096
"""The longest text for it: one repeat takes the square of that at worst, some ten milliseconds."""


@lru_cache(maxsize=4096)
def plain_words(pattern: str) -> tuple[tuple[str, ...], ...] | None:
    """The alternatives of a pattern of words and `.*`, each as its words in order; None for any other pattern.

    Most patterns of golden cases are like that. Compiling one costs more than a hundred searches for words.

    >>> plain_words("要約|まとめ"), plain_words("[Cc]art.*Cart"), plain_words("a+")
    ((('要約',), ('まとめ',)), (('Cart', 'Cart'), ('cart', 'Cart')), None)
    """
    if _SPECIAL.search(pattern.replace(".*", "")) is None and pattern.count("|") < MOST_CHOICES:
        return tuple(tuple(choice.split(".*")) for choice in pattern.split("|"))
    done: list[tuple[str, ...]] = []
    now: list[tuple[str, ...]] = [("",)]
    at = 0
    while at < len(pattern):
        token = _SIMPLE.match(pattern, at)
        if token is None:
            return None
        found = token.groupdict()
        if found["otherwise"]:
            done, now = [*done, *now], [("",)]
        elif found["anything"]:
            now = [(*words, "") for words in now]
        else:
            now = [(*words[:-1], words[-1] + end) for words in now for end in _endings(found)]
        if len(done) + len(now) > MOST_CHOICES:
            return None
        at = token.end()
    return (*done, *now)


def _endings(found: dict[str, str | None]) -> Sequence[str]:
    if found["group"] is not None:
        return found["group"].split("|")
    return found["signs"] or [found["escaped"] or found["words"] or ""]


def _in_order(words: tuple[str, ...], text: str) -> bool:
    """Whether the text has the words one after the other, as `.*` between them requires, across lines too."""
    at = 0
    for word in words:
        at = text.find(word, at)
        if at < 0:
            return False
        at += len(word)
    return True


@lru_cache(maxsize=512)
def quick(pattern: str) -> re.Pattern[str] | None:
    """The pattern for the standard library's engine, if it cannot take long; None for any other.

    That engine compiles in a third of the time and searches many times as fast, but has no time limit.

    >>> quick("[Cc]art.*[^0-9]42") is not None, quick("(a+)+$"), quick("a.*b.*c")
    (True, None, None)
    """
    if not _is_quick(pattern):
        return None
    with suppress(re.error):
        return re.compile(pattern, re.DOTALL)
    return None


def _is_quick(pattern: str) -> bool:
    return _QUICK.fullmatch(pattern) is not None and _OWN_DIALECT.search(pattern) is None


def check_length(pattern: str, limits: Patterns) -> None:
    """InputError if a pattern is too long."""
    if len(pattern) > limits.longest:
        raise InputError(f"{quoted(pattern)} has {len(pattern):,} characters; a pattern has at most {limits.longest:,}")


def check_pattern(pattern: str, limits: Patterns) -> None:
    """InputError if the pattern is invalid, or would exhaust memory or time."""
    check_length(pattern, limits)
    # In a quick pattern only a range such as [z-a] can be wrong; the rest need not be compiled to be checked.
    if plain_words(pattern) is None and ("-" in pattern or not _is_quick(pattern)) and quick(pattern) is None:
        compiled(pattern, False)


def found(pattern: str, text: str, limits: Patterns) -> bool:
    """Whether the pattern occurs anywhere in the text."""
    check_length(pattern, limits)
    choices = None if limits.ignore_case else plain_words(pattern)
    if choices is not None:
        return any(_in_order(choice, text) for choice in choices)
    standard = quick(pattern) if len(text) <= QUICK_TEXT and not limits.ignore_case else None
    if standard is not None:
        return standard.search(text) is not None
    try:
        return compiled(pattern, limits.ignore_case).search(text, timeout=limits.timeout_ms / 1000.0) is not None
    except TimeoutError:
        raise PatternTimeoutError(f"pattern {quoted(pattern)} took longer than {limits.timeout_ms:g} ms") from None
    except MemoryError:
        raise PatternTimeoutError(f"pattern {quoted(pattern)} needs too much memory") from None


def with_case(limits: Patterns, ignore_case: bool | None) -> Patterns:
    """The limits, with the scorer's own setting for case, if it has one."""
    return limits if ignore_case is None else msgspec.structs.replace(limits, ignore_case=ignore_case)


_WILDCARD = re.compile(r"(?<!\\)\.(?:[*+]\??|\{[\d,]*\}\??)")
_LOOSE = re.compile(r"(?<!\\)\.|\[\^|\\[SWDX]|\\s\\S")
_SYNTAX = re.compile(r"\(\?[^:)]*[:)]|\\[bBdDwWsSAZnrt]|\{[\d,]*\}|(?<!\\)[\[\](){}|^$*+?.]|\\")
MOST_ASKED = 20


def literals(pattern: str) -> str:
    """The literal words of a pattern, without its syntax.

    >>> literals(r"Cart.*(?:total|sum): \\d+")
    'Cart   total sum :   '
    """
    choices = plain_words(pattern)
    if choices is not None:
        return " | ".join(" ".join(words) for words in choices)
    return _SYNTAX.sub(" ", pattern)


def asked_for(patterns: Sequence[str], text: str, limits: Patterns) -> list[str]:
    """The parts of a text that the patterns asked for: what they match, without what only a wildcard matched.

    >>> asked_for([r"due \\d+ May.*paid"], "due 5 May, said Bob, is paid", Patterns())
    ['due 5 May', 'paid']
    """
    found = []
    for pattern in patterns[:MOST_ASKED]:
        for piece in _WILDCARD.split(pattern):
            if piece and not _LOOSE.search(piece):
                # A piece that is not a pattern by itself, such as half a group, is skipped.
                with suppress(InputError, TimeoutError, MemoryError):
                    match = compiled(piece, limits.ignore_case).search(text, timeout=limits.timeout_ms / 1000.0)
                    found += [match.group()] if match else []
    return found


class NearMiss(NamedTuple):
    """Where a pattern nearly matched: the text there, its place, and how many characters differ."""

    text: str
    start: int
    errors: int


def near_miss(pattern: str, text: str, limits: Patterns) -> NearMiss | None:
    """Where the pattern matches best with a few characters changed; None if nothing comes close."""
    import regex

    flags = regex.DOTALL | regex.BESTMATCH | (regex.IGNORECASE if limits.ignore_case else 0)
    allowed = min(LONGEST_NEAR_MISS, max(1, len(pattern) // 4))
    try:
        fuzzy = regex.compile(f"(?:{pattern}){{e<={allowed}}}", flags)
        match = fuzzy.search(text[:NEAR_TEXT], timeout=limits.timeout_ms / 1000.0)
    except (regex.error, TimeoutError, MemoryError, RecursionError):
        return None
    if match is None or not match.group():
        return None
    return NearMiss(match.group(), match.start(), sum(match.fuzzy_counts))
