"""`memory sql` reads the store's tables and nothing else.

`python -m tests.real.test_store_sql` counts the queries that get at something else.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from scalepan.errors import StoreError
from scalepan.store import Store
from scalepan.store.own import AddEvent

SECRET = "the quiet heron"


def attacks(folder: Path) -> list[str]:
    """Queries that reach for a file, the process, the settings, or the store's own file."""
    secret, csv, own = folder / "secret.txt", folder / "secret.csv", folder / "notes.duckdb"
    secret.write_text(SECRET)
    csv.write_text(f"a,b\n1,{SECRET}\n")
    (folder / "secret.json").write_text(f'{{"a": "{SECRET}"}}')
    readers = (
        *("read_csv", "read_csv_auto", "read_text", "read_blob", "read_json", "read_json_auto", "read_ndjson"),
        *("read_json_objects", "read_ndjson_objects", "read_parquet", "parquet_scan", "parquet_metadata"),
        *("parquet_schema", "parquet_file_metadata", "parquet_kv_metadata", "sniff_csv", "glob", "read_duckdb"),
    )
    of_the_process = (
        *("duckdb_settings()", "duckdb_secrets()", "duckdb_databases()", "duckdb_extensions()", "duckdb_memory()"),
        *("duckdb_logs()", "duckdb_log_contexts()", "duckdb_variables()", "duckdb_temporary_files()"),
        *("duckdb_external_file_cache()", "duckdb_prepared_statements()", "duckdb_functions()", "duckdb_optimizers()"),
        *("pragma_database_size()", "pragma_version()", "pragma_platform()", "pragma_user_agent()", "checkpoint()"),
        *("force_checkpoint()", "which_secret('x', 's3')", "pragma_storage_info('events')", "duckdb_secret_types()"),
        *("enable_logging()", "truncate_duckdb_logs()", "enable_profiling()", "duckdb_connection_count()"),
        *("test_all_types()", "pragma_metadata_info()", "pg_timezone_names()", "icu_calendar_names()"),
    )
    return [
        *(f"SELECT * FROM {reader}('{secret}')" for reader in readers),
        *(f"SELECT * FROM {reader}('{own}')" for reader in ("read_blob", "read_text", "read_duckdb")),
        *(f"SELECT * FROM {one}" for one in of_the_process),
        f"FROM '{csv}'",
        f'SELECT * FROM "{csv}"',
        f"FROM '{folder}/*.csv'",
        f"FROM '{folder}/secret.json'",
        f"FROM '{own}'",
        "FROM '/etc/passwd'",
        "FROM 'https://example.invalid/a.csv'",
        "FROM 's3://bucket/a.parquet'",
        f"SELECT * FROM read_csv(['{csv}'])",
        f"SELECT * FROM main.read_csv('{csv}')",
        f"SELECT * FROM system.main.read_text('{secret}')",
        f"SELECT (SELECT content FROM read_text('{secret}'))",
        f"SELECT 1 WHERE EXISTS (SELECT 1 FROM glob('{secret}'))",
        f"SELECT 1 ORDER BY (SELECT content FROM read_text('{secret}'))",
        f"SELECT * FROM events JOIN read_text('{secret}') ON true",
        f"SELECT * FROM events, LATERAL (SELECT content FROM read_text('{secret}'))",
        f"SELECT * FROM events UNION ALL BY NAME SELECT content AS id FROM read_text('{secret}')",
        f"WITH x AS (SELECT content FROM read_text('{secret}')) SELECT * FROM x",
        f"WITH x AS MATERIALIZED (FROM '{csv}') FROM x",
        f'SELECT * FROM (WITH "{csv}" AS (SELECT 1) SELECT 2), "{csv}"',
        f"SELECT list_transform([1], lambda x: (SELECT content FROM read_text('{secret}')))",
        f"SELECT [content FOR content IN (SELECT list(content) FROM read_text('{secret}'))]",
        f"SELECT count(*) FILTER (WHERE (SELECT true FROM read_text('{secret}'))) FROM events",
        f"SELECT * FROM query('SELECT content FROM read_text(''{secret}'')')",
        f"SELECT * FROM query_table('{csv}')",
        f"SELECT * FROM query_table(['{csv}'])",
        f"SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''{secret}'')'))",
        f"SELECT json_serialize_plan('SELECT * FROM read_text(''{secret}'')')",
        f"PRAGMA json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{secret}'')'))",
        f"DESCRIBE '{csv}'",
        f"SUMMARIZE '{csv}'",
        f"DESCRIBE SELECT * FROM read_csv('{csv}')",
        f"SUMMARIZE SELECT * FROM read_text('{secret}')",
        f"SELECT * FROM (DESCRIBE '{csv}')",
        f"SELECT * FROM (SUMMARIZE '{csv}')",
        f"EXPLAIN ANALYZE SELECT * FROM read_text('{secret}')",
        f"EXPLAIN SELECT * FROM '{csv}'",
        f"/* x */ EXPLAIN SELECT * FROM '{csv}'",
        "EXPLAIN ANALYZE DELETE FROM events",
        "SHOW DATABASES",
        "SHOW VARIABLES",
        "PRAGMA database_list",
        "PRAGMA database_size",
        "PRAGMA storage_info('events')",
        "PRAGMA version",
        "PRAGMA show_tables",
        "PRAGMA table_info('events')",
        "PRAGMA enable_profiling",
        f"PRAGMA profiling_output='{folder}/out'",
        "PRAGMA disable_checkpoint_on_shutdown",
        "CALL pragma_version()",
        f"CALL read_text('{secret}')",
        "SELECT getenv('HOME')",
        "SELECT current_setting('temp_directory')",
        "SELECT current_setting('home_directory')",
        "SELECT current_setting('secret_directory')",
        "SELECT write_log('x')",
        "SELECT getvariable('x')",
        "SELECT sleep_ms(1)",
        "SELECT pg_sleep(0.001)",
        "FROM information_schema.nothing",
        "FROM pg_catalog.pg_settings",
        "FROM pg_catalog.pg_tables",
        "FROM sqlite_master",
        "FROM duckdb_settings",
        "FROM duckdb_databases",
        "FROM system.main.events",
        "FROM temp.main.events",
        "FROM other.main.events",
        f"ATTACH '{folder}/other.duckdb'",
        "ATTACH ':memory:' AS x",
        "DETACH notes",
        "USE memory",
        f"COPY events TO '{folder}/out.csv'",
        f"COPY (SELECT 1) TO '{folder}/out.csv'",
        f"COPY events FROM '{csv}'",
        f"EXPORT DATABASE '{folder}/out'",
        f"IMPORT DATABASE '{folder}/out'",
        "INSTALL httpfs",
        "LOAD fts",
        f"LOAD '{folder}/evil.duckdb_extension'",
        "SET enable_external_access = true",
        "RESET enable_external_access",
        "SET lock_configuration = false",
        "SET VARIABLE x = 1",
        "CREATE TABLE x (a INT)",
        "CREATE TEMP TABLE x AS SELECT 1",
        f"CREATE VIEW x AS FROM '{csv}'",
        f"CREATE MACRO x() AS TABLE FROM '{csv}'",
        "CREATE SECRET x (TYPE s3)",
        "CREATE SEQUENCE x",
        "DELETE FROM events",
        "UPDATE meta SET value = '0'",
        "INSERT INTO meta VALUES ('a', 'b')",
        "INSERT INTO meta VALUES ('a', 'b') RETURNING key",
        "DROP TABLE events",
        "ALTER TABLE events RENAME TO x",
        "TRUNCATE events",
        "CHECKPOINT",
        "FORCE CHECKPOINT",
        "VACUUM",
        "BEGIN",
        "COMMIT",
        "PREPARE x AS SELECT 1",
        "EXECUTE x",
        "SELECT 1; DROP TABLE events",
        "PIVOT events ON topic USING count(*)",
        "FROM request",  # a Python variable where the query runs
        "FROM here",
        "FROM cursor",
        "SELECT * FROM arrow_scan(1, 1, 1)",
        "SELECT * FROM pandas_scan(1)",
        "SELECT * FROM python_map_function(1)",
        "SELECT * FROM seq_scan()",
        "SELECT nextval('x')",
    ]


