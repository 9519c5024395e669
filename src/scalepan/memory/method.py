"""A method of Memory that does one operation: its arguments are the fields of the operation's request."""

from collections.abc import Callable, Mapping
from functools import cache, wraps
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

import msgspec
from msgspec import inspect

from scalepan.arguments import as_names
from scalepan.check import Fault, problems
from scalepan.doors import described, documented, shown, signature
from scalepan.errors import InputError, did_you_mean, own_words
from scalepan.store.operation import Operation
from scalepan.store.request import traced

if TYPE_CHECKING:
    from scalepan.memory.memory import Memory

P = ParamSpec("P")
R = TypeVar("R")
Req = TypeVar("Req", bound=msgspec.Struct)
Resp = TypeVar("Resp", bound=msgspec.Struct)


@overload
def does(
    operation: Operation[Req, Resp], request: Callable[P, Req]
) -> Callable[[Callable[[Any, Resp], R]], Callable[Concatenate[Any, P], R]]: ...


@overload
def does(operation: Operation[Any, Resp]) -> Callable[[Callable[[Any, Resp], R]], Callable[..., R]]: ...


def does(operation: Operation[Any, Any], request: Callable[..., Any] | None = None) -> Any:
    """Make a method of a function from the response to what the method returns.

    `request` is the operation's own, for type checkers; it is left out where callers may give plain data instead.

    @does(GET, Get)
    def get(self, found: Got) -> Claim:
        '''One claim.'''
        return found.claim
    """
    type_: type[msgspec.Struct] = operation.request
    if request not in (None, type_):
        raise TypeError(f"{operation} takes {type_}, not {request}")
    described_as = signature(operation.name, type_)
    arguments = list(described_as.parameters.values())[1:]
    positional = [one.name for one in arguments if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    names = frozenset(one.name for one in arguments)

    def made(read: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        @wraps(read)
        def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            values = dict(zip(positional, args, strict=False))
            if len(args) > len(positional) or values.keys() & kwargs.keys():
                described_as.bind(self, *args, **kwargs)  # raises what Python itself would
            if not kwargs.keys() <= names:
                (unknown, *_) = (name for name in kwargs if name not in names)
                raise InputError(f"unknown key{did_you_mean(unknown, list(names))}", path=unknown)
            return read(self, do(self, operation, checked(type_, {**values, **kwargs})))

        call.__signature__ = described_as  # type: ignore[attr-defined]
        call.__doc__ = documented(read.__doc__, operation.name, type_)
        return call

    return made


def do(memory: "Memory", operation: Operation[Req, Resp], request: Req) -> Resp:
    """Do an operation as the caller whose memory it is."""
    return memory.store.call(operation, traced(asked_by(memory, request)))


def asked_by(memory: "Memory", request: Req) -> Req:
    """A request that says who asks."""
    return msgspec.structs.replace(request, who=memory.who, overlay=memory.overlay)


def do_for_tool(memory: "Memory", operation: Operation[Req, Resp], request: msgspec.Struct) -> Resp:
    """Do an operation that a tool was asked for. What the tool took is not checked again: its types are the same."""
    fields = shown("tool", operation.name, operation.request)
    return do(memory, operation, operation.request(**{field.name: getattr(request, field.name) for field in fields}))


def checked(type_: type[Req], values: Mapping[str, Any]) -> Req:
    """A request of what a caller gave; what is wrong with it is an InputError that names the field."""
    words = _words(type_)
    plain = {
        name: list(as_names(name, value)) if isinstance(value, tuple) or name in words else value
        for name, value in values.items()
        if value is not None
    }
    # What is not data at all, such as a function, becomes its own words, which no field takes for a number.
    try:
        plain = msgspec.to_builtins(plain, enc_hook=own_words)
    except (TypeError, RecursionError, UnicodeError) as error:
        raise InputError(f"a request is plain data: {error}") from None
    return converted(plain, type_)


def converted(data: Any, type_: type[Req], id_: str | None = None) -> Req:
    """Plain data as a struct. msgspec stops at the first fault; where there is one, all are found and told."""
    try:
        return msgspec.convert(data, type_)
    except (msgspec.ValidationError, UnicodeError) as error:
        faults = problems(data, type_) or [Fault("", str(error))]
        told = InputError(faults[0].message, id=id_, path=faults[0].path, more=[str(fault) for fault in faults[1:]])
        told.noun = "claim"
        raise told from None


@cache
def _words(type_: type[msgspec.Struct]) -> frozenset[str]:
    """Fields that are lists of words: for these one word alone is a list of one."""
    fields = ((field.name, described(field.type)[0]) for field in msgspec.structs.fields(type_))
    lists = ((name, info) for name, info in fields if isinstance(info, inspect.ListType))
    return frozenset(name for name, info in lists if not isinstance(info.item_type, inspect.StructType))
