"""Operations: named functions with a request and a response struct. Every door to a store leads to these."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from scalepan.check import resolved
from scalepan.errors import StoreError, did_you_mean
from scalepan.store.duckdb.schema import duckdb

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from scalepan.store.here import Here


class Operation(NamedTuple):
    """A named function of where it runs and what is asked: writes get all requests that are waiting."""

    name: str
    request: type[msgspec.Struct]
    response: type[msgspec.Struct]
    run: Callable[..., Any]
    writes: bool
    alone: bool = False
    """A write that shares its transaction with no other."""


_operations: dict[str, Operation] = {}


def reads(name: str, request: type[Any], response: type[Any]) -> Callable[[Any], Any]:
    """Register a function of (here, request) that changes nothing itself; `here.write` asks the writer to."""

    def register(run: Callable[["Here", Any], Any]) -> Any:
        resolved(request, response)
        _operations[name] = Operation(name, request, response, run, writes=False)
        return run

    return register


def writes(name: str, request: type[Any], response: type[Any], *, alone: bool = False) -> Callable[[Any], Any]:
    """Register a function of (here, requests) that gives a response for each, all in one transaction."""

    def register(run: Callable[["Here", Sequence[Any]], Sequence[Any]]) -> Any:
        resolved(request, response)
        _operations[name] = Operation(name, request, response, run, writes=True, alone=alone)
        return run

    return register


def operation(name: str) -> Operation:
    """The operation of that name. Its first word names the package that has it, which is loaded when first asked."""
    if name not in _operations:
        package = name.partition(".")[0]
        with suppress(ModuleNotFoundError):
            if package == "store":
                import_module("scalepan.store.policies")  # and with it the tables
                import_module("scalepan.store.duckdb.check")
            else:
                import_module(f"scalepan.{package}.operations")
    if name not in _operations:
        raise StoreError(f"no operation '{name}'{did_you_mean(name, sorted(_operations))}")
    return _operations[name]


def insert_rows(connection: "DuckDBPyConnection", table: str, columns: dict[str, str], rows: Sequence[Any]) -> None:
    """Many rows in one statement, as one JSON text. Columns are name to type; a JSON column gets its text.

    DuckDB tries to import pandas for every single value that is bound, which costs 0.2 ms each where it is not
    installed; one text costs that once.
    """
    statement = _insert_statement(table, tuple(columns.items()))
    connection.execute(statement, [msgspec.json.encode(rows).decode()])


@cache
def _insert_statement(table: str, columns: tuple[tuple[str, str], ...]) -> Any:
    """Parsed once: parsing took a third of a write."""
    shape = msgspec.json.encode([{name: "VARCHAR" if type_ == "JSON" else type_ for name, type_ in columns}]).decode()
    (statement,) = duckdb().extract_statements(
        f"INSERT INTO {table} ({', '.join(name for name, _ in columns)}) "
        f"SELECT unnest(from_json_strict(?, '{shape}'), max_depth := 2)"
    )
    return statement


def utc_now() -> datetime:
    """As the store keeps times: UTC, without saying so in each."""
    return datetime.now(UTC).replace(tzinfo=None)
