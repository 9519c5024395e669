"""Values as OTLP writes them: typed attributes, ids in hex or base64, times in nanoseconds."""

import base64
import binascii
from typing import Any

from scalepan.trace.readers.build import utc
from scalepan.trace.readers.lenient import items, mapping, objects, text

_DEEPEST = 64
_LARGEST = 2**63 - 1
# Bytes of a trace id and a span id in hex, and in the base64 that protobuf's own JSON has.
_HEX = (32, 16)
_BASE64 = (24, 12)


def any_value(value: Any, depth: int = 0) -> Any:
    """An AnyValue as plain data; None for what is empty, unknown, or nested too deeply.

    >>> any_value({"kvlistValue": {"values": [{"key": "n", "value": {"intValue": "5"}}]}})
    {'n': 5}
    """
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    for kind, held in value.items():
        match kind:
            case "stringValue":
                return held if isinstance(held, str) else None
            case "intValue":
                return whole_number(held)
            case "doubleValue" | "boolValue":
                return held if isinstance(held, (bool, int, float)) else None
            case "arrayValue":
                return [any_value(item, depth + 1) for item in items(mapping(held).get("values"))]
            case "kvlistValue":
                return attributes(mapping(held).get("values"), depth + 1)
            case "bytesValue":
                return "[data]"
    return None


def attributes(pairs: Any, depth: int = 0) -> dict[str, Any]:
    """A list of keys and values as an object."""
    return {pair["key"]: any_value(pair.get("value"), depth) for pair in objects(pairs) if text(pair.get("key"))}


def whole_number(value: Any) -> int | None:
    """A 64-bit number, which JSON has as a string, because its own numbers are too short.

    >>> whole_number("5"), whole_number(5), whole_number("five")
    (5, 5, None)
    """
    if isinstance(value, str) and len(value) <= 20 and value.lstrip("-").isdecimal():
        try:
            value = int(value)
        except ValueError:
            return None
    return value if type(value) is int and -_LARGEST <= value <= _LARGEST else None


def nanoseconds(value: Any) -> int:
    """A time since 1970; 0 if it is not known."""
    return max(whole_number(value) or 0, 0)


def when(nanos: int) -> str | None:
    """The same as text."""
    return utc(nanos / 1e9) if nanos else None


def hex_id(value: Any) -> str | None:
    """The id of a trace or a span: OTLP JSON writes hex, protobuf's own JSON base64. None if it is empty or zero.

    >>> hex_id("00F067AA0BA902B7"), hex_id("APBnqgupArc="), hex_id("0000000000000000")
    ('00f067aa0ba902b7', '00f067aa0ba902b7', None)
    """
    written = text(value)
    if written is None:
        return None
    if len(written) in _BASE64:
        try:
            written = base64.b64decode(written, validate=True).hex()
        except (binascii.Error, ValueError):
            return written
    elif len(written) in _HEX:
        written = written.lower()
    return written if written.strip("0") else None
