"""Vectors that come later: when an encoder appears, and when it is another one."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalepan.errors import ConflictError
from scalepan.memory import Memory


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
