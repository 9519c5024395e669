"""Forgetting leaves no trace: every column of every table is searched, and the file as it is rewritten."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from scalepan.errors import NotFoundError
from scalepan.memory import Memory
from scalepan.policy import Policy
from scalepan.policy.embed import Embed
from scalepan.repeat import same_request
from scalepan.store.duckdb.schema import backup_path
from tests.memory.conftest import StandIn

WORDLESS = Policy(embed=Embed(model="none"))
TEXT = "Zanzibar warehouse opens at dawn"


def every_value(path: Path) -> list[tuple[str, str, str]]:
    """Table, column and value of everything in a store, from a copy that holds only what is live."""
    copy = path.with_name("copy.duckdb")
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{path}' AS old (READ_ONLY); ATTACH '{copy}' AS new")
    connection.execute("COPY FROM DATABASE old TO new")
    found = []
    columns = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = 'new' AND NOT internal"
    ).fetchall()
    for table, column in columns:
        values = connection.execute(f'SELECT "{column}"::TEXT FROM new."{table}"').fetchall()
        found += [(table, column, str(value)) for (value,) in values if value is not None]
    connection.close()
    return found


def fill(memory: Memory) -> str:
    """A claim that has left traces wherever a claim can leave them; its id."""
    id_ = memory.add(TEXT, entities=[{"name": "Zanzibar", "type": "Concept"}], provenance={"source": "zanzibar.txt"})
    other = memory.add("The harbor closes at night")
    memory.search("Zanzibar warehouse")
    context = memory.activate("Zanzibar warehouse").active_context_id
    memory.vote(id_, "helpful", context=context, note="zanzibar was right")
    memory.link(id_, other)
    memory.update(id_, quality=0.5)
    twin = memory.add("At dawn the Zanzibar warehouse opens")
    memory.vote(twin, "duplicate", of=id_)
    return id_


def test_nothing_of_a_forgotten_claim_is_left(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with Memory(path, policy=WORDLESS) as memory:
        id_ = fill(memory)
        assert memory.forget(id_) == 1
        assert [one.text for one in memory.search("Zanzibar warehouse dawn harbor")] == ["The harbor closes at night"]
        with pytest.raises(NotFoundError):
            memory.get(id_)
    left = every_value(path)
    assert [found for found in left if id_ in found[2] or "zanzibar" in found[2].lower()] == []
    # What has nothing to do with it is still there.
    assert ("claims", "text", "The harbor closes at night") in left


def test_its_words_are_gone_from_the_file_too(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with Memory(path, policy=WORDLESS) as memory:
        memory.forget(fill(memory))
    for file in tmp_path.iterdir():
        assert b"Zanzibar" not in file.read_bytes(), file


def test_it_is_gone_from_backups_too(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with Memory(path, policy=WORDLESS) as memory:
        id_ = fill(memory)
    backup = backup_path(path, 1)
    backup.write_bytes(path.read_bytes())
    with Memory(path, policy=WORDLESS) as memory:
        memory.forget(id_)
    assert not backup.exists()


def test_its_vector_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting:
        model_id, dimensions = "counting@1", 4

        def load(self) -> None: ...

        def encode(self, texts: list[str], kind: str = "passage") -> Any:
            return np.array([[len(text), text.count("a"), 1, 2] for text in texts], dtype=np.float32)

        def is_cut(self, text: str, kind: str = "passage") -> bool:
            return False

    monkeypatch.setattr("scalepan.memory.state.find_encoder", lambda *_, **__: Counting())
    with Memory(tmp_path / "notes.duckdb") as memory:
        gone, stays = memory.add_many(["one claim", "another claim here"])
        assert len(memory.search("claim")) == 2
        memory.forget(gone.id)
        assert memory.store.sql("SELECT claim_id FROM claim_vectors") == [[stays.id]]
        assert [one.id for one in memory.search("claim")] == [stays.id]


def test_a_call_that_is_repeated_does_not_bring_back_what_was_forgotten_since(tmp_path: Path) -> None:
    """Its answer stays, without the id; what the same call added beside it keeps its own."""
    with Memory(tmp_path / "notes.duckdb", policy=WORDLESS) as memory:
        with same_request("request-1"):
            gone, other = memory.add_many([TEXT, "apple pie"])
        with same_request("request-2"):
            vote = memory.vote(gone.id, "helpful")
        memory.forget(gone.id)
        with same_request("request-1"):
            again = memory.add_many([TEXT, "apple pie"])
        assert [added.id for added in again] == ["forgotten", other.id]
        assert [claim.text for claim in memory.list()] == ["apple pie"]
        with same_request("request-2"):
            assert memory.vote(gone.id, "helpful").id == vote.id
        assert memory.store.sql("SELECT count(*) FROM feedbacks") == [[0]]


def test_a_sweep_of_what_was_left_does_not_bring_it_back_either(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with Memory(path, policy=WORDLESS) as memory, same_request("request-1"):
        claim = memory.add(TEXT)
    with duckdb.connect(str(path)) as connection:  # as a fault of an older version could leave it
        connection.execute("DELETE FROM claims")
    with Memory(path, policy=WORDLESS) as memory:
        assert memory.sweep()["requests"] == 1
        with same_request("request-1"):
            assert memory.add(TEXT) == "forgotten"
        assert list(memory.list()) == []
        assert memory.store.sql(f"SELECT count(*) FROM requests WHERE contains(response, '{claim}')") == [[0]]


def test_the_file_is_written_anew_whatever_the_width_of_its_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes.duckdb"
    monkeypatch.setattr("scalepan.memory.state.find_encoder", lambda *_, **__: StandIn())
    with Memory(path) as memory:
        gone, kept = memory.add(TEXT), memory.add("apple pie")
        memory.forget(gone)
    assert b"Zanzibar" not in path.read_bytes()
    with Memory(path) as memory:
        assert [one.id for one in memory.search("apple")] == [kept]
        assert memory.search("apple").vector_level == "index"
        memory.add("apple juice")
        assert memory.store.sql("SELECT len(embedding) FROM claim_vectors") == [[StandIn.width]] * 2


def test_a_column_that_somebody_added_does_not_keep_what_was_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    with Memory(path) as memory:
        gone = memory.add("The key to Zanzibar is under the mat")
        memory.add("Plans renew on the 1st")
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE claims ADD COLUMN mine TEXT")
        connection.execute("UPDATE claims SET mine = 'seen'")
    with Memory(path) as memory:
        memory.forget(gone)
    assert b"Zanzibar" not in path.read_bytes()
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT text, mine FROM claims").fetchall() == [("Plans renew on the 1st", "seen")]
        with pytest.raises(duckdb.ConstraintException):
            connection.execute("INSERT INTO claims (id) SELECT id FROM claims")
