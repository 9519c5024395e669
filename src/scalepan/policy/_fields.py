"""How a constant is written down: its type, its unit, its range, and one line of why."""

from functools import cached_property
from hashlib import sha256
from typing import Any

import msgspec


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """A group of constants. Immutable, and strict about unknown keys."""

    @cached_property
    def label_and_hash(self) -> str:
        """Its version: the user's label, if there is one, and a hash of its content. Made once, for it never changes.

        `2026-q4+1f0c9a3b22de`, or the hash alone.
        """
        content = msgspec.to_builtins(self)
        label = content.pop("version", None)
        digest = sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:12]
        return f"{label}+{digest}" if label else digest


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
