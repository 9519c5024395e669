"""What the stand-in's script is made of: turns, each a list of parts that the model answers with."""

from dataclasses import dataclass, field
from typing import Any, Literal

JSON = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One piece of an answer."""

    kind: Literal["text", "thinking", "call", "failure"]
    text: str = ""
    name: str = ""
    input: JSON = field(default_factory=dict)
    status: int = 200


Turn = list[Part]


def say(text: str) -> Part:
    """Text for the user."""
    return Part("text", text)


def think(text: str) -> Part:
    """Reasoning; chat completions have no place for it and leave it out."""
    return Part("thinking", text)


def call(name: str, /, **arguments: Any) -> Part:
    """A tool call. Several in one turn are parallel calls."""
    return Part("call", name=name, input=arguments)


def fail(status: int, message: str = "overloaded") -> Part:
    """An HTTP error instead of an answer; clients usually retry, and the retry takes the next turn."""
    return Part("failure", message, status=status)
