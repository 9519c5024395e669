"""A value of the type that a reader expects, or nothing: logs are written by many hands, and some are damaged."""

from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

import msgspec

_LARGEST = 2**63 - 1
TOO_DEEP = "[nested too deeply]"

# Parts of a message that carry something other than text, as short text: content must not become base64.
_BINARY = frozenset(
    ("image", "image_url", "input_image", "audio", "input_audio", "video", "file", "input_file", "document", "data")
)


def text(value: Any) -> str | None:
    """A string that says something, or None.

    >>> text("a"), text(""), text(5)
    ('a', None, None)
    """
    return value if isinstance(value, str) and value else None


def mapping(value: Any) -> dict[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; everything else in it is left out."""
    return [item for item in items(value) if isinstance(item, dict)]


def flag(value: Any) -> bool | None:
    """True, False, or None if it is neither."""
    return value if isinstance(value, bool) else None


def whole(value: Any) -> int | None:
    """A count: a whole number from 0 on."""
    return value if type(value) is int and 0 <= value <= _LARGEST else None


def number(value: Any) -> float | None:
    """A finite number from 0 on."""
    if type(value) not in (int, float) or not 0 <= value <= _LARGEST or not isfinite(value):
        return None
    return float(value)


def words(value: Any) -> str | None:
    """The text of a message: a string, or a list of parts of which the text ones are joined. None if there is none.

    >>> words([{"type": "text", "text": "Look:"}, {"type": "image", "source": {"path": "a.png"}}])
    'Look:\\n[image]'
    """
    try:
        return _words(value)
    except RecursionError:
        return TOO_DEEP


def _words(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, list):
        return "\n".join(filter(None, map(_part, value))) or None
    return as_json(value)


def as_json(value: Any) -> str:
    """Any decoded value as JSON."""
    return msgspec.json.encode(value).decode()


def parsed(value: Any) -> Any:
    """Arguments of a call, which some logs write as a string of JSON. A string that is not JSON stays as it is.

    >>> parsed('{"path": "a.txt"}'), parsed("ls -l"), parsed({"n": 1})
    ({'path': 'a.txt'}, 'ls -l', {'n': 1})
    """
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return value


def total(pieces: list[dict[str, Any]], key: str, kind: Callable[[Any], Any] = whole) -> Any:
    """The sum of what the pieces state under a key; None if none of them states it."""
    stated = [found for piece in pieces if (found := kind(piece.get(key))) is not None]
    return sum(stated) if stated else None


def _part(part: Any) -> str | None:
    if not isinstance(part, dict):
        return _words(part)
    type_ = part.get("type")
    if isinstance(type_, str) and type_ in _BINARY:
        return f"[{type_.removeprefix('input_').removesuffix('_url')}]"
    for key in ("text", "content"):
        if key in part:
            return _words(part[key])
    return as_json(part)


def first_text(*values: Any) -> str | None:
    """The first of them that is a string and says something."""
    return next(_texts(values), None)


def _texts(values: tuple[Any, ...]) -> Iterator[str]:
    return (found for value in values if (found := text(value)) is not None)
