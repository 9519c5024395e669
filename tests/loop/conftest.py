"""A memory that knows one thing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scalepan.memory import Memory
from tests.loop.desk import KNOWN, WORDS_ONLY


@pytest.fixture(autouse=True)
def profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers in these tests are worked out by the contract's formula."""
    monkeypatch.setenv("SCALEPAN_RETRIEVAL__PROFILE", "spec")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.duckdb", project="desk", actor="Aoi", policy=WORDS_ONLY) as opened:
        opened.add(KNOWN, confidence=0.9)
        yield opened
