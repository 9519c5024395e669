"""What is in the file, by version: forward only, with a backup before each step up."""

import re
from glob import escape
from pathlib import Path
from typing import Any

from scalepan.errors import StoreError

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
    """
    -- Whether a token may answer the gate's questions.
    ALTER TABLE tokens ADD COLUMN may_answer BOOLEAN DEFAULT false;
    """,
    """
    -- The commit that last changed a claim: what a change was made from, and what a saved index has not seen.
    ALTER TABLE claims ADD COLUMN generation BIGINT DEFAULT 0;
    """,
    """
    -- DuckDB works out a default when the macro is made: the now() that stood there was when the store was made.
    CREATE OR REPLACE MACRO recency_decay(ts, half_life_days, moment := NULL) AS
        exp(-ln(2) * greatest(epoch(coalesce(moment, now() AT TIME ZONE 'UTC')) - epoch(ts), 0) / 86400
            / half_life_days);
    """,
    """
    -- Nothing was ever written there. A value is recomputed from the counts of its trace, and its text stays outside.
    DROP TABLE IF EXISTS traces;
    """,
    """
    -- Where a claim stands, when it is true, and what it replaces. Claims that say nothing of it have NULL.
    ALTER TABLE claims ADD COLUMN conversation TEXT;
    ALTER TABLE claims ADD COLUMN turn INTEGER;
    ALTER TABLE claims ADD COLUMN speaker TEXT;
    ALTER TABLE claims ADD COLUMN position INTEGER;
    ALTER TABLE claims ADD COLUMN said_at TIMESTAMP;
    ALTER TABLE claims ADD COLUMN valid_from TIMESTAMP;
    ALTER TABLE claims ADD COLUMN valid_until TIMESTAMP;
    ALTER TABLE claims ADD COLUMN supersedes TEXT;
    """,
)
VERSION = len(MIGRATIONS)
# The latest stay whatever the clock says: one that was put right by a year must not have a write applied twice.
FORGET_REQUESTS = (
    "DELETE FROM requests WHERE ts < now() AT TIME ZONE 'UTC' - INTERVAL 1 DAY "
    "AND rowid < (SELECT max(rowid) FROM requests) - 1000"
)


def duckdb() -> Any:
    """The package, loaded on first use: it takes a tenth of a second."""
    try:
        import duckdb
    except ImportError as error:
        raise StoreError(f"DuckDB cannot be loaded ({error}); pip install --force-reinstall scalepan") from None
    return duckdb


def log_path(path: Path) -> Path:
    """Where DuckDB keeps what is committed and not yet in the file."""
    return path.with_name(f"{path.name}.wal")


def reason(error: Exception) -> str:
    """Why DuckDB did not do it: the first line of its message, without the kind of error."""
    return re.sub(r"^(?:[\w ]+ Error: )?(?:Failed to commit: )?", "", str(error).partition("\n")[0])


def backup_path(path: Path, version: int) -> Path:
    """Where a file of an older version is kept."""
    return path.with_name(f"{path.name}.v{version}.backup")


def backups(path: Path) -> list[Path]:
    """The backups that there are of a store."""
    return sorted(path.parent.glob(f"{escape(path.name)}.v*.backup"))
