"""Request ids: a call that is retried carries the id of the first attempt, and is applied once."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import NamedTuple
from uuid import uuid4

from scalepan.errors import InputError, quoted

ID = re.compile(r"([\w.:/-]{1,200})(?:#\d{1,9})?", re.ASCII)


class CallId(NamedTuple):
    """The id of one call, and whether that call may have been made before."""

    id: str
    repeated: bool


class _Request:
    """Numbers the calls of one request: `3f2a…`, `3f2a…#2`, `3f2a…#3`.

    The first has the bare id, so that a single call can be repeated as a request.
    """

    def __init__(self, base: str, *, repeated: bool) -> None:
        self._base = base
        self._repeated = repeated
        self._numbers = count(1)

    def next(self) -> CallId:
        number = next(self._numbers)
        return CallId(self._base if number == 1 else f"{self._base}#{number}", self._repeated)


_current: ContextVar[_Request | None] = ContextVar("scalepan_request", default=None)


def next_call() -> CallId:
    """The id of the next call: numbered within a request, else a new one."""
    request = _current.get()
    return request.next() if request is not None else own_id()


def own_id() -> CallId:
    """The id of a call outside any request."""
    return CallId(uuid4().hex, repeated=False)


def checked_id(text: str) -> str:
    """A request id, checked."""
    if not ID.fullmatch(text):
        raise InputError(f"{quoted(text)} is not a request id: 1 to 200 letters, digits or any of . _ : / -")
    return text


@contextmanager
def new_request() -> Iterator[None]:
    """The calls in this block can be repeated together, by `same_request` with the id that an UnansweredError names."""
    with _numbered(_Request(uuid4().hex, repeated=False)):
        yield


@contextmanager
def same_request(id_: str) -> Iterator[None]:
    """The calls in this block may have been made before under this id, or one that an UnansweredError named.

    The calls that may write are numbered, so the same steps must come in the same order; those that were applied are
    answered as they were then, for a day, and the others are applied now. A new request needs a new id.
    """
    with _numbered(_Request(checked_id(id_).partition("#")[0], repeated=True)):
        yield


@contextmanager
def _numbered(request: _Request) -> Iterator[None]:
    token = _current.set(request)
    try:
        yield
    finally:
        _current.reset(token)
