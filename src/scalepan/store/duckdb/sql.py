"""A user's own SQL, and what the file is like."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scalepan.errors import StoreError
from scalepan.store.duckdb.schema import VERSION, duckdb, reason
from scalepan.store.duckdb.select import check_select
from scalepan.store.operation import reads
from scalepan.store.own import INFO, SQL, Info, Nothing, Query, Rows

if TYPE_CHECKING:
    from scalepan.store.here import Here


@reads(SQL)
def run_sql(here: "Here", request: Query) -> Rows:
    """A SELECT over the store's tables, and nothing else. It sees one state of them, and can change nothing."""
    module, cursor = duckdb(), here._connection
    check_select(cursor, request.sql)
    cursor.execute("BEGIN TRANSACTION READ ONLY")
    try:
        cursor.execute(request.sql)
        columns = [name for name, *_ in cursor.description or ()]
        skipped = cursor.fetchmany(request.offset) if request.offset else []
        rows = cursor.fetchmany(request.limit + 1) if len(skipped) == request.offset else []
    except (module.IOException, module.FatalException):
        raise  # the file's fault, not the query's
    except module.Error as error:
        raise StoreError(reason(error)) from None
    finally:
        with suppress(module.Error):
            cursor.execute("ROLLBACK")
    shown = [[_plain(value) for value in row] for row in rows[: request.limit]]
    return Rows(columns, shown, more=len(rows) > request.limit)


def _plain(value: Any) -> Any:
    """What MessagePack can carry; times and other types as text."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


@reads(INFO)
def info(here: "Here", _: Nothing) -> Info:
    """Versions, rows by table, and bytes."""
    cursor = here._connection
    names = cursor.execute("SELECT table_name, estimated_size FROM duckdb_tables() ORDER BY 1").fetchall()
    size = cursor.execute("SELECT sum(total_blocks * block_size) FROM pragma_database_size()").fetchone()
    return Info(VERSION, duckdb().__version__, dict(names), int(size[0] or 0) if size else 0)
