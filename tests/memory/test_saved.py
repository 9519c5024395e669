"""The index beside the store: opening takes it as it is, but for what changed since then; and it may be lost."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from scalepan.errors import StoreError
from scalepan.memory import Memory, state
from scalepan.memory.recall import saved
from scalepan.memory.recall.answers import Recall
from scalepan.memory.requests import Agree, Backfill
from scalepan.store.duckdb.generation import Note, generation_path
from scalepan.store.duckdb.recover import recover
from tests.memory.conftest import StandIn

QUERY = "where does the ship land"
TEXTS = [
    f"The ship {name} lands at pier {number}" for number, name in enumerate(["Aurora", "Boreas", "Calypso", "Dione"])
]


@pytest.fixture(autouse=True)
def _few_are_worth_it(monkeypatch: pytest.MonkeyPatch, encoder: StandIn) -> None:
    monkeypatch.setattr(saved, "WORTH_SAVING", 1)


def never_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes the index anew from here on fails."""

    def build(*_: object) -> None:
        raise AssertionError("the index was made anew")

    monkeypatch.setattr(state, "build", build)


def filled(path: Path, texts: list[str] = TEXTS) -> list[str]:
    """A store with a saved index; the claims' ids."""
    with Memory(path) as memory:
        ids = [added.id for added in memory.add_many(texts)]
        memory.search(QUERY)
    assert saved.index_path(path).exists()
    return ids


def told(found: Recall) -> list[tuple[str, float | None]]:
    return [(one.text, one.score_final.value) for one in found]


def agrees(memory: Memory) -> bool:
    return not memory.store.call("memory.agree", Agree()).problems


def test_opening_takes_the_index_as_it_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.duckdb"
    filled(path)
    saved.drop(path)
    with Memory(path) as memory:
        fresh = told(memory.search(QUERY, at=2e9))
    never_built(monkeypatch)
    with Memory(path) as memory:
        assert told(memory.search(QUERY, at=2e9)) == fresh
        assert fresh


def test_places_and_successions_are_saved_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.duckdb"
    with Memory(path) as memory:
        old = memory.add(TEXTS[0], conversation="harbor", turn=1, speaker="Aoi", said_at="2026-01-01")
        new = memory.add(TEXTS[1], conversation="harbor", turn=2, supersedes=old, valid_until="2120-01-01")
        memory.search(QUERY)
    never_built(monkeypatch)
    with Memory(path) as memory:
        assert [one.id for one in memory.search(QUERY)] == [new]
        (then,) = memory.search(QUERY, as_of="2020-01-01")
        assert (then.id, then.claim.superseded_by, then.claim.speaker) == (old, new, "Aoi")
        assert agrees(memory)


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    filled(path)
    assert saved.index_path(path).stat().st_mode & 0o777 == 0o600


