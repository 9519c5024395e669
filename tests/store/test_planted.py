"""A store that somebody else made, or a folder that others can write to: nothing is read or run but the store."""

import os
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest

from scalepan.errors import StoreError
from scalepan.memory import Memory, state
from scalepan.memory.recall import saved
from scalepan.store import Store

WORDS_ONLY = {"embed": {"model": "none"}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "notes.duckdb"
    with Store(made) as store:
        store.sql("SELECT 1")
    return made


def plant(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as planted:
        for statement in statements:
            planted.execute(statement)


@pytest.mark.parametrize(
    "statements",
    [
        [
            "ALTER TABLE meta RENAME TO other",
            "CREATE VIEW meta AS SELECT 'version' AS key, content AS value FROM read_text('{file}')",
        ],
        ["CREATE MACRO duckdb_tables() AS TABLE SELECT content AS table_name FROM read_text('{file}')"],
        ["CREATE MACRO duckdb_views() AS TABLE SELECT content AS view_name FROM read_text('{file}')"],
        ["CREATE MACRO epoch(moment) AS (SELECT content FROM read_text('{file}'))"],
        ["CREATE VIEW claims_of_all AS SELECT * FROM claims"],
    ],
    ids=["view for a table", "macro for tables", "macro for views", "macro for a function", "any view"],
)
def test_a_file_with_views_or_macros_is_refused_before_they_run(
    path: Path, tmp_path: Path, statements: list[str]
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("what stands outside")
    plant(path, *(statement.format(file=outside) for statement in statements))
    with (
        pytest.raises(StoreError, match=r"has views or macros|is not a Scalepan store") as refused,
        Store(path) as store,
    ):
        store.sql("SELECT 1")
    assert "what stands outside" not in str(refused.value)


def test_no_file_is_read_at_any_time_of_opening(path: Path, tmp_path: Path) -> None:
    """Whatever runs as a query while a store is opened cannot reach beyond it: a default of a column, for one."""
    outside = tmp_path / "outside.fifo"
    os.mkfifo(outside)  # who opens it hangs
    plant(path, f"CREATE MACRO duckdb_tables() AS TABLE SELECT * FROM read_text('{outside}')")
    refused: list[str] = []

    def open_it() -> None:
        try:
            Store(path).sql("SELECT 1")
        except StoreError as error:
            refused.append(str(error))

    thread = threading.Thread(target=open_it, daemon=True)
    thread.start()
    thread.join(30)
    assert len(refused) == 1


@pytest.mark.parametrize("version", ["x", "-5", "", "1e3", "9" * 400, "\x1b[2J"])
def test_a_version_that_is_none(path: Path, version: str) -> None:
    with duckdb.connect(str(path)) as planted:
        planted.execute("UPDATE meta SET value = ? WHERE key = 'version'", [version])
    with pytest.raises(StoreError, match="is not a store version") as refused, Store(path) as store:
        store.sql("SELECT 1")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("name", ['my "notes".duckdb', "it's.duckdb", "notes.duckdb"])
@pytest.mark.parametrize("table", ["", "further", 'a"; DROP TABLE claims; --'])
def test_what_was_forgotten_goes_whatever_the_file_and_its_tables_are_called(
    tmp_path: Path, name: str, table: str
) -> None:
    path = tmp_path / name
    with Memory(path, policy=WORDS_ONLY) as memory:
        memory.add("herons nest in colonies")
        gone = memory.add("the quiet heron lands at dusk")
    if table:
        escaped = table.replace('"', '""')
        plant(path, f'CREATE TABLE "{escaped}" AS SELECT 7 AS seven')
    with Memory(path, policy=WORDS_ONLY) as memory:
        memory.forget(gone)
    assert b"quiet heron" not in path.read_bytes()
    with Memory(path, policy=WORDS_ONLY) as memory:
        assert len(memory.search("heron colonies")) == 1
        if table:
            escaped = table.replace('"', '""')
            assert memory.store.sql(f'SELECT * FROM "{escaped}"') == [[7]]


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "another user's"])
def test_an_index_that_is_no_file_of_ours_is_passed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(saved, "WORTH_SAVING", 1)
    path = tmp_path / "notes.duckdb"
    with Memory(path, policy=WORDS_ONLY) as memory:
        memory.add("herons nest in colonies")
        memory.search("herons")
    index = saved.index_path(path)
    kept = index.with_name("kept")
    index.rename(kept)
    if kind == "pipe":
        os.mkfifo(index)
    elif kind == "link":
        index.symlink_to(kept)
    elif kind == "folder":
        index.mkdir()
    elif os.geteuid() == 0:
        kept.rename(index)
        os.chown(index, 65534, 65534)
    else:
        pytest.skip("only root can give a file away")
    found: list[int] = []
    loaded: list[bool] = []

    def load(*given: Any) -> bool:
        loaded.append(saved.load(*given))
        return loaded[-1]

    monkeypatch.setattr(state, "load", load)

    def search() -> None:
        with Memory(path, policy=WORDS_ONLY) as memory:
            found.append(len(memory.search("herons")))

    thread = threading.Thread(target=search, daemon=True)
    thread.start()
    thread.join(30)
    assert found == [1]
    assert loaded == [False]
