"""The policy as a reader sees it: each constant with its value, unit, range, origin and reason."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from scalepan.check import join, range_of
from scalepan.policy.load import laid, leaves
from scalepan.policy.model import Policy
from scalepan.policy.trust import Layer


class Constant(NamedTuple):
    """One line of the reference."""

    path: str
    value: Any
    unit: str
    range: str
    why: str

    @property
    def shown(self) -> str:
        """The value as a policy file would write it."""
        return json.dumps(self.value, ensure_ascii=False) if not isinstance(self.value, str) else self.value or '""'

    @property
    def legal(self) -> str:
        """Range and unit in words: `at least 1 step`; a share is always from 0 to 1."""
        if self.unit == "share":
            return "share"
        unit = self.unit
        if self.range.endswith(" 1") and len(unit) > 2:  # not of s and ms
            unit = unit.removesuffix("s")
        return " ".join(word for word in (self.range, unit) if word)


def constants(policy: Policy) -> list[Constant]:
    """Every constant of a policy, in the order of the sections."""
    return list(_walk(msgspec.to_builtins(policy), inspect.type_info(Policy), "", ""))


def origins(layers: Iterable[Layer]) -> dict[str, str]:
    """Which layer set a constant last, by path; the rest is built in. Keys that a layer may not set do not count."""
    found: dict[str, str] = {}
    for layer, before, after in laid(layers):
        for path, value in leaves(layer.values):
            if after.get(path) == value or (path in before and before[path] != after.get(path)):
                found[path] = layer.origin
    return found


def _walk(value: Any, info: inspect.Type, path: str, why: str, unit: str = "") -> Iterator[Constant]:
    match info:
        case inspect.Metadata():
            text = (info.extra_json_schema or {}).get("description", why)
            yield from _walk(value, info.type, path, text, (info.extra or {}).get("unit", unit))
        case inspect.StructType() if value is not None:
            for field in info.fields:
                yield from _walk(value[field.encode_name], field.type, join(path, field.name), "")
        case inspect.DictType() if isinstance(value, Mapping) and value:
            for key, item in value.items():
                yield from _walk(item, info.value_type, join(path, str(key)), why)
        case inspect.UnionType():
            # The only unions here are "or null"; describe the other half.
            (other,) = (option for option in info.types if not isinstance(option, inspect.NoneType))
            yield from _walk(value, other, path, why, unit)
        case _:
            yield Constant(path, value, unit, _range(info), why)


def _range(info: inspect.Type) -> str:
    match info:
        case inspect.FloatType() | inspect.IntType():
            return range_of(info)
        case inspect.LiteralType():
            return ", ".join(map(str, info.values))
        case inspect.BoolType():
            return "true, false"
        case _:
            return ""
