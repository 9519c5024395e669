"""store.check: a sound file has no problems, and each kind of problem is named."""

from pathlib import Path

import duckdb
import pytest

from scalepan.store import Store
from scalepan.store.own import AddEvent, Nothing


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "notes.duckdb"
    with Store(path) as store:
        store.call("store.add_event", AddEvent(topic="ingest"))
    return path


def problems(path: Path) -> list[str]:
    with Store(path) as store:
        found: list[str] = store.call("store.check", Nothing()).problems
        return found


def test_a_sound_store(path: Path) -> None:
    with Store(path) as store:
        assert (
            store.call("store.check", Nothing()).rows == 6
        )  # the event, its request, the version, the generation with its id and epoch
    assert problems(path) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("INSERT INTO events FROM events", ["events: id '{id}' is there more than once"]),
        ("ALTER TABLE labels DROP COLUMN actor", ["labels.actor is missing, or is not VARCHAR"]),
        ("ALTER TABLE scores ALTER value TYPE TEXT", ["scores.value is missing, or is not DOUBLE"]),
        ('CREATE TABLE "of my ""own""" AS SELECT 1 AS a', []),
    ],
)
def test_what_is_wrong_is_named(path: Path, change: str, expected: list[str]) -> None:
    with duckdb.connect(str(path)) as connection:
        ((id_,),) = connection.execute("SELECT id FROM events").fetchall()
        connection.execute(change)
    assert problems(path) == [problem.format(id=id_) for problem in expected]


def test_a_request_that_was_applied_twice_is_named(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:  # without the key that forbids it
        connection.execute(
            "CREATE TABLE copy AS FROM requests; DROP TABLE requests; ALTER TABLE copy RENAME TO requests"
        )
        connection.execute("INSERT INTO requests FROM requests; UPDATE requests SET id = 'r1'")
    assert problems(path) == ["requests: id 'r1' is there more than once"]
