"""Where a store cannot be: refused in one line, and nothing is opened, made or changed."""

import os
import socket
import sqlite3
from pathlib import Path

import duckdb
import pytest

from scalepan.errors import StoreError
from scalepan.store import Store
from scalepan.store.own import AddEvent

NAMES = [
    "",
    ":memory:",
    ":memory:notes",
    "postgresql://me:hunter2@db.example.com/notes",
    "postgres://db/notes",
    "postgresql:/db/notes",  # what a Path makes of an address
    "mysql://db/notes",
    "sqlite:///notes.db",
    "sqlite:notes.db",
    "md:notes",
    "motherduck:notes",
    "duckdb:notes.duckdb",
    "file:///tmp/notes.duckdb",
    "http://example.com/notes.duckdb",
    "https://example.com/notes.duckdb",
    "s3://bucket/notes.duckdb",
    "ducklake:notes",
    "notes/",
    "a\0b",
    "caf\udce9.duckdb",
    *(f"notes{end}" for end in (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".xlsx", ".yaml", ".CSV")),
    *(f"notes{end}" for end in (".json.gz", ".csv.zst", ".duckdb.wal", ".duckdb.index", ".duckdb.generation")),
    *(f"notes{end}" for end in (".duckdb.v1.backup", ".duckdb.sock", ".duckdb.wal.lost-1")),
]


def refused(path: str | os.PathLike[str]) -> str:
    """What is said, by whoever opens or writes there."""
    with pytest.raises(StoreError) as caught:
        Store(path, patience=1.0).call("store.add_event", AddEvent("ingest"))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_cannot_be_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    line = refused(name)
    assert line.startswith("no store can be there: ")
    assert line.endswith("; give a file, such as notes.duckdb")
    assert "hunter2" not in line
    assert everything(tmp_path) == {}


@pytest.mark.parametrize("name", ["postgresql://me:hunter2@db/notes", "notes.json", ":memory:"])
def test_such_a_name_in_the_environment_or_as_a_path(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SCALEPAN_STORE", name)
    with pytest.raises(StoreError, match="no store can be there"):
        Store()
    with pytest.raises(StoreError, match="no store can be there"):
        Store(Path(name))


def content(name: str) -> bytes:
    """A small file of each format."""
    if name.endswith("parquet"):
        return b"PAR1" + bytes(40) + b"PAR1"
    return {"json": b'[{"a": 1}]', "jsonl": b'{"a": 1}\n', "csv": b"a,b\n1,2\n", "tsv": b"a\tb\n"}[name.split(".")[-1]]


@pytest.mark.parametrize("name", ["notes.json", "notes.jsonl", "notes.csv", "notes.tsv", "notes.parquet"])
def test_a_file_of_data_is_not_touched(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content(name))
    refused(path)
    link = tmp_path / "link.duckdb"
    link.symlink_to(path)
    before = everything(tmp_path)
    assert "not a valid DuckDB database file" in refused(link)
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    "kind", ["folder", "pipe", "socket", "loop", "empty", "text", "sqlite", "under a file", "long"]
)
def test_what_is_there_and_is_no_store(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "notes.duckdb"
    with socket.socket(socket.AF_UNIX) as listener:
        if kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            listener.bind(str(path))
        elif kind == "loop":
            path.symlink_to(path)
        elif kind == "empty":
            path.touch()
        elif kind == "text":
            path.write_text("select 1;\n" * 2000)
        elif kind == "sqlite":
            sqlite3.connect(path).execute("CREATE TABLE a (b)").connection.close()
        elif kind == "under a file":
            (tmp_path / "file").touch()
            path = tmp_path / "file" / "notes.duckdb"
        else:
            path = tmp_path / ("n" * 300)
        before = everything(tmp_path)
        assert refused(path).startswith(f"{path} cannot be opened: ")
        assert everything(tmp_path) == before


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/tty", "/proc/self/mem"])
def test_a_device(device: str) -> None:
    if not os.path.exists(device):
        pytest.skip(f"no {device} here")
    refused(device)


@pytest.mark.parametrize(
    "made_by",
    [
        "CREATE TABLE theirs (a INT)",
        "CREATE VIEW theirs AS SELECT 1",
        "CREATE TABLE meta (a INT)",
        "CREATE TABLE meta (key TEXT, value TEXT)",
        "CREATE SCHEMA x; CREATE TABLE x.theirs (a INT)",
    ],
)
def test_somebody_elses_database_is_left_as_it_is(tmp_path: Path, made_by: str) -> None:
    path = tmp_path / "notes.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(made_by)
    before = everything(tmp_path)
    assert refused(path).startswith(f"{path}: the file has tables (")
    assert everything(tmp_path) == before


def test_a_name_that_looks_like_an_address_can_be_written_as_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Store("./a:b.duckdb") as store:
        assert store.sql("SELECT 1") == [[1]]
    assert (tmp_path / "a:b.duckdb").is_file()


@pytest.mark.parametrize("beside", ["notes.duckdb.wal", "notes.duckdb.generation", "notes.duckdb.v1.backup"])
@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_stands_in_the_way_of_a_companion_is_named(tmp_path: Path, beside: str, kind: str) -> None:
    path = tmp_path / beside
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    assert refused(tmp_path / "notes.duckdb").startswith(f"{path} is in the way: ")
    assert not (tmp_path / "elsewhere").exists()


def test_a_second_name_of_a_file_that_is_open_here_is_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "notes.duckdb", tmp_path / "hard.duckdb"
    with Store(first) as store:
        store.call("store.add_event", AddEvent("ingest"))
        os.link(first, second)
        assert refused(second) == f"{second} is the same file as {first}, which is open here; use that name"
        with pytest.raises(duckdb.ConnectionException, match="different configuration"):
            duckdb.connect(str(first))  # the lock and the database are still ours
