"""Does this data fit this type, and if not, where and why? One walker for traces, policies and whatever comes in.

msgspec decodes fast and stops at the first fault. This module is what runs after it said no: it finds every fault,
with its path, its value and what would have been legal.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import Any, NamedTuple, get_args

import msgspec
from msgspec import inspect

from karat.errors import did_you_mean, quoted


class Problem(NamedTuple):
    """One fault: where it is (`steps[3].type`) and what it is."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def problems(raw: object, type_: Any) -> list[Problem]:
    """Every reason why `raw` does not fit `type_`, in the order of the data; empty if it fits.

    >>> from typing import Literal
    >>> problems({"a": ["x", "z"]}, dict[str, list[Literal["x", "y"]]])
    [Problem(path='a[1]', message="'z' is not one of x, y")]
    """
    return list(_walk(raw, _type_info(type_), ""))


# Looking a type up costs more than walking it, and one bad row is often followed by many.
_type_info = cache(inspect.type_info)


def in_order(literal: Any) -> msgspec.Meta:
    """Keeps the order of a Literal's values for error messages; msgspec sorts them.

    Use: `Annotated[StepType, in_order(StepType)]`.
    """
    return msgspec.Meta(extra={"order": get_args(literal)})


def json_schema(type_: Any) -> dict[str, Any]:
    """JSON Schema of a type, for editors; of each docstring only the first line."""
    document: dict[str, Any] = msgspec.json.schema(type_, schema_hook=lambda _: {"type": "object"})
    for definition in document.get("$defs", {}).values():
        if "description" in definition:
            definition["description"] = definition["description"].splitlines()[0]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}


def join(path: str, key: str | int) -> str:
    """`a` and `b` -> `a.b`; `a` and 3 -> `a[3]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _walk(raw: object, info: inspect.Type, path: str) -> Iterator[Problem]:
    match info:
        case inspect.Metadata():
            order = (info.extra or {}).get("order")
            if order and raw not in order:
                yield Problem(path, _not_one_of(raw, order))
            else:
                yield from _walk(raw, info.type, path)
        case inspect.StructType():
            yield from _walk_struct(raw, info, path)
        case inspect.ListType() | inspect.VarTupleType():
            yield from _walk_list(raw, info, path)
        case inspect.DictType():
            yield from _walk_dict(raw, info, path)
        case inspect.UnionType():
            yield from _walk_union(raw, info, path)
        case inspect.AnyType() | inspect.CustomType():
            return
        case _:
            message = _leaf_fault(raw, info)
            if message:
                yield Problem(path, message)


def _walk_list(raw: object, info: inspect.ListType | inspect.VarTupleType, path: str) -> Iterator[Problem]:
    if not isinstance(raw, Sequence) or isinstance(raw, (str, bytes)):
        yield Problem(path, f"{quoted(raw)} is not a list")
    elif len(raw) < (info.min_length or 0):
        yield Problem(path, "is empty; at least one is needed")
    else:
        for index, item in enumerate(raw):
            yield from _walk(item, info.item_type, join(path, index))


def _walk_dict(raw: object, info: inspect.DictType, path: str) -> Iterator[Problem]:
    if not isinstance(raw, Mapping):
        yield Problem(path, f"{quoted(raw)} is not an object")
        return
    for key, item in raw.items():
        yield from _walk(key, info.key_type, join(path, str(key)))
        yield from _walk(item, info.value_type, join(path, str(key)))


def _walk_struct(raw: object, info: inspect.StructType, path: str) -> Iterator[Problem]:
    if not isinstance(raw, Mapping):
        yield Problem(path, f"{quoted(raw)} is not an object")
        return
    fields = {field.encode_name: field for field in info.fields}
    unknown = [str(key) for key in raw if key not in fields] if info.forbid_unknown_fields else []
    faults = [Problem(join(path, key), f"unknown key{did_you_mean(key, list(fields))}") for key in unknown]
    for name, field in fields.items():
        if name in raw:
            faults += _walk(raw[name], field.type, join(path, name))
        elif field.required:
            faults.append(Problem(join(path, name), "is missing"))
    if not faults:
        # Each key fits, so what can still be wrong is a rule about the whole: weights that must add up to 1.
        try:
            msgspec.convert(raw, info.cls)
        except msgspec.ValidationError as error:
            faults.append(Problem(path, str(error).partition(" - at `")[0]))
    yield from faults


def _walk_union(raw: object, info: inspect.UnionType, path: str) -> Iterator[Problem]:
    if raw is None and info.includes_none:
        return
    options = [option for option in info.types if not isinstance(option, inspect.NoneType)]
    attempts = [list(_walk(raw, option, path)) for option in options]
    if all(attempts):
        # The option that got furthest is the one that was meant.
        yield from max(attempts, key=lambda faults: len(faults[0].path))


def _leaf_fault(raw: object, info: inspect.Type) -> str | None:
    """What is wrong with a single value, or None."""
    match info:
        case inspect.LiteralType():
            if raw not in info.values:
                return _not_one_of(raw, info.values)
        case inspect.BoolType():
            if not isinstance(raw, bool):
                return f"{quoted(raw)} is not true or false"
        case inspect.FloatType() | inspect.IntType():
            return _number_fault(raw, info)
        case inspect.StrType():
            return _text_fault(raw, info)
        case inspect.NoneType():
            if raw is not None:
                return f"{quoted(raw)} is not null"
        case _:
            raise NotImplementedError(f"check does not know {info}")
    return None


def _not_one_of(raw: object, legal: Sequence[object]) -> str:
    return f"{quoted(raw)} is not one of {', '.join(map(str, legal))}"


def _number_fault(raw: object, info: inspect.FloatType | inspect.IntType) -> str | None:
    whole = isinstance(info, inspect.IntType)
    if isinstance(raw, bool) or not isinstance(raw, int if whole else (int, float)):
        return f"{quoted(raw)} is not a {'whole ' if whole else ''}number"
    if isinstance(raw, float) and not isfinite(raw):
        return f"{raw} is not a finite number"
    lowest, above, highest, below = info.ge, info.gt, info.le, info.lt
    fits = (
        (lowest is None or raw >= lowest)
        and (above is None or raw > above)
        and (highest is None or raw <= highest)
        and (below is None or raw < below)
    )
    return None if fits else f"{quoted(raw)} is not {range_of(info)}"


def range_of(info: inspect.FloatType | inspect.IntType) -> str:
    """The legal numbers in words: `between 0 and 1`, `at least 0`, `more than 0`."""
    low = f"at least {info.ge:g}" if info.ge is not None else f"more than {info.gt:g}" if info.gt is not None else ""
    high = f"at most {info.le:g}" if info.le is not None else f"less than {info.lt:g}" if info.lt is not None else ""
    if info.ge is not None and info.le is not None:
        return f"between {info.ge:g} and {info.le:g}"
    return " and ".join(bound for bound in (low, high) if bound)


def _text_fault(raw: object, info: inspect.StrType) -> str | None:
    if not isinstance(raw, str):
        return f"{quoted(raw)} is not text"
    if len(raw) < (info.min_length or 0):
        return "is empty"
    if info.pattern is not None and re.search(info.pattern, raw) is None:
        prefix = info.pattern.removeprefix("^")
        if info.pattern.startswith("^") and re.escape(prefix) == prefix:
            return f"{quoted(raw)} does not start with '{prefix}'"
        return f"{quoted(raw)} does not match {info.pattern}"
    return None
