"""A row of a run as JSON, with every text in it redacted."""

from functools import lru_cache
from typing import Any

import msgspec

from scalepan.redact import Redactor

SHORT = 64


def redacted_json(row: dict[str, object], redactor: Redactor) -> bytes:
    """A row as JSON with every text redacted: alone, and then together with its key, which may announce a secret."""
    plain = _redacted(msgspec.to_builtins(row, enc_hook=str), redactor)
    line = msgspec.json.encode(plain)
    again = redactor.redact(line.decode()).text.encode()
    if again == line:
        return line
    try:
        msgspec.json.decode(again, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError):
        # Redaction broke the JSON syntax, so redact value by value instead.
        return msgspec.json.encode(_redacted(plain, redactor, with_keys=True))
    return again


def _redacted(value: Any, redactor: Redactor, *, with_keys: bool = False) -> Any:
    if isinstance(value, str):
        return _text(redactor, value)
    if isinstance(value, dict):
        return {
            _text(redactor, key): _pair(key, item, redactor)
            if with_keys and not isinstance(item, (dict, list))
            else _redacted(item, redactor, with_keys=with_keys)
            for key, item in value.items()
        }
    return [_redacted(item, redactor, with_keys=with_keys) for item in value] if isinstance(value, list) else value


def _text(redactor: Redactor, text: str) -> str:
    return _short(redactor, text) if len(text) <= SHORT else redactor.redact(text).text


@lru_cache(maxsize=4096)
def _short(redactor: Redactor, text: str) -> str:
    """Keys, names of scorers and the like are the same in every row."""
    return redactor.redact(text).text


def _pair(key: str, value: Any, redactor: Redactor) -> Any:
    """The value, or a placeholder if it is a secret together with its key."""
    pair = msgspec.json.encode({key: value}).decode()
    found = redactor.redact(pair)
    if found.text == pair:
        return value
    try:
        (again,) = msgspec.json.decode(found.text.encode(), type=dict[str, Any]).values()
    except (msgspec.DecodeError, UnicodeError, ValueError):
        return f"[{found.findings[0].category}:{found.findings[0].kind}]"
    return again
