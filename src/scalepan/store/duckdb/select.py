"""May this query run? A user's SQL reads the store's tables, and nothing else that DuckDB could reach.

Two locks, each of which would do: the owner's database reaches no other file and its settings are locked
(`opening`), and here every table and function that a query names is looked up before it runs. The first does not keep a
query from the store's own file, which holds deleted rows and whose lock ends when a second handle is closed.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from scalepan.errors import StoreError, shorten
from scalepan.store.duckdb.schema import duckdb, reason

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DESCRIBED = {"tables", "columns", "schemata", "key_column_usage", "table_constraints"}
"""Views of information_schema."""
TABLE_FUNCTIONS = {"unnest", "range", "generate_series", "json_each", "json_tree", "duckdb_tables", "duckdb_columns"}
DENIED = {
    *("current_setting", "getenv", "getvariable", "current_query", "current_connection_id", "json_serialize_plan"),
    *("write_log", "nextval", "currval", "setseed", "sleep_ms", "pg_sleep", "get_block_size", "stats"),
}
"""Functions that tell about the process, change something, or only hold it up."""
SHOWN = {'"tables"', '"columns"', "__show_tables_expanded"}
"""What SHOW TABLES, SHOW COLUMNS and SHOW ALL TABLES are called inside."""
NAME = re.compile(r"\w+")
EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?:ANALYZE\s+)?", re.IGNORECASE)
ONE_SELECT = "only one SELECT at a time; the store is changed by its operations"


def check_select(cursor: "DuckDBPyConnection", sql: str) -> None:
    """StoreError unless this is one SELECT over the store's tables."""
    module = duckdb()
    try:
        statements = module.extract_statements(sql)
    except module.Error as error:
        raise StoreError(f"not SQL: {reason(error)}") from None
    if len(statements) != 1 or statements[0].type not in (module.StatementType.SELECT, module.StatementType.EXPLAIN):
        raise StoreError(ONE_SELECT)
    explained = EXPLAIN.match(sql) if statements[0].type == module.StatementType.EXPLAIN else None
    tree = _tree(cursor, sql[explained.end() :] if explained else sql)
    known = {name.lower() for (name,) in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    (database,) = cursor.execute("SELECT current_database()").fetchone() or ("",)
    nodes = list(_nodes(tree))
    known |= _named_in(nodes)
    for node in nodes:
        _check(node, known, database.lower())


def _tree(cursor: "DuckDBPyConnection", sql: str) -> Any:
    """The query as DuckDB's own parser understands it."""
    found = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
    try:
        tree = msgspec.json.decode(found[0] if found else "{}")
    except (msgspec.DecodeError, RecursionError):
        raise StoreError("the query is nested too deeply") from None
    if tree.get("error") is not False:
        # A PRAGMA, for one: it passes for a SELECT until here.
        raise StoreError(ONE_SELECT)
    return tree


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        at = waiting.pop()
        if isinstance(at, dict):
            yield at
            waiting += at.values()
        elif isinstance(at, list):
            waiting += at


def _named_in(nodes: list[dict[str, Any]]) -> set[str]:
    """The names that WITH gives. One that could be a file's is none: outside its clause it would mean that file."""
    maps = [node["cte_map"]["map"] for node in nodes if isinstance(node.get("cte_map"), dict)]
    names = {entry["key"].lower() for entries in maps for entry in entries}
    names |= {node["cte_name"].lower() for node in nodes if isinstance(node.get("cte_name"), str)}
    return {name for name in names if NAME.fullmatch(name)}


def _check(node: dict[str, Any], known: set[str], database: str) -> None:
    if "class" in node:
        name = node.get("function_name")
        if isinstance(name, str) and name.lower() in DENIED:
            raise StoreError(f"{name}() tells nothing about the store's tables, and cannot be used here")
        return
    match node.get("type"):
        case "BASE_TABLE":
            _check_table(node, known, database)
        case "TABLE_FUNCTION":
            name = node["function"]["function_name"]
            if name.lower() not in TABLE_FUNCTIONS:
                legal = ", ".join(sorted(TABLE_FUNCTIONS))
                raise StoreError(f"{name}() cannot be read from: SQL reads the store's tables; functions: {legal}")
        case "SHOW_REF":
            named = str(node.get("table_name", ""))
            if node.get("query") is None and named.lower() not in SHOWN and named.lower().strip('"') not in known:
                raise StoreError(_no_table(named.strip('"'), known))


def _check_table(node: dict[str, Any], known: set[str], database: str) -> None:
    catalog, schema, name = (str(node.get(key, "")) for key in ("catalog_name", "schema_name", "table_name"))
    if schema.lower() == "information_schema" and name.lower() in DESCRIBED:
        return
    places = ("", "main", database)
    here = catalog.lower() in ("", database) and schema.lower() in places
    if not here or name.lower() not in known | {"duckdb_tables", "duckdb_columns"}:
        raise StoreError(_no_table(".".join(filter(None, (catalog, schema, name))), known))


def _no_table(name: str, known: set[str]) -> str:
    listed = ", ".join(sorted(known))
    return f"the table {shorten(name)} does not exist; SQL reads the store's tables: {listed}"