ALLOWED = [
    "SELECT topic, count(*) FROM events GROUP BY topic HAVING count(*) > 0 ORDER BY 2 LIMIT 5",
    "FROM events",
    "TABLE events",
    "VALUES (1), (2)",
    "SELECT * FROM main.events e LEFT JOIN claims c ON c.id = e.id",
    "SELECT * FROM notes.main.events",
    'SELECT * FROM "EVENTS"',
    "WITH x AS (SELECT 1 AS n), y AS (SELECT n + 1 FROM x) SELECT * FROM y",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT * FROM t",
    "SELECT * FROM range(3), generate_series(1, 2), unnest([1, 2])",
    "SELECT e.id, j.key FROM events e, json_each(e.payload) j",
    "SELECT payload->>'n', row_number() OVER (PARTITION BY topic ORDER BY ts) FROM events",
    "SELECT cos_sim([1.0, 0.0], [1.0, 0.0]), recency_decay(now()::TIMESTAMP, 30)",
    "SELECT (SELECT max(ts) FROM events), EXISTS (FROM claims), list_transform([1], lambda x: x + 1)",
    "SELECT * FROM events USING SAMPLE 10 ROWS",
    "SELECT table_name FROM information_schema.tables",
    "SELECT column_name FROM information_schema.columns WHERE table_name = 'claims'",
    "SELECT table_name, estimated_size FROM duckdb_tables()",
    "SHOW TABLES",
    "DESCRIBE claims",
    "SUMMARIZE events",
    "EXPLAIN SELECT * FROM events",
    "explain analyze SELECT count(*) FROM events",
    "SELECT 'read_csv', '/etc/passwd', {'type': 'BASE_TABLE', 'table_name': 'x'}",
]


