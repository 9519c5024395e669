"""What callers are shown of an operation: the fields of its request, without who asks, which a door knows itself.

An operation's request is described once, with a description and bounds on each field. Methods of Memory, options of the
command, HTTP bodies and MCP tools are made from that description. A field is shown at every door unless `HIDDEN` says
otherwise.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from inspect import Parameter, Signature
from typing import Any, Literal, get_type_hints

import msgspec
from msgspec import NODEFAULT, inspect
from msgspec.structs import FieldInfo

Door = Literal["python", "command", "tool"]
"""A tool is called over MCP or HTTP."""

WHO_ASKS = ("who", "overlay")
HIDDEN: Mapping[Door, Mapping[str, tuple[str, ...]]] = {
    "python": {
        "memory.activate": ("diverse",),  # an active context always is
    },
    "command": {
        "memory.search": ("at",),
        "memory.activate": ("at", "diverse"),
        "memory.list": ("after",),
        # What another store says of its claims comes in a file.
        "memory.add": ("utility", "quality", "provenance", "id", "created_at", "updated_at"),
    },
    "tool": {
        "memory.search": ("at", "diverse", "why"),
        "memory.activate": ("at", "diverse", "why"),
        "memory.add": ("utility", "quality", "provenance", "id", "created_at", "updated_at"),
    },
}


@cache
def shown(door: Door, operation: str, request: type[msgspec.Struct]) -> tuple[FieldInfo, ...]:
    """The fields that a door shows, those first that are given by position."""
    hidden = {*WHO_ASKS, *HIDDEN[door].get(operation, ())}
    fields = {field.name: field for field in msgspec.structs.fields(request)}
    return tuple(field for name, field in fields.items() if name not in hidden)


def described(type_: Any) -> tuple[inspect.Type, str]:
    """What a field holds, where it holds something, and its description.

    >>> from typing import Annotated
    >>> described(Annotated[int | None, msgspec.Meta(description="How many.")])
    (IntType(gt=None, ge=None, lt=None, le=None, multiple_of=None), 'How many.')
    """
    return held(inspect.type_info(type_))


def held(info: inspect.Type) -> tuple[inspect.Type, str]:
    """The same for what msgspec says of a type."""
    description = ""
    while isinstance(info, (inspect.Metadata, inspect.UnionType)):
        if isinstance(info, inspect.Metadata):
            description = description or (info.extra_json_schema or {}).get("description", "")
            if "order" in (info.extra or {}):  # msgspec sorts what may be chosen; see check.in_order
                return inspect.LiteralType(tuple(info.extra["order"])), description  # type: ignore[index]
            info = info.type
        else:
            kinds = [one for one in info.types if not isinstance(one, inspect.NoneType)]
            if len(kinds) > 1:
                break
            info = kinds[0]
    return info, description


@cache
def signature(operation: str, request: type[msgspec.Struct]) -> Signature:
    """The arguments of a method that does an operation."""
    plain = get_type_hints(request)
    by_name = {one.name for one in Signature.from_callable(request).parameters.values() if one.kind is one.KEYWORD_ONLY}
    parameters = [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY if field.name in by_name else Parameter.POSITIONAL_OR_KEYWORD,
            default=Parameter.empty if field.default is NODEFAULT else field.default,
            annotation=plain[field.name],
        )
        for field in shown("python", operation, request)
    ]
    return Signature([Parameter("self", Parameter.POSITIONAL_ONLY), *parameters])


def documented(text: str | None, operation: str, request: type[msgspec.Struct]) -> str:
    """A docstring with a line for each argument."""
    fields = [(field.name, described(field.type)[1]) for field in shown("python", operation, request)]
    return "\n\n".join([text or "", "\n".join(f"{name}: {said}" for name, said in fields if said)])


Field = tuple[str, Any] | tuple[str, Any, Any]


def request_of_tool(
    operation: str,
    request: type[msgspec.Struct],
    *,
    more: Iterable[Field] = (),
    check: Callable[[Any], None] | None = None,
) -> type[msgspec.Struct]:
    """The request of a tool that does an operation. `more` belongs to the tool alone, and so does the rule `check`."""
    fields = [_as_field(field) for field in shown("tool", operation, request)]
    rules = {"__post_init__": check} if check is not None else {}
    name = operation.rpartition(".")[2].title().replace("_", "")
    return _struct(name, request.__doc__, [*fields, *more], (), forbid_unknown_fields=True, namespace=rules)


def answer_of_tool(response: type[msgspec.Struct], envelope: type[msgspec.Struct]) -> type[Any]:
    """The answer of a tool that gives what the operation gives, in an envelope. Nothing of it is ever left out."""
    fields: list[Field] = [(field.name, field.type) for field in msgspec.structs.fields(response)]
    return _struct(response.__name__, response.__doc__, fields, (envelope,))


def part(struct: type[msgspec.Struct], *names: str) -> list[Field]:
    """Some fields of a struct, to be fields of another."""
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    return [_as_field(fields[name]) for name in names]


def _as_field(field: FieldInfo) -> Field:
    if field.default is not NODEFAULT:
        return (field.name, field.type, field.default)
    if field.default_factory is not NODEFAULT:
        return (field.name, field.type, msgspec.field(default_factory=field.default_factory))
    return (field.name, field.type)


def _struct(
    name: str, doc: str | None, fields: list[Field], bases: tuple[type[msgspec.Struct], ...], **more: Any
) -> type[msgspec.Struct]:
    namespace = {"__doc__": doc, **more.pop("namespace", {})}
    return msgspec.defstruct(
        name, fields, bases=bases or None, namespace=namespace, module=__name__, frozen=True, kw_only=True, **more
    )