CHANGES: dict[str, Callable[[Memory, list[str]], object]] = {
    "a claim more": lambda memory, _: memory.add("The ship Eos lands at pier 9"),
    "a vote": lambda memory, ids: memory.vote(ids[0], "helpful"),
    "another text": lambda memory, ids: memory.update(ids[1], text="The ship Boreas lands at pier 77"),
    "an entity": lambda memory, ids: memory.update(ids[2], entities=[{"name": "Calypso", "type": "Artifact"}]),
    "another confidence": lambda memory, ids: memory.update(ids[2], confidence=0.9),
    "a duplicate": lambda memory, ids: memory.vote(ids[3], "duplicate", of=ids[0]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_since_is_brought_up_to_date(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.duckdb"
    ids = filled(path, TEXTS + [f"Nothing to do with it, number {number}" for number in range(20)])
    with Memory(path) as memory:  # nobody asks for the index here
        CHANGES[what](memory, ids)
    never_built(monkeypatch)
    with Memory(path) as memory:
        memory.search(QUERY)
        assert agrees(memory)


@pytest.mark.parametrize("damage", [b"", b"not an index at all", None])
def test_a_damaged_index_is_made_anew(tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "notes.duckdb"
    filled(path)
    file = saved.index_path(path)
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2] if damage is None else damage)
    with Memory(path) as memory:
        assert len(memory.search(QUERY)) == len(TEXTS)
        assert agrees(memory)


def test_one_by_other_rules_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.duckdb"
    filled(path)
    monkeypatch.setattr(saved, "VERSION", saved.VERSION + 1)
    with Memory(path) as memory:
        assert len(memory.search(QUERY)) == len(TEXTS)


def test_one_of_another_store_is_made_anew(tmp_path: Path) -> None:
    path, other = tmp_path / "notes.duckdb", tmp_path / "other.duckdb"
    filled(path)
    filled(other, ["Plans are cancelled by mail", "Invoices are sent on Fridays"])
    saved.index_path(path).replace(saved.index_path(other))
    with Memory(other) as memory:
        assert {one.text for one in memory.search(QUERY)} == {
            "Plans are cancelled by mail",
            "Invoices are sent on Fridays",
        }
        assert agrees(memory)


def test_forgetting_leaves_nothing_in_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    ids = filled(path)
    with Memory(path) as memory:
        memory.forget(ids[0])
        assert not saved.index_path(path).exists()
        memory.search(QUERY)
    assert b"Aurora" not in saved.index_path(path).read_bytes()
    assert b"Boreas" in saved.index_path(path).read_bytes()


def test_a_process_that_dies_while_it_forgets_leaves_no_text_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever repeats the call is told that it is done; so the file must be gone before that can be said."""
    path = tmp_path / "notes.duckdb"
    ids = filled(path)
    there: list[bool] = []
    with Memory(path) as memory:
        memory.stats()
        monkeypatch.setattr(Note, "committed", lambda note: there.append(saved.index_path(path).exists()))
        memory.forget(ids[0])
        monkeypatch.undo()
    assert there == [False]


def test_one_that_a_killed_process_left_half_written_goes_too(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    ids = filled(path)
    left = path.with_name(f"{path.name}.index-new")
    left.write_bytes(saved.index_path(path).read_bytes())
    with Memory(path) as memory:
        memory.forget(ids[0])
        assert not left.exists()
    assert [file.name for file in tmp_path.iterdir() if b"Aurora" in file.read_bytes()] == []


def test_an_index_that_could_not_follow_a_write_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the generation of the tables it would be taken for up to date, with an old text and class."""
    path = tmp_path / "notes.duckdb"
    ids = filled(path)
    with Memory(path) as memory:
        memory.search(QUERY)
        memory.add_many([f"The ship {number} has left" for number in range(9)])

        def fails(*_: object) -> None:
            raise MemoryError

        monkeypatch.setattr("scalepan.memory.state.refresh", fails)
        memory.update(ids[0], text="The ship Aurora sank", boundary_class="pii")
        monkeypatch.undo()
        monkeypatch.setattr(saved, "WORTH_SAVING", 1)
    with Memory(path) as memory:
        assert "The ship Aurora lands at pier 0" not in [one.text for one in memory.search(QUERY)]
        assert agrees(memory)


MANY = TEXTS + [f"Nothing to do with it, number {number}" for number in range(20)]


def test_claims_from_before_there_were_generations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.duckdb"
    ids = filled(path, MANY)
    with duckdb.connect(str(path)) as connection:  # as the migration leaves them
        connection.execute("UPDATE claims SET generation = 0")
        connection.execute("DELETE FROM meta WHERE key = 'memory_index'")
    with Memory(path) as memory:
        memory.search(QUERY)
        assert agrees(memory)
    with Memory(path) as memory:
        memory.update(ids[0], text="The ship Aurora lands at pier 70")
    never_built(monkeypatch)
    with Memory(path) as memory:
        assert "The ship Aurora lands at pier 70" in [one.text for one in memory.search(QUERY)]
        assert agrees(memory)


def test_it_fits_the_file_that_was_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.duckdb"
    ids = filled(path, MANY)
    before = path.stat().st_ino
    with Memory(path) as memory:
        memory.forget(ids[0])
        memory.search(QUERY)
    assert path.stat().st_ino != before
    with Memory(path) as memory:
        memory.vote(ids[1], "helpful")
    never_built(monkeypatch)
    with Memory(path) as memory:
        memory.search(QUERY)
        assert agrees(memory)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("writes", [0, 30])
def test_one_that_is_ahead_of_the_file_is_made_anew(tmp_path: Path, told: bool, writes: int) -> None:
    """An older copy of the file was put back. Its commits may have the numbers of lost ones by the time that it is
    searched.
    """
    path = tmp_path / "notes.duckdb"
    ids = filled(path, MANY)
    older = path.read_bytes()
    with Memory(path) as memory:
        memory.add("The ship Eos was never there")
        for id_ in ids:
            memory.update(id_, confidence=0.9)
        memory.search(QUERY)
    path.write_bytes(older)
    if told:
        with pytest.raises(StoreError, match="lost writes"):
            Memory(path).stats()
        recover(path)
    else:
        generation_path(path).unlink()
    with Memory(path) as memory:
        for _ in range(writes):
            memory.vote(ids[1], "helpful")
        assert "The ship Eos was never there" not in [one.text for one in memory.search(QUERY)]
        assert agrees(memory)


def test_what_was_forgotten_does_not_come_back_with_it(tmp_path: Path) -> None:
    """As if the file could not be deleted, or somebody put it back."""
    path = tmp_path / "notes.duckdb"
    ids = filled(path, MANY)
    before = saved.index_path(path).read_bytes()
    with Memory(path) as memory:
        memory.forget(ids[0])
    saved.index_path(path).write_bytes(before)
    with Memory(path) as memory:
        assert "Aurora" not in " ".join(one.text for one in memory.search(QUERY))
        assert agrees(memory)


def test_vectors_of_another_model_are_not_taken_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.duckdb"
    filled(path, MANY)
    monkeypatch.setattr(StandIn, "model_id", "stand-in@2")
    with Memory(path) as memory:
        memory.store.call("memory.backfill", Backfill(who=memory.who, overlay=memory.overlay, anew=True, limit=1))
    with Memory(path) as memory:
        memory.search(QUERY)
        assert agrees(memory)
