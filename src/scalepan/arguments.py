"""Arguments of callers: accepted if the meaning is plain, or refused in one line that names what is legal."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from scalepan.errors import InputError, own_words, shorten

T = TypeVar("T")


def wrong(name: str, value: object, legal: str) -> InputError:
    """The error for an argument of the wrong type or value.

    >>> print(wrong("ask", 5, "a function that takes a Question, or None"))
    ask: 5 is not a function that takes a Question, or None
    """
    said = f"'{shorten(value)}'" if isinstance(value, str) else shorten(own_words(value))
    return InputError(f"{said} is not {legal}", path=name)


def as_path(name: str, value: object, legal: str = "a path") -> Path:
    """A file or folder, as text or as a path.

    >>> as_path("file", "a.yaml").suffix
    '.yaml'
    """
    if isinstance(value, bytes) or not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise wrong(name, value, legal)
    path: str | os.PathLike[str] = value
    return Path(path)


def as_names(name: str, value: object, legal: str = "a list of words") -> tuple[Any, ...]:
    """Several words; a single one is a list of one, never its letters.

    >>> as_names("purposes", "answer:task")
    ('answer:task',)
    """
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (Sequence, set, frozenset)) and not isinstance(value, (bytes, bytearray)):
        return tuple(value)
    raise wrong(name, value, legal)


def as_callable(name: str, value: T, legal: str) -> T:
    """Something that can be called, or None."""
    if value is not None and not callable(value):
        raise wrong(name, value, f"{legal}, or None")
    return value


def as_instance(name: str, value: object, kind: type[T], legal: str) -> T:
    """An instance of a class."""
    if not isinstance(value, kind):
        raise wrong(name, value, legal)
    return value


def as_mapping(name: str, value: object, legal: str = "a dict") -> Mapping[str, Any]:
    """A mapping of keys to values."""
    if not isinstance(value, Mapping):
        raise wrong(name, value, legal)
    return value


def is_number(value: object) -> bool:
    """Whether it is a number; true and false do not count as 1 and 0."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_seconds(name: str, value: float | None, otherwise: Callable[[], float]) -> float:
    """A time that is not negative; None means the default."""
    if value is None:
        return otherwise()
    if not is_number(value) or not value >= 0:
        raise wrong(name, value, "a number of seconds, at least 0")
    return float(value)


def as_texts(name: str, value: object) -> list[str]:
    """A list of texts, never the letters of one; None is an empty list."""
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        raise wrong(name, value, "a list of texts")
    return list(value)
