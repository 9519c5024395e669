"""How valuable is each trace of a table? Arrow in, Arrow out, batch by batch."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any

from scalepan.arguments import wrong
from scalepan.arrowstream import ArrowStream
from scalepan.errors import InputError, printable
from scalepan.policy.given import Given, policy_given
from scalepan.redact import Redactor
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.novelty import Encodes
from scalepan.trace.rows import COLUMNS, ValueRow, row_of
from scalepan.trace.value import TraceValuer

ROWS_AT_ONCE = 1024
TRACE = "trace"
"""The column that is looked for first."""
_TEXT = {"string": "binary", "large_string": "large_binary"}
"""Types of text, and the type of bytes that has the same layout."""
_BYTES = frozenset(_TEXT.values())
_TYPES = {"VARCHAR": "string", "DOUBLE": "float64", "BIGINT": "int64", "BOOLEAN": "bool_"}
_NAMES = [name for name in COLUMNS if name != "file"]


def value_table(
    traces: Any,
    *,
    column: str | None = None,
    policy: Given = None,
    embedder: Encodes | str | None = "default",
    strict: bool = False,
) -> ArrowStream:
    """The value of every trace in an Arrow table: a row per row, with the columns of `scalepan value --out`.

    `traces` is anything that Arrow libraries exchange: a table, a record batch, a reader, a DuckDB relation. A trace is
    JSON text or a struct in `column` (by default the column `trace`, else the only one of text), or the row itself if
    its columns are those of a trace. A row that is not a trace has its reason in `error` and nothing else; with
    `strict` the first one is raised. Nothing is read before the result is, except a DuckDB relation, which is read at
    once; give a large one as batches of another connection.

    >>> import nanoarrow as na
    >>> from scalepan.samples import sample_trace
    >>> lines = na.c_array([sample_trace().to_json().decode(), "{}"], na.string())
    >>> table = na.Array(na.c_array_from_buffers(na.struct({"trace": na.string()}), 2, [None], children=[lines]))
    >>> (batch,) = value_table(table, embedder=None)
    >>> [(row["verdict"], row["error"]) for row in batch.iter_py()]
    [('share', None), (None, '@context: is missing (and 6 more)')]
    """
    if not any(hasattr(traces, name) for name in ("__arrow_c_stream__", "__arrow_c_array__")):
        raise wrong("traces", traces, "an Arrow table, record batch or stream, or a DuckDB relation")
    import nanoarrow as na

    # The connection of a DuckDB relation may be the one that reads the result, and it runs one query at a time.
    held = _Held(_readable(traces)) if type(traces).__name__ == "DuckDBPyRelation" else None
    resolved = policy_given(policy)
    types = {name: getattr(na, _TYPES[COLUMNS[name]])() for name in _NAMES} | {"error": na.string()}
    schema = na.struct(types)

    def batches() -> Iterator[Any]:
        # A valuer of its own, so that reading the result twice gives the same twice.
        valuer, redactor = TraceValuer(resolved, embedder=embedder), Redactor(resolved.redact)
        rows = enumerate(_cells(held or _readable(traces), column), 1)
        while some := list(islice(rows, ROWS_AT_ONCE)):
            yield _batch(_valued(some, valuer, redactor, strict=strict), schema, types)

    return ArrowStream(schema, batches)


class _Held:
    """All batches of a stream, to be read again and again."""

    def __init__(self, stream: Any) -> None:
        self.schema, self._batches = stream.schema, list(stream)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._batches)


def _valued(
    cells: list[tuple[int, Any]], valuer: TraceValuer, redactor: Redactor, *, strict: bool
) -> list[dict[str, Any]]:
    """Each cell as a row of the result."""
    read = [(number, _trace(cell)) for number, cell in cells]
    if strict and (bad := next((found for _, found in read if isinstance(found, InputError)), None)):
        raise bad
    values = valuer.value_many(found for _, found in read if isinstance(found, ReasoningTrace))
    rows = []
    for number, found in read:
        if isinstance(found, ReasoningTrace):
            rows.append(_columns(row_of("", number, next(values))))
        else:
            # The reason may quote the trace.
            rows.append({"number": number, "error": redactor.redact(printable(str(found))).text})
    return rows


def _columns(row: ValueRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _NAMES}


def _batch(rows: list[dict[str, Any]], schema: Any, types: dict[str, Any]) -> Any:
    import nanoarrow as na

    children = [na.c_array([row.get(name) for row in rows], type_) for name, type_ in types.items()]
    return na.Array(na.c_array_from_buffers(schema, len(rows), [None], children=children))


def _trace(cell: Any) -> ReasoningTrace | InputError:
    try:
        if isinstance(cell, bytes):
            return ReasoningTrace.from_json(cell)
        if cell is None:
            return InputError("null is not a trace")
        return ReasoningTrace.from_dict(_plain(cell))
    except InputError as error:
        return error


def _plain(value: Any) -> Any:
    """A value of a struct as JSON would have it. A time without a zone is UTC, as DuckDB reads it from JSON."""
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case datetime():
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case Decimal():
            return float(value)
        case _:
            return value


def _readable(traces: Any) -> Any:
    """A stream whose batches nanoarrow can read."""
    import nanoarrow as na

    stream = na.c_array_stream(traces)
    schema = na.Schema(stream.get_schema())
    if schema.type != na.Type.STRUCT:
        raise InputError(f"is a column of {schema.type.name.lower()}, not a table", path="traces")
    if _has_views(schema):
        if not hasattr(traces, "__arrow_c_stream__"):
            raise InputError("has string views; give a table or a stream instead of a record batch", path="traces")
        from scalepan.store.duckdb.arrow import WithoutViews

        return na.ArrayStream(WithoutViews(stream))
    return na.ArrayStream(stream)


def _has_views(schema: Any) -> bool:
    if schema.type.name in ("STRING_VIEW", "BINARY_VIEW"):
        return True
    # nanoarrow lists the fields of a struct only; what a list holds is a child of its C schema.
    import nanoarrow as na

    below = na.c_schema(schema)
    return any(_has_views(na.Schema(below.child(number))) for number in range(below.n_children))


def _cells(stream: Any, column: str | None) -> Iterator[Any]:
    """Every trace of a stream: bytes of JSON, plain data of a struct, or None."""
    names = [field.name for field in stream.schema.fields]
    kinds = [field.type.name.lower() for field in stream.schema.fields]
    chosen = _chosen(dict(zip(names, kinds, strict=True)), column)
    for array in stream:
        if isinstance(chosen, str):
            child = array.child(names.index(chosen))
            kind = kinds[names.index(chosen)]
            yield from _as_bytes(child, kind) if kind in _TEXT else child.iter_py()
        else:
            children = [array.child(names.index(name)).iter_py() for name in chosen]
            for cells in zip(*children, strict=True):
                yield dict(zip(chosen, cells, strict=True))


def _chosen(kinds: dict[str, str], column: str | None) -> str | list[str]:
    """The column of the traces, or those that a trace is made of."""
    texts = [name for name, kind in kinds.items() if kind in _TEXT or kind in _BYTES]
    wanted = column or (TRACE if TRACE in kinds else None)
    if wanted is None:
        whole = [name for name in ReasoningTrace.__struct_encode_fields__ if name in kinds]
        if {"steps", "metadata"} <= set(whole):
            return whole
        if len(texts) != 1:
            raise InputError(f"no column '{TRACE}'; name the one with the traces: {', '.join(kinds)}", path="column")
        wanted = texts[0]
    if wanted not in kinds:
        raise InputError(f"no column '{wanted}'; there are {', '.join(kinds)}", path="column")
    if wanted not in texts and kinds[wanted] != "struct":
        raise InputError(f"'{wanted}' has {kinds[wanted]}, not JSON text or structs", path="column")
    return wanted


class _Retyped:
    """The same buffers under another type of the same layout."""

    def __init__(self, array: Any, type_: Any) -> None:
        self._array, self._type = array, type_

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        import nanoarrow as na

        return na.c_schema(self._type).__arrow_c_schema__(), self._array.__arrow_c_array__()[1]


def _as_bytes(array: Any, kind: str) -> Iterator[Any]:
    """Text undecoded: it is faster, and text that is not UTF-8 is a bad row, not the end of the table."""
    import nanoarrow as na

    for chunk in array.iter_chunks():
        yield from na.Array(_Retyped(chunk, getattr(na, _TEXT[kind])())).iter_py()
