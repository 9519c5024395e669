"""How a constant is written down: its type, its unit, its range, and one line of why."""

from typing import Any

import msgspec


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A group of constants. Immutable, and strict about unknown keys."""


def number(why: str, unit: str, **bounds: float) -> msgspec.Meta:
    """A number with a unit; bounds as msgspec names them: ge, gt, le, lt."""
    # msgspec types each bound as int or float, which a dict of bounds cannot express.
    limits: dict[str, Any] = bounds
    return msgspec.Meta(description=why, extra={"unit": unit}, extra_json_schema={"x-unit": unit}, **limits)


def share(why: str) -> msgspec.Meta:
    """A number from 0 to 1."""
    return number(why, "share", ge=0, le=1)


def count(why: str, unit: str, at_least: int = 0) -> msgspec.Meta:
    """A whole number of something."""
    return number(why, unit, ge=at_least)


def choice(why: str) -> msgspec.Meta:
    """A name, a switch or a table of them."""
    return msgspec.Meta(description=why)
