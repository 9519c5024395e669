"""Receipts: a stored number has its inputs with it, so that it can be recomputed and compared.

A row of `scores` is one number. `inputs` is everything that its formula needs, the constants in force included; `body`
is the whole Score; `seal` has a mark of every input, of the name and of the subject, so that one that is not what was
recorded can be named. The seal finds mistakes and careless hands. It is not a signature: whoever can write the file
can write a seal.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from math import isfinite
from typing import Any

import msgspec

from scalepan.errors import StoreError
from scalepan.policy.load import leaves
from scalepan.store.ids import new_id

MARK = 8
"""Characters of one mark."""
DIGITS = 20
"""Of the longest number that fits in 64 bits."""


class LostError(StoreError):
    """A number cannot be recomputed: one of its inputs was not stored, or is gone."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """A number on its way into the store."""

    name: str
    value: float | None
    inputs: dict[str, Any]
    body: Any
    """The Score, as plain data."""
    policy_version: str
    model: str | None = None
    tenant: str
    project: str | None = None
    """None: it is the whole tenant's."""
    subject: str | None = None
    """What the number is about: a decision, a claim, a trace, a case."""
    id: str = msgspec.field(default_factory=lambda: new_id("scr"))


def sealed_of(name: str, subject: str | None, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What the seal of a number is made from: its inputs, and which number of what it is."""
    return {**inputs, "name": name, "subject": subject}


def read_object(text: str | None) -> dict[str, Any]:
    """A JSON object as it is kept; an empty one, where none can be read. A number that is too large is a text.

    >>> read_object('{"a": 1, "b": 1e999}'), read_object("[]"), read_object(None)
    ({'a': 1, 'b': '1e999'}, {}, {})
    """
    try:
        found = json.loads(text or "null", parse_int=_whole, parse_float=_real)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= DIGITS and -(2**63) <= int(digits) < 2**64 else digits


def _real(digits: str) -> float | str:
    return float(digits) if isfinite(float(digits)) else digits


def seal(inputs: Mapping[str, Any]) -> str:
    """The marks of all inputs.

    >>> len(seal({"a": 1, "b": {"c": 2.5}})) == 2 * MARK
    True
    """
    return "".join(mark for _, _, mark in _marks(inputs))


def altered(inputs: Mapping[str, Any], sealed: str) -> list[tuple[str, Any]]:
    """Inputs that are not what was sealed: where each stands, and what it is now. One that is gone has no place.

    >>> was = seal({"a": 1, "b": {"c": 2.5}})
    >>> altered({"b": {"c": 2.6}, "a": 1.0}, was)
    [('b.c', 2.6)]
    >>> altered({"a": 1}, was)
    [('', None)]
    """
    known = [sealed[start : start + MARK] for start in range(0, len(sealed), MARK)]
    found = list(_marks(inputs))
    changed = [(path, value) for path, value, mark in found if mark not in known]
    if len(found) < len(known):
        changed.append(("", None))
    return changed


def _marks(inputs: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    for path, value in leaves(inputs):
        # 1 and 1.0 are the same number, whoever wrote the JSON.
        plain = float(value) if type(value) is int else value
        yield path, value, sha256(msgspec.json.encode([path, plain], order="sorted")).hexdigest()[:MARK]
