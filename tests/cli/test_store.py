"""scalepan store recover: what it says, and what it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scalepan.store import Store
from scalepan.store.duckdb.recover import recover
from scalepan.store.duckdb.schema import log_path
from scalepan.store.own import AddEvent
from tests.cli.conftest import Run

WRITE_AND_DIE = """
import os, sys
from scalepan.store import Store
from scalepan.store.own import AddEvent
for _ in range(3):
    Store(sys.argv[1]).call("store.add_event", AddEvent("ingest"))
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store that lacks the second and third of its commits."""
    path = tmp_path / "notes.duckdb"
    with Store(path) as store:
        store.call("store.add_event", AddEvent("ingest"))
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, path], check=False)
    os.truncate(log_path(path), log_path(path).stat().st_size // 2)
    return path


def test_every_other_command_refuses_and_says_how_to_go_on(run: Run, path: Path) -> None:
    done = run("memory", "sql", "SELECT 1", "--store", path)
    assert done.code == 2
    assert done.err.startswith(f"scalepan: {path} has lost writes: ")
    assert "2 acknowledged commits are missing; commits up to 2 of 4 can be recovered" in done.err
    assert done.err.count("\n") == 1


def test_it_says_what_is_there_and_where_the_log_is(run: Run, path: Path) -> None:
    done = run("store", "recover", "--store", path)
    assert done.out == (
        f"{path}: commits up to 2 of 4 are there, 2 are lost\nthe log that did not fit is kept: {path}.wal.lost-1\n"
    )
    again = run("store", "recover", "--store", path)
    assert (again.code, again.out) == (2, "")
    assert again.err == f"scalepan: {path} is sound: it has every commit up to 2; there is nothing to recover\n"


def test_for_programs(run: Run, path: Path) -> None:
    told = json.loads(run("store", "recover", "--store", path, "--json").out)
    assert told == {"store": str(path), "there": 2, "acknowledged": 4, "kept": f"{path}.wal.lost-1", "lost": 2}


def test_none_is_made(run: Run, tmp_path: Path) -> None:
    done = run("store", "recover", "--store", tmp_path / "none.duckdb")
    assert done.err == f"scalepan: {tmp_path}/none.duckdb does not exist: there is nothing to recover\n"
    assert list(tmp_path.iterdir()) == []


def test_not_while_somebody_has_it(tmp_path: Path) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        store.call("store.add_event", AddEvent("ingest"))
        with pytest.raises(Exception, match="is open in this process; close it first"):
            recover(store.path)
        command = [sys.executable, "-m", "scalepan", "store", "recover", "--store", str(store.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stderr.startswith(f"scalepan: {store.path} is in use: Could not set lock")
        assert store.sql("SELECT count(*) FROM events") == [[1]]
