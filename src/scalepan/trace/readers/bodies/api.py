"""What the readers of three APIs have in common: what a request asks, what a response answers."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.readers.lenient import mapping, whole


class ModelAnswer(NamedTuple):
    """One response of a model."""

    entries: list[LogEntry]
    id: str | None = None
    model: str | None = None
    at: str | None = None
    ended: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class ModelCall(NamedTuple):
    """One request and its response; either may be missing in a log."""

    api: str
    line: int
    history: list[LogEntry]
    """All that the request holds: usually the conversation so far, and what is new."""
    answer: ModelAnswer | None = None
    previous: str | None = None
    """The response that the API itself continues: then the request holds only what is new."""
    thread: str | None = None
    """The conversation that the API itself holds."""
    model: str | None = None
    at: str | None = None


class BodyApi(NamedTuple):
    """One API."""

    name: str
    claims: Callable[[dict[str, Any], dict[str, Any]], bool]
    """Whether a request and a response (either may be empty) can only be of this API."""
    history: Callable[[dict[str, Any]], list[LogEntry]]
    """What a request holds."""
    answer: Callable[[dict[str, Any]], ModelAnswer | None]
    """What a response says; None for an error."""
    joined: Callable[[Sequence[dict[str, Any]]], dict[str, Any]]
    """The response that the events of a stream add up to."""


def tokens(usage: Any, *keys: str) -> int | None:
    """The sum of these counts; None if none of them is there.

    >>> tokens({"input_tokens": 5, "cache_read_input_tokens": 3}, "input_tokens", "cache_read_input_tokens")
    8
    """
    stated = [count for key in keys if (count := whole(mapping(usage).get(key))) is not None]
    return sum(stated) if stated else None
