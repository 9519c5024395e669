"""A memory that knows one thing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scalepan.memory import Memory
from tests.loop.desk import KNOWN, WORDS_ONLY


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "notes.duckdb", project="desk", actor="Aoi", policy=WORDS_ONLY) as opened:
        opened.add(KNOWN, confidence=0.9)
        yield opened
