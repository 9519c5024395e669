"""Failures of a recording that must not become failures of the agent: a warning, and the agent goes on."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, TypeVar

from scalepan.errors import RecordingWarning, named

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def quietly(where: str) -> Iterator[None]:
    """Turn an exception into a warning that names where it happened."""
    try:
        yield
    except Exception as error:
        # Where warnings are errors, the agent still goes on.
        with suppress(RecordingWarning):
            warnings.warn(f"{where}: not recorded: {named(error)}", RecordingWarning, stacklevel=4)


def quiet(method: F) -> F:
    """A callback that a framework calls: whatever fails in it is a warning, and the answer is None."""

    @wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        with quietly(method.__name__):
            return method(*args, **kwargs)

    return called  # type: ignore[return-value]
