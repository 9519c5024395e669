"""Does this data fit this type, and if not, where and why? One walker for traces, policies and all other input.

msgspec decodes fast and stops at the first fault. This module runs after it has failed: it finds every fault,
with its path, its value and what would have been legal.
"""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple, get_args

import msgspec
from msgspec import inspect

from scalepan.errors import InputError, did_you_mean, quoted, shorten
from scalepan.names import misspelled

MOST_FAULTS = 1000
"""The most faults reported of one input."""
MOST_HINTS, LONGEST_HINTED = 20, 64
"""Suggestions are slow to compute, and nobody reads more than twenty, or one for a word as long as a page."""


class Fault(NamedTuple):
    """One fault: where it is (`steps[3].type`) and what it is."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def problems(raw: object, type_: Any) -> list[Fault]:
    """Every reason why `raw` does not fit `type_`, in the order of the data; empty if it fits. A thousand are enough.

    >>> from typing import Literal
    >>> problems({"a": ["x", "z"]}, dict[str, list[Literal["x", "y"]]])
    [Fault(path='a[1]', message="'z' is not one of x, y")]
    """
    walk = _walk(raw, _type_info(type_), "", _Hints())
    faults = list(islice(walk, MOST_FAULTS))
    if next(walk, None) is not None:
        faults.append(Fault("", f"there are more than {MOST_FAULTS:,} faults; the others are not listed"))
    return faults


_resolving = threading.RLock()


def resolved(*types: Any) -> None:
    """Let msgspec resolve these types now, one thread at a time. Call it on import of a module that decodes into them.

    msgspec resolves a struct when something is first decoded into it, and other threads can see the half-filled result:
    eight threads that loaded their first policy at once crashed the interpreter. A resolved type is only read.
    """
    with _resolving:
        for type_ in types:
            # A request that never leaves its process may have a type that msgspec cannot decode.
            with suppress(TypeError):
                msgspec.json.Decoder(type_)


@cache
def _type_info(type_: Any) -> inspect.Type:
    # Resolving a type costs more than walking it, and one bad row is often followed by many.
    resolved(type_)
    return inspect.type_info(type_)


def read_json(data: bytes | str) -> Any:
    """Plain data from JSON text; InputError says what is wrong."""
    try:
        return msgspec.json.decode(data)
    except UnicodeError:
        raise InputError("is not UTF-8 text") from None
    except RecursionError:
        raise InputError("is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise InputError(f"not JSON: {error}") from None


def in_order(literal: Any) -> msgspec.Meta:
    """Keeps the order of a Literal's values for error messages; msgspec sorts them.

    Use: `Annotated[StepType, in_order(StepType)]`.
    """
    return msgspec.Meta(extra={"order": get_args(literal)})


def json_schema(type_: Any) -> dict[str, Any]:
    """JSON Schema of a type, for editors, with the first line of each docstring."""
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


class _Hints:
    """Suggestions for the first few unknown keys."""

    def __init__(self) -> None:
        self._left = MOST_HINTS

    def of(self, key: str, legal: Sequence[str]) -> str:
        if self._left == 0 or len(key) > LONGEST_HINTED:
            return ""
        self._left -= 1
        return did_you_mean(key, legal)


def _walk(raw: object, info: inspect.Type, path: str, hints: _Hints) -> Iterator[Fault]:
    match info:
        case inspect.Metadata():
            extra = info.extra or {}
            if "order" in extra and raw not in extra["order"]:
                yield Fault(path, _not_one_of(raw, extra["order"]))
            elif "legal" in extra and isinstance(raw, str):
                fault = misspelled(raw, getattr(info.type, "pattern", None) or "", extra["legal"])
                if fault:
                    yield Fault(path, fault)
            else:
                yield from _walk(raw, info.type, path, hints)
        case inspect.StructType():
            yield from _walk_struct(raw, info, path, hints)
        case inspect.ListType() | inspect.VarTupleType():
            yield from _walk_list(raw, info, path, hints)
        case inspect.DictType():
            yield from _walk_dict(raw, info, path, hints)
        case inspect.UnionType():
            yield from _walk_union(raw, info, path, hints)
        case inspect.AnyType() | inspect.CustomType():
            return
        case _:
            message = _leaf_fault(raw, info)
            if message:
                yield Fault(path, message)


def _walk_list(raw: object, info: inspect.ListType | inspect.VarTupleType, path: str, hints: _Hints) -> Iterator[Fault]:
    if not isinstance(raw, Sequence) or isinstance(raw, (str, bytes)):
        yield Fault(path, f"{quoted(raw)} is not a list")
    elif len(raw) < (info.min_length or 0):
        yield Fault(path, "is empty; at least one is needed")
    else:
        for index, item in enumerate(raw):
            yield from _walk(item, info.item_type, join(path, index), hints)


def _walk_dict(raw: object, info: inspect.DictType, path: str, hints: _Hints) -> Iterator[Fault]:
    if not isinstance(raw, Mapping):
        yield Fault(path, f"{quoted(raw)} is not an object")
        return
    for key, item in raw.items():
        here = join(path, shorten(str(key)))
        yield from _walk(key, info.key_type, here, hints)
        yield from _walk(item, info.value_type, here, hints)


def _walk_struct(raw: object, info: inspect.StructType, path: str, hints: _Hints) -> Iterator[Fault]:
    if not isinstance(raw, Mapping):
        yield Fault(path, f"{quoted(raw)} is not an object")
        return
    fields = {field.encode_name: field for field in info.fields}
    fits = True
    for fault in _walk_fields(raw, info, fields, path, hints):
        fits = False
        yield fault
    if fits:
        # Each key fits, so only a rule about the whole can be broken: weights that must add up to 1.
        try:
            msgspec.convert(raw, info.cls)
        except msgspec.ValidationError as error:
            yield Fault(path, str(error).partition(" - at `")[0])


def _walk_fields(
    raw: Mapping[Any, Any], info: inspect.StructType, fields: Mapping[str, inspect.Field], path: str, hints: _Hints
) -> Iterator[Fault]:
    unknown = (str(key) for key in raw if key not in fields) if info.forbid_unknown_fields else ()
    for key in unknown:
        yield Fault(join(path, shorten(key)), f"unknown key{hints.of(key, list(fields))}")
    for name, field in fields.items():
        if name in raw:
            yield from _walk(raw[name], field.type, join(path, name), hints)
        elif field.required:
            yield Fault(join(path, name), "is missing")


def _walk_union(raw: object, info: inspect.UnionType, path: str, hints: _Hints) -> Iterator[Fault]:
    if raw is None and info.includes_none:
        return
    options = [option for option in info.types if not isinstance(option, inspect.NoneType)]
    attempts = [_walk(raw, option, path, hints) for option in options]
    firsts = [next(attempt, None) for attempt in attempts]
    found = [(first, attempt) for first, attempt in zip(firsts, attempts, strict=True) if first is not None]
    if len(found) == len(options):
        # The option that got furthest is the one most likely meant.
        first, others = max(found, key=lambda one: len(one[0].path))
        yield first
        yield from others


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
