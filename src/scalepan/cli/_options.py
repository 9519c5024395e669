"""Options of a command, from the fields of the request that it makes: names, types, bounds, choices and help."""

from collections.abc import Callable, Collection
from typing import Any

import click
import msgspec
from msgspec import NODEFAULT, inspect
from msgspec.structs import FieldInfo

from scalepan.doors import described, held, shown
from scalepan.store.operation import Operation

SPELLED = {"k": "-k", "scopes": "--scope", "kinds": "--kind", "boundary_class": "--class"}
"""Where an option is not the field's name. A list is an option that may be repeated, so its name is of one."""
METAVARS = {
    "why": "CLAIM",
    "of": "CLAIM",
    "supersedes": "CLAIM",
    "context": "CONTEXT",
    "kinds": "KIND",
    **dict.fromkeys(("as_of", "said_at", "valid_from", "valid_until"), "TIME"),
}


def options_of(
    operation: Operation[Any, Any],
    request: type[msgspec.Struct] | None = None,
    *,
    without: Collection[str] = (),
    optional: Collection[str] = (),
) -> Callable[[Any], Any]:
    """Arguments for the fields that a request needs, options for the others.

    `request` is the operation's own, or what the command makes of it; `without` are fields that the command has options
    of its own for, `optional` are arguments that may be left out.
    """
    fields = [field for field in _fields(operation, request) if field.name not in without]

    def decorate(command: Any) -> Any:
        for field in reversed(fields):
            if field.required:
                command = _argument(field, required=field.name not in optional)(command)
            else:
                command = _option(field)(command)
        return command

    return decorate


def given(
    operation: Operation[Any, Any], options: dict[str, Any], request: type[msgspec.Struct] | None = None
) -> dict[str, Any]:
    """What the caller said for the fields of a request, taken out of the options of its command."""
    names = [field.name for field in _fields(operation, request)]
    said = {name: options.pop(name) for name in names if name in options}
    return {name: value for name, value in said.items() if value is not None and value != () and value is not False}


def _fields(operation: Operation[Any, Any], request: type[msgspec.Struct] | None) -> tuple[FieldInfo, ...]:
    type_: type[msgspec.Struct] = request or operation.request
    return shown("command", operation.name, type_)


def _argument(field: FieldInfo, *, required: bool) -> Any:
    type_, _ = described(field.type)
    if isinstance(type_, inspect.ListType):
        return click.argument(field.name, nargs=-1, required=required, type=_click_type(type_.item_type))
    return click.argument(field.name, required=required, type=_click_type(type_))


def _option(field: FieldInfo) -> Any:
    type_, description = described(field.type)
    spelled = SPELLED.get(field.name, "--" + field.name.replace("_", "-"))
    about: dict[str, Any] = {"help": description or None, "metavar": METAVARS.get(field.name)}
    if isinstance(type_, inspect.BoolType):
        return click.option(spelled, field.name, is_flag=True, default=None, help=about["help"])
    if isinstance(type_, inspect.ListType):
        return click.option(spelled, field.name, multiple=True, type=_click_type(type_.item_type), **about)
    if field.default not in (None, NODEFAULT):
        about |= {"default": field.default, "show_default": True}
    return click.option(spelled, field.name, type=_click_type(type_), **about)


class _ShownIntRange(click.IntRange):
    """Help shows the bounds; the request's own check holds them, in the words that it has everywhere."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return click.INT.convert(value, param, ctx)


class _ShownFloatRange(click.FloatRange):
    """The same for other numbers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return click.FLOAT.convert(value, param, ctx)


def _click_type(info: inspect.Type) -> Any:
    match info:
        case inspect.Metadata():
            return _click_type(held(info)[0])
        case inspect.LiteralType():
            return click.Choice([str(value) for value in info.values])
        case inspect.IntType():
            return _ShownIntRange(info.ge, info.le)
        case inspect.FloatType():
            return _ShownFloatRange(info.ge, info.le)
        case _:
            return click.STRING
