"""How does data that is made batch by batch reach any Arrow library? By Arrow's C stream interface, in constant memory.

nanoarrow exports batches that exist already. These are made while the consumer asks for them, so the four functions of
the interface are given to it from here; what they hand over are nanoarrow's own batches.
"""

import ctypes
import errno
from collections.abc import Callable, Iterator
from contextlib import suppress
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p
from itertools import count
from typing import Any

from scalepan.errors import ScalepanError, named

_STREAM, _SCHEMA, _ARRAY = b"arrow_array_stream", b"arrow_schema", b"arrow_array"


class _CSchema(ctypes.Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("format", "name", "metadata")),
        *((name, c_int64) for name in ("flags", "n_children")),
        *((name, c_void_p) for name in ("children", "dictionary", "release", "private_data")),
    ]


class _CArray(ctypes.Structure):
    _fields_ = [
        *((name, c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
        *((name, c_void_p) for name in ("buffers", "children", "dictionary", "release", "private_data")),
    ]


class _CStream(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


class ArrowStream:
    """Batches for any consumer of Arrow: `pyarrow.table(stream)`, `duckdb.sql("FROM stream")`, `for batch in stream`.

    Batches are made anew for each consumer, and only while it asks for them.
    """

    def __init__(self, schema: Any, batches: Callable[[], Iterator[Any]]) -> None:
        """`schema` is nanoarrow's, `batches` starts an iterator of struct arrays with that schema."""
        self._schema, self._batches = schema, batches

    def __iter__(self) -> Iterator[Any]:
        """Each batch as a `nanoarrow.Array`."""
        return self._batches()

    def __arrow_c_schema__(self) -> object:
        import nanoarrow as na

        capsule: object = na.c_schema(self._schema).__arrow_c_schema__()
        return capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        key = next(_keys)
        _open[key] = _OpenStream(self)
        stream = _CStream(*(ctypes.cast(function, c_void_p).value for function in _FUNCTIONS), key)
        address = ctypes.addressof(stream)
        _structs[address] = stream
        return _new_capsule(address, _STREAM, _free_capsule)


class _OpenStream:
    """What one consumer reads from."""

    def __init__(self, stream: ArrowStream) -> None:
        self.stream = stream
        self.batches: Iterator[Any] | None = None
        self.problem = ctypes.create_string_buffer(b"")

    def next(self) -> Any:
        if self.batches is None:
            self.batches = iter(self.stream)
        return next(self.batches, None)

    def fail(self, error: BaseException) -> int:
        said = str(error) if isinstance(error, ScalepanError) else named(error)
        self.problem = ctypes.create_string_buffer(said.encode("utf-8", "replace"))
        return errno.EIO


# Keys instead of pointers to Python objects: a stream that was released twice finds nothing, and crashes nothing.
_keys = count(1)
_open: dict[int, _OpenStream] = {}
_structs: dict[int, _CStream] = {}
"""The structs that capsules point to, by address, until the capsule is gone."""


def _get_schema(stream: Any, out: Any) -> int:
    opened = _open[stream.contents.private_data]
    try:
        _move(opened.stream.__arrow_c_schema__(), _SCHEMA, out, _CSchema)
    except BaseException as error:  # nothing may be raised into C
        return opened.fail(error)
    return 0


def _get_next(stream: Any, out: Any) -> int:
    opened = _open[stream.contents.private_data]
    try:
        batch = opened.next()
        if batch is None:
            out.contents.release = None
        else:
            import nanoarrow as na

            _, capsule = na.c_array(batch).__arrow_c_array__()
            _move(capsule, _ARRAY, out, _CArray)
    except BaseException as error:
        return opened.fail(error)
    return 0


def _get_last_error(stream: Any) -> int | None:
    problem = _open[stream.contents.private_data].problem
    return ctypes.addressof(problem) if problem.value else None


def _release(stream: Any) -> None:
    _open.pop(stream.contents.private_data, None)
    stream.contents.release = None


_FUNCTIONS = (
    CFUNCTYPE(c_int, POINTER(_CStream), POINTER(_CSchema))(_get_schema),
    CFUNCTYPE(c_int, POINTER(_CStream), POINTER(_CArray))(_get_next),
    CFUNCTYPE(c_void_p, POINTER(_CStream))(_get_last_error),
    CFUNCTYPE(None, POINTER(_CStream))(_release),
)
"""As C calls them, in the order of the struct; they live as long as this module."""


def _free(capsule: int) -> None:
    """A consumer that took the stream has set its release to null; a stream that nobody took is released here."""
    with suppress(Exception):
        stream = _structs.pop(_pointer_in(capsule, _STREAM))
        if stream.release:
            _open.pop(stream.private_data, None)


_destructor = CFUNCTYPE(None, c_void_p)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, _destructor)(("PyCapsule_New", ctypes.pythonapi))
_free_capsule = _destructor(_free)
# Of an object that is being freed no reference may be taken, so it goes in as a plain address.
_pointer_in = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def _move(capsule: object, name: bytes, out: Any, kind: type[_CSchema] | type[_CArray]) -> None:
    """Hand what a capsule has to `out`; the capsule is empty afterwards, as the interface has it."""
    source = kind.from_address(_pointer_in(id(capsule), name))
    ctypes.memmove(out, ctypes.byref(source), ctypes.sizeof(kind))
    source.release = None
