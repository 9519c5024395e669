"""The index beside the store: opening takes it as it is, but for what changed since then; and it may be lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scalepan.memory import Memory, state
from scalepan.memory.recall import saved
from scalepan.memory.recall.answers import Recall
from scalepan.memory.requests import Agree
from scalepan.store.duckdb.generation import Note
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
    """With the fingerprints of the tables it would be taken for up to date, with an old text and class."""
    path = tmp_path / "notes.duckdb"
    ids = filled(path)
    with Memory(path) as memory:
        memory.search(QUERY)
        memory.add_many([f"The ship {number} has left" for number in range(9)])

        def fails(*_: object) -> None:
            raise MemoryError

        monkeypatch.setattr("scalepan.memory.ingest.change.refresh", fails)
        memory.update(ids[0], text="The ship Aurora sank", boundary_class="pii")
        monkeypatch.undo()
        monkeypatch.setattr(saved, "WORTH_SAVING", 1)
    with Memory(path) as memory:
        assert "The ship Aurora lands at pier 0" not in [one.text for one in memory.search(QUERY)]
        assert agrees(memory)
