"""Vectors that come later: when an encoder appears, and when it is another one."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalepan.errors import ConflictError, StoreError
from scalepan.memory import Memory
from scalepan.repeat import same_request


class Letters:
    """A vector that counts a few letters; `width` tells one model from another."""

    def __init__(self, width: int) -> None:
        self.dimensions = width
        self.model_id = f"letters@{width}"

    def load(self) -> None: ...

    def encode(self, texts: Sequence[str], kind: str = "passage") -> Any:
        rows = [[1 + text.count(letter) for letter in "abcdefgh"[: self.dimensions]] for text in texts]
        return np.array(rows, dtype=np.float32)

    def is_cut(self, text: str, kind: str = "passage") -> bool:
        return False


def use(monkeypatch: pytest.MonkeyPatch, encoder: Letters | None) -> None:
    monkeypatch.setattr("scalepan.memory.state.find_encoder", lambda *_, **__: encoder)


def test_an_encoder_that_appears_gives_every_claim_its_vector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, None)
    with Memory(tmp_path / "notes.duckdb") as memory:
        memory.add_many([f"claim number {number}" for number in range(150)])
        assert memory.search("claim").vector_level == ""
    use(monkeypatch, Letters(4))
    with Memory(tmp_path / "notes.duckdb") as memory:
        first = memory.search("claim")
        assert "150 claims here have no vector yet: they are being made" in first.notes
        deadline = time.monotonic() + 30
        while memory.stats().without_vector and time.monotonic() < deadline:
            time.sleep(0.01)
        found = memory.search("claim")
        assert found.vector_level == "index"
        assert not any("no vector" in note for note in found.notes)
        assert memory.store.sql("SELECT DISTINCT model, len(embedding) FROM claim_vectors") == [["letters@4", 4]]


def test_another_encoder_is_refused_until_everything_is_embedded_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, Letters(4))
    with Memory(tmp_path / "notes.duckdb") as memory:
        memory.add("claim")
    use(monkeypatch, Letters(6))
    with Memory(tmp_path / "notes.duckdb") as memory:
        with pytest.raises(ConflictError, match=r"vectors are by letters@4, and embed\.model names letters@6"):
            memory.search("claim")
        assert memory.backfill(anew=True) == 1
        assert memory.search("claim").vector_level == "index"
        assert memory.store.sql("SELECT model, len(embedding) FROM claim_vectors") == [["letters@6", 6]]


def test_embedding_anew_that_was_cut_short_is_repeated_under_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner died between dropping the old vectors and keeping the new ones."""
    use(monkeypatch, Letters(4))
    path = tmp_path / "notes.duckdb"
    with Memory(path) as memory:
        memory.add("claim")
    later = Letters(6)
    use(monkeypatch, later)

    def fails(*_: Any, **__: Any) -> Any:
        raise MemoryError("killed here")

    with Memory(path) as memory:
        with monkeypatch.context() as patch, same_request("request-1"):
            patch.setattr(later, "encode", fails)
            with pytest.raises(StoreError, match="killed here"):
                memory.backfill(anew=True)
        assert memory.store.sql("SELECT count(*) FROM claim_vectors") == [[0]]
        with same_request("request-1"):
            assert memory.backfill(anew=True) == 1
        assert memory.store.sql("SELECT model, len(embedding) FROM claim_vectors") == [["letters@6", 6]]


def test_embedding_anew_drops_no_vectors_of_the_model_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, Letters(4))
    with Memory(tmp_path / "notes.duckdb") as memory:
        assert memory.backfill(anew=True) == 0  # none at all yet
        memory.add("claim")
        assert memory.backfill(anew=True) == 0
        assert memory.store.sql("SELECT model FROM claim_vectors") == [["letters@4"]]
