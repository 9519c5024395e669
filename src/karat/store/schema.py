"""What is in the file, by version: forward only, with a backup before each step up."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.errors import MissingExtraError, StoreError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Times are UTC. Ids are texts. Each script brings a file from the version before to the next.
MIGRATIONS = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE events (id TEXT, ts TIMESTAMP, tenant TEXT, topic TEXT, payload JSON, request_id TEXT, trace_id TEXT);
    CREATE TABLE policies (id TEXT, ts TIMESTAMP, tenant TEXT, project TEXT, yaml TEXT, version TEXT, actor TEXT);
    CREATE TABLE scores (
        id TEXT, ts TIMESTAMP, name TEXT, value DOUBLE, inputs JSON, policy_version TEXT, model TEXT, body JSON
    );
    CREATE TABLE decisions (id TEXT, ts TIMESTAMP, tenant TEXT, score_id TEXT, level TEXT, body JSON);
    CREATE TABLE labels (id TEXT, ts TIMESTAMP, tenant TEXT, target_id TEXT, label TEXT, actor TEXT, body JSON);
    CREATE TABLE traces (id TEXT, ts TIMESTAMP, tenant TEXT, project TEXT, body JSON);
    CREATE TABLE requests (id TEXT PRIMARY KEY, operation TEXT, response TEXT, ts TIMESTAMP);
    """,
)
VERSION = len(MIGRATIONS)


def duckdb() -> Any:
    """The package; MissingExtraError says how to add it."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("the store", "store") from None
    return duckdb


def open_database(path: Path) -> "DuckDBPyConnection":
    """The file, made or brought up to this version. Whoever opens it owns it; duckdb.IOException if another does."""
    connection: DuckDBPyConnection = duckdb().connect(str(path))
    try:
        found = _version(connection)
        if found > VERSION:
            raise StoreError(f"{path} is of version {found}, and this Karat knows {VERSION}: upgrade Karat to use it")
        if 0 < found < VERSION:
            connection.close()
            # The file is closed for this: reading it through another handle would let go of its lock.
            shutil.copy2(path, backup_path(path, found))
            connection = duckdb().connect(str(path))
        for version in range(found, VERSION):
            _step(connection, version)
        connection.execute("DELETE FROM requests WHERE ts < now()::TIMESTAMP - INTERVAL 1 DAY")
    except BaseException:
        connection.close()
        raise
    return connection


def backup_path(path: Path, version: int) -> Path:
    """Where a file of an older version is kept."""
    return path.with_name(f"{path.name}.v{version}.backup")


def _version(connection: "DuckDBPyConnection") -> int:
    tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if "meta" not in tables:
        if tables:
            raise StoreError(f"the file has tables ({', '.join(sorted(tables)[:3])} …), and is no store of Karat's")
        return 0
    row = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
    return int(row[0]) if row else 0


def _step(connection: "DuckDBPyConnection", version: int) -> None:
    connection.execute("BEGIN")
    connection.execute(MIGRATIONS[version])
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", [str(version + 1)])
    connection.execute("COMMIT")
