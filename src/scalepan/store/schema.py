"""What is in the file, by version: forward only, with a backup before each step up."""

import re
import shutil
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalepan.errors import MissingExtraError, StoreError

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
    """
    CREATE TABLE claims (
        id TEXT PRIMARY KEY, tenant TEXT, project TEXT, session TEXT, text TEXT, normalized_text TEXT, kind TEXT,
        scope TEXT, boundary_class TEXT, content_hash TEXT, utility DOUBLE DEFAULT 0, utility_at TIMESTAMP,
        confidence DOUBLE DEFAULT 0.5, quality DOUBLE, quality_at TIMESTAMP, created_at TIMESTAMP, updated_at TIMESTAMP,
        merged_into TEXT, provenance JSON
    );
    CREATE TABLE claim_vectors (claim_id TEXT, embedding FLOAT[384], model TEXT);
    CREATE TABLE active_contexts (
        id TEXT, tenant TEXT, project TEXT, session TEXT, scope TEXT, created_at TIMESTAMP, expires_at TIMESTAMP,
        policy_version TEXT, provenance JSON
    );
    CREATE TABLE active_context_items (ac_id TEXT, claim_id TEXT, rank INTEGER, score DOUBLE, features JSON);
    CREATE TABLE feedbacks (
        id TEXT, ts TIMESTAMP, tenant TEXT, claim_id TEXT, signal TEXT, actor TEXT, note TEXT, context_id TEXT,
        body JSON, undone_at TIMESTAMP
    );
    CREATE TABLE entities (id TEXT, tenant TEXT, type TEXT, name TEXT);
    CREATE TABLE claim_entities (claim_id TEXT, entity_id TEXT);
    CREATE TABLE relations (id TEXT, ts TIMESTAMP, tenant TEXT, source_id TEXT, target_id TEXT, kind TEXT);
    CREATE MACRO cos_sim(a, b) AS list_cosine_similarity(a, b);
    CREATE MACRO norm_cos(sim) AS least(greatest((sim + 1) / 2, 0), 1);
    CREATE MACRO recency_decay(ts, half_life_days, moment := now()::TIMESTAMP) AS
        exp(-ln(2) * greatest(epoch(moment) - epoch(ts), 0) / 86400 / half_life_days);
    """,
    """
    -- Whose a number is, what it is about, and marks of what it was made of.
    ALTER TABLE scores ADD COLUMN tenant TEXT;
    ALTER TABLE scores ADD COLUMN project TEXT;
    ALTER TABLE scores ADD COLUMN subject TEXT;
    ALTER TABLE scores ADD COLUMN seal TEXT;
    UPDATE scores SET tenant = d.tenant FROM decisions d WHERE d.score_id = scores.id;
    ALTER TABLE active_context_items ADD COLUMN score_id TEXT;
    -- How many claims a context has; those that are forgotten are taken off.
    ALTER TABLE active_contexts ADD COLUMN items INTEGER;
    CREATE TABLE tokens (
        id TEXT PRIMARY KEY, ts TIMESTAMP, hash TEXT, tenant TEXT, project TEXT, classes JSON, note TEXT,
        expires_at TIMESTAMP, revoked_at TIMESTAMP
    );
    """,
)
VERSION = len(MIGRATIONS)
LOG_HEAD = bytes.fromhex("640062")  # of every log that DuckDB 1.5 writes: a field and its type
FORGET_REQUESTS = "DELETE FROM requests WHERE ts < now()::TIMESTAMP - INTERVAL 1 DAY"


def duckdb() -> Any:
    """The package; MissingExtraError says how to add it."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("the store", "store") from None
    return duckdb


def open_database(path: Path) -> "DuckDBPyConnection":
    """The file, made or brought up to this version. Whoever opens it owns it; duckdb.IOException if another does."""
    before = _inode(path)
    connection = _connect(path)
    try:
        _check_place(path, before)
        _check_log(path)
        found = _version(connection)
        if found > VERSION:
            raise StoreError(f"{path} is of version {found}, and this Scalepan knows {VERSION}: upgrade Scalepan to use it")
        if 0 < found < VERSION:
            connection.close()
            # The file is closed for this: reading it through another handle would let go of its lock.
            shutil.copy2(path, backup_path(path, found))
            connection = _connect(path)
        for version in range(found, VERSION):
            _step(connection, version)
        with suppress(duckdb().Error):  # a full disk: what is there can still be read
            connection.execute(FORGET_REQUESTS)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path) -> "DuckDBPyConnection":
    """Open the file. The writer decides when the log is moved into it, so DuckDB's own limit is out of reach.

    One thread: waking the others for a few rows costs a quarter of a write, and a query of another process should not
    take every core of the one that happens to own the file.
    """
    settings = {"threads": 1, "checkpoint_threshold": "1TB"}
    connection: DuckDBPyConnection = duckdb().connect(str(path), config=settings)
    return connection


def _inode(path: Path) -> int | None:
    return path.stat().st_ino if path.exists() else None


def _check_place(path: Path, before: int | None) -> None:
    """An owner that closes may put a new file in place of the old; what was locked then is the old one, and gone."""
    if before is not None and _inode(path) != before:
        raise duckdb().IOException(f"Could not set lock on file {path}: it was replaced")


def log_path(path: Path) -> Path:
    """Where DuckDB keeps what is committed and not yet in the file."""
    return path.with_name(f"{path.name}.wal")


def _check_log(path: Path) -> None:
    """DuckDB takes a log whose first bytes are damaged for none, and writes over it: what it holds would be lost."""
    with suppress(FileNotFoundError), log_path(path).open("rb") as log:
        head = log.read(len(LOG_HEAD))
        # Zeros are what a power cut leaves of a log that was never synced.
        if any(head) and head != LOG_HEAD[: len(head)]:
            raise StoreError(f"{log_path(path)} is damaged, and may hold writes; restore it, or move it away")


def reason(error: Exception) -> str:
    """Why DuckDB did not do it: the first line of its message, without the kind of error."""
    return re.sub(r"^(?:[\w ]+ Error: )?(?:Failed to commit: )?", "", str(error).partition("\n")[0])


def backup_path(path: Path, version: int) -> Path:
    """Where a file of an older version is kept."""
    return path.with_name(f"{path.name}.v{version}.backup")


def _version(connection: "DuckDBPyConnection") -> int:
    tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if "meta" not in tables:
        if tables:
            raise StoreError(f"the file has tables ({', '.join(sorted(tables)[:3])} …), and is no store of Scalepan's")
        return 0
    row = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
    return int(row[0]) if row else 0


def _step(connection: "DuckDBPyConnection", version: int) -> None:
    connection.execute("BEGIN")
    connection.execute(MIGRATIONS[version])
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", [str(version + 1)])
    connection.execute("COMMIT")


def backups(path: Path) -> list[Path]:
    """The backups that there are of a store."""
    return sorted(path.parent.glob(f"{escape(path.name)}.v*.backup"))