def tried(store: Store, query: str) -> str:
    """'' if the query ran, else the line that refused it."""
    try:
        store.sql(query)
    except StoreError as error:
        return str(error)
    return ""


def test_no_query_gets_out(tmp_path: Path) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        store.call("store.add_event", AddEvent("ingest", {"n": 1}))
        all_ = attacks(tmp_path)
        before = sorted(file.name for file in tmp_path.iterdir())
        told = {query: tried(store, query) for query in all_}
        assert [query for query, line in told.items() if not line] == []
        assert [line for line in told.values() if "\n" in line or SECRET in line] == []
        assert sorted(file.name for file in tmp_path.iterdir()) == before
        # The lock of the file was not lost on the way: nobody else can open it.
        code = "import duckdb, sys; duckdb.connect(sys.argv[1])"
        other = subprocess.run([sys.executable, "-c", code, store.path], capture_output=True, text=True, check=False)
        assert "Could not set lock" in other.stderr
        assert store.sql("SELECT count(*) FROM events") == [[1]]


@pytest.mark.parametrize("query", ALLOWED)
def test_what_a_person_asks_works(tmp_path: Path, query: str) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        store.call("store.add_event", AddEvent("ingest", {"n": 1}))
        assert tried(store, query) == ""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
        "SELECT " + "1 + " * 20_000 + "1",
        "SELECT " + "[" * 2000 + "]" * 2000,
        "SELECT * FROM " + "(SELECT * FROM " * 400 + "events" + ")" * 400,
        "SELECT " + "-" * 9 + " " + "NOT " * 5000 + "true",
        "SELECT CASE WHEN true THEN " * 1500 + "1" + " END" * 1500,
    ],
    ids=["parentheses", "sum", "lists", "subqueries", "not", "case"],
)
def test_a_deep_query_is_answered_or_refused_in_one_line(tmp_path: Path, query: str) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        line = tried(store, query)
        assert "\n" not in line
        assert len(line) < 500
        assert store.sql("SELECT 1") == [[1]]


def test_the_database_itself_reaches_no_file(tmp_path: Path) -> None:
    """The second lock holds without the first: an operation's own connection reads no other file either."""
    from scalepan.store.duckdb.store import _owners

    (tmp_path / "secret.txt").write_text(SECRET)
    with Store(tmp_path / "notes.duckdb") as store:
        store.sql("SELECT 1")
        cursor = _owners[store.path]._connection.cursor()
        for query, error in {
            f"SELECT * FROM read_text('{tmp_path}/secret.txt')": "disabled by configuration",
            f"COPY events TO '{tmp_path}/out.csv'": "disabled by configuration",
            f"ATTACH '{tmp_path}/other.duckdb'": "disabled by configuration",
            "LOAD fts": "disabled through configuration",
            "SET enable_external_access = true": "locked|Cannot change",
            "SET lock_configuration = false": "locked",
        }.items():
            with pytest.raises(Exception, match=error):
                cursor.execute(query)
        cursor.close()


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scalepan", "memory", "sql", "--store", str(tmp_path / "notes.duckdb")]
    done = subprocess.run([*command, "FROM '/etc/passwd'"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("scalepan: the table /etc/passwd does not exist; SQL reads the store's tables: ")
    assert done.stderr.count("\n") == 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place, Store(Path(place) / "notes.duckdb") as opened:
        opened.call("store.add_event", AddEvent("ingest", {"n": 1}))
        queries = attacks(Path(place))
        ran = [query for query in queries if not tried(opened, query)]
        refused = [query for query in ALLOWED if tried(opened, query)]
        print(*ran, *refused, sep=os.linesep)
        print(f"{len(ran)} of {len(queries)} attacks ran; {len(refused)} of {len(ALLOWED)} fair queries were refused")
