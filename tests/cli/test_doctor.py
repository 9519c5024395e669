"""scalepan doctor and the store: who owns it, how large it is, whether it is sound."""

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import duckdb
import pytest

from scalepan.cli.doctor import _extras
from scalepan.store import Store
from scalepan.store.duckdb.schema import VERSION
from scalepan.store.own import AddEvent
from tests.cli.conftest import Run


def finding(out: str) -> dict[str, str]:
    rows: list[dict[str, str]] = [json.loads(line) for line in out.splitlines()]
    (row,) = [row for row in rows if row["name"] == "store"]
    return row


def make(path: Path) -> Path:
    with Store(path) as store:
        store.call("store.add_event", AddEvent(topic="ingest"))
    return path


def test_a_store_that_is_not_there_is_not_made(run: Run, tmp_path: Path) -> None:
    done = run("doctor", "--json", "--store", tmp_path / "none.duckdb")
    assert done.code == 0
    assert finding(done.out)["found"].endswith("none.duckdb: none yet")
    assert not (tmp_path / "none.duckdb").exists()


def test_a_sound_store(run: Run, tmp_path: Path) -> None:
    path = make(tmp_path / "notes.duckdb")
    done = run("doctor", "--json", "--store", path)
    found = finding(done.out)
    assert (done.code, found["state"]) == (0, "ok")
    assert found["found"].startswith(f"{path}: version {VERSION}, DuckDB {duckdb.__version__}, ")
    assert found["found"].endswith(" bytes, owned by nobody else; 6 rows read and sound: events 1, meta 4, requests 1")


def test_a_store_with_a_problem(run: Run, tmp_path: Path) -> None:
    path = make(tmp_path / "notes.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE labels DROP COLUMN actor")
    done = run("doctor", "--json", "--store", path)
    found = finding(done.out)
    assert (done.code, found["state"], found["advice"]) == (1, "broken", "restore a backup")
    assert found["found"].endswith("; labels.actor is missing, or is not VARCHAR")
    assert "labels.actor" in run("doctor", "--store", path).out.replace("\n", " ")


def test_a_file_that_is_no_store(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    path.write_bytes(b"no database at all\n" * 500)
    done = run("doctor", "--json", "--store", path)
    assert (done.code, finding(done.out)["state"]) == (1, "broken")
    assert "not a valid DuckDB database file" in finding(done.out)["found"]


def test_what_an_extra_lacks_is_named_with_what_adds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        if package == "uvicorn":
            raise PackageNotFoundError
        return "1.0"

    monkeypatch.setattr("scalepan.cli.doctor.version", version)
    found = {finding.name: finding for finding in _extras()}
    assert (found["mcp"].state, found["mcp"].found) == ("ok", "mcp 1.0")
    assert (found["serve"].state, found["serve"].found) == ("missing", "no uvicorn")
    assert found["serve"].advice == "pip install 'scalepan[serve]'"
