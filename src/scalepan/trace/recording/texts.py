"""What a tool was given and what it returned, as plain data and as text. Nothing that cannot be shown raises here."""

from collections.abc import Callable
from typing import Any

import msgspec

from scalepan.errors import own_words, shorten

LONGEST_SUMMARY, LONGEST_ERROR, LOOKED_AT = 500, 200, 10_000
BINARY = "[binary]"


def as_plain(value: Any) -> Any:
    """A copy that JSON can hold; anything else by its repr.

    >>> as_plain({"at": (1, 2), "by": len, 3: float("nan")})
    {'at': [1, 2], 'by': '<built-in function len>', '3': None}
    """
    try:
        return msgspec.json.decode(msgspec.json.encode(value, enc_hook=own_words))
    except Exception:
        return as_unicode(shorten(value, LONGEST_SUMMARY))


def as_unicode(text: str) -> str:
    """Text that UTF-8 can hold: what a program printed may have half a character in it.

    >>> as_unicode("caf\\udce9")
    'caf?'
    """
    return text.encode(errors="replace").decode()


def as_text(value: Any) -> str:
    """A tool's result as text.

    >>> as_text({"id": 17, "open": True}), as_text(b"two lines"), as_text(bytes([255]))
    ('{"id":17,"open":true}', 'two lines', '[binary]')
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            return BINARY
    if isinstance(value, str):
        return as_unicode(value)
    plain = as_plain(value)
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()


def summary(value: Any, redact: Callable[[str], str]) -> str:
    """A tool's result as one short text, redacted. It looks far enough ahead that no secret is cut in half."""
    text = as_text(value)
    seen = text[:LOOKED_AT]
    found = redact(seen)
    if len(seen) < len(text):
        found = found[: max(len(found) - LONGEST_SUMMARY, 0)] + "…"
    return shorten(found, LONGEST_SUMMARY)


def error_summary(error: BaseException, redact: Callable[[str], str]) -> str:
    """An exception in one line, redacted before it is shortened."""
    name, said = type(error).__name__, redact(own_words(error, str)[:LOOKED_AT])
    return name if said in ("", name) else f"{name}: {shorten(said, LONGEST_ERROR)}"


def error_text(error: BaseException) -> str:
    """An exception in its own words, all of them.

    >>> error_text(LookupError("no such customer"))
    'LookupError: no such customer'
    """
    name, said = type(error).__name__, as_unicode(own_words(error, str))
    return name if said in ("", name) else f"{name}: {said}"
