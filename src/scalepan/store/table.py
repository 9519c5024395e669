"""A table, described once by the struct of its rows: DDL, inserts, selects and rows as structs follow from it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from math import floor
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Time = Annotated[float, "TIMESTAMP"]
"""Seconds since 1970 in Python; a UTC timestamp in the table."""
TIMESTAMP = "make_timestamp(round({} * 1000000)::BIGINT)"
"""How such a column is made of seconds."""
Json = Annotated[str, "JSON"]
"""JSON as text. Whoever reads it knows its type."""
Generation = Annotated[int, "BIGINT"]
"""The number of a commit."""
Vector = Annotated[list[float], "FLOAT[384]"]
"""A vector; its width follows the model, see `Claims.reset_vectors`."""

_SQL_TYPES = {str: "TEXT", float: "DOUBLE", int: "INTEGER", bool: "BOOLEAN"}


def to_microsecond(seconds: float) -> float:
    """A time as a column keeps it, so that what is computed from it comes out the same when it is read again."""
    whole = floor(seconds)
    return whole + round((seconds - whole) * 1_000_000) / 1_000_000


def time_text(seconds: float | None) -> str:
    """A time as the database writes it; nothing, where it is gone.

    >>> time_text(0.25), time_text(None), time_text(float("inf"))
    ('1970-01-01 00:00:00.25', '', 'inf')
    """
    if seconds is None:
        return ""
    try:
        text = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(" ")
    except (ValueError, OverflowError, OSError):  # a row that was damaged or edited by hand
        return str(seconds)
    return text.rstrip("0") if "." in text else text


class Row(msgspec.Struct, frozen=True, gc=False):
    """A row of a table. Fields are columns, in order; a default is the column's default."""


R = TypeVar("R", bound=Row)


class Column(NamedTuple):
    """One column: its name, its SQL type, and whether it may be NULL."""

    name: str
    type: str
    nullable: bool

    @property
    def read(self) -> str:
        """How it is selected, so that Python gets what the row struct promises."""
        match self.type:
            case "TIMESTAMP":
                # epoch() of an `infinity`, which a hand may have put there, is NULL.
                return f"CASE WHEN isinf({self.name}) THEN 'inf'::DOUBLE ELSE epoch({self.name}) END"
            case "JSON":
                return f"{self.name}::TEXT"
            case _:
                return self.name

    def bound(self, value: Any) -> Any:
        """A value of a row as it is sent to the database."""
        if self.type != "TIMESTAMP" or value is None:
            return value
        return datetime.fromtimestamp(value, UTC).replace(tzinfo=None)


class Table(Generic[R]):
    """A table: its name, its rows, what identifies one, and the columns that say whose a row is.

    `owner` is what isolation between tenants rests on. A table without one is the store's own.
    """

    def __init__(self, name: str, row: type[R], *, key: str = "", owner: Sequence[str] = ()) -> None:
        self.name = name
        self.row = row
        self.key = key
        self.owner = tuple(owner)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in the order of the struct's fields."""
        hints = get_type_hints(self.row, include_extras=True)
        return tuple(_column(name, hints[name]) for name in self.row.__struct_fields__)

    @cached_property
    def create(self) -> str:
        """The statement that creates the table."""
        defaults = {field.name: field.default for field in msgspec.structs.fields(self.row)}
        lines = []
        for column in self.columns:
            line = f"{column.name} {column.type}"
            if column.name == self.key:
                line += " PRIMARY KEY"
            default = defaults[column.name]
            if isinstance(default, (bool, int, float)):
                line += f" DEFAULT {str(default).lower()}"
            lines.append(line)
        return f"CREATE TABLE {self.name} ({', '.join(lines)})"

    def selected(self, alias: str = "") -> str:
        """The columns as a SELECT list, in the order that `read` expects."""
        prefix = f"{alias}." if alias else ""
        return ", ".join(column._replace(name=f"{prefix}{column.name}").read for column in self.columns)

    def read(self, values: Sequence[Any]) -> R:
        """A row as it was selected by `selected`."""
        return self.row(*values)

    def select(self, connection: "DuckDBPyConnection", clauses: str, values: Sequence[Any] = ()) -> list[R]:
        """The rows that `WHERE ... ORDER BY ... LIMIT ...` leaves."""
        query = f"SELECT {self.selected()} FROM {self.name} {clauses}"  # noqa: S608 - names of ours
        return [self.read(row) for row in connection.execute(query, list(values)).fetchall()]

    def insert(self, connection: "DuckDBPyConnection", rows: Sequence[R]) -> None:
        """Many rows in one statement, as one JSON text.

        DuckDB tries to import pandas for every single value that is bound, which costs 0.2 ms each where it is not
        installed; one text costs that once.
        """
        if rows:
            connection.execute(self._insert, [msgspec.json.encode([self._bound(row) for row in rows]).decode()])

    def _bound(self, row: R) -> dict[str, Any]:
        # Times are made here: an expression for each in the statement took DuckDB a quarter of the insert.
        return msgspec.structs.asdict(row) | {time.name: time.bound(getattr(row, time.name)) for time in self._times}

    @cached_property
    def _times(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.type == "TIMESTAMP")

    @cached_property
    def _insert(self) -> Any:
        """Parsed once: parsing took a third of a write."""
        from scalepan.store.duckdb.schema import duckdb

        shape = {column.name: "VARCHAR" if column.type == "JSON" else column.type for column in self.columns}
        (statement,) = duckdb().extract_statements(
            f"INSERT INTO {self.name} ({', '.join(shape)}) "
            f"SELECT unnest(from_json_strict(?, '{msgspec.json.encode([shape]).decode()}'), max_depth := 2)"
        )
        return statement


def _column(name: str, hint: Any) -> Column:
    nullable = False
    if get_origin(hint) in (Union, UnionType):
        nullable = type(None) in get_args(hint)
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    if get_origin(hint) is Annotated:
        marks = [mark for mark in hint.__metadata__ if isinstance(mark, str)]
        if marks:
            return Column(name, marks[0], nullable)
        hint = get_args(hint)[0]
    return Column(name, _SQL_TYPES[hint], nullable)
