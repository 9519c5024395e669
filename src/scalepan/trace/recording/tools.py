"""Functions that record their own calls wherever a recording is active."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from scalepan.arguments import wrong
from scalepan.trace.recording.recorder import active_recording

P = ParamSpec("P")
R = TypeVar("R")


def recorded_tool(function: Callable[P, R]) -> Callable[P, R]:
    """A function, sync or async, whose calls and results are recorded while a recording is active.

    >>> from scalepan.trace.recording import record
    >>> @recorded_tool
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> with record("Double 21") as t:
    ...     print(double(21))
    42
    >>> t.trace.steps[0].input
    {'number': 21}
    """
    if not callable(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise wrong("recorded_tool", function, "a function that returns; record others by 'with t.tool(name, input)'")
    name, given = getattr(function, "__name__", type(function).__name__), _binder(function)
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
            recording = active_recording()
            if recording is None:
                return await function(*args, **kwargs)
            with recording.tool(name, given(args, kwargs)) as call:
                call.output = result = await function(*args, **kwargs)
            return result

        return cast("Callable[P, R]", awaited)

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        recording = active_recording()
        if recording is None:
            return function(*args, **kwargs)
        with recording.tool(name, given(args, kwargs)) as call:
            call.output = result = function(*args, **kwargs)
        return result

    return called


def _binder(function: Callable[..., Any]) -> Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]:
    """How arguments become the input of a step: by the names of the parameters, without the object of a method."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):  # some functions written in C have none
        return lambda args, kwargs: {"args": list(args), **kwargs} if args else dict(kwargs)

    def given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = dict(signature.bind(*args, **kwargs).arguments)
        except TypeError:  # the call itself will say so
            return {"args": list(args), **kwargs}
        return {name: value for place, (name, value) in enumerate(bound.items()) if place or name not in OBJECTS}

    return given


OBJECTS = ("self", "cls")
