"""The store in a notebook: inside a running event loop, in cells that are run again, and across threads."""

import asyncio
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from scalepan.store import Store
from scalepan.store.own import AddEvent

COUNT = "SELECT count(*) FROM events"


def test_inside_a_running_event_loop(tmp_path: Path) -> None:
    async def notebook() -> list[list[int]]:
        with Store(tmp_path / "notes.duckdb") as store:
            store.call("store.add_event", AddEvent("ingest"))
            await asyncio.gather(
                *(asyncio.to_thread(store.call, "store.add_event", AddEvent("ingest")) for _ in range(10))
            )
            return await asyncio.to_thread(store.sql, COUNT)

    assert asyncio.run(notebook()) == [[11]]


def test_cells_that_are_run_again(tmp_path: Path) -> None:
    cells = (
        "from scalepan.store import Store\nfrom scalepan.store.own import AddEvent",
        f"store = Store({str(tmp_path / 'notes.duckdb')!r})",  # the one before is let go of without closing
        "store.call('store.add_event', AddEvent('ingest'))",
        "seen = store.sql('SELECT count(*) FROM events')",
    )
    names: dict[str, Any] = {"__name__": "__main__"}

    async def kernel() -> None:
        for cell in cells * 3:
            exec(compile(cell, "<cell>", "exec"), names)
            await asyncio.sleep(0)

    asyncio.run(kernel())
    assert names["seen"] == [[3]]
    with Store(tmp_path / "notes.duckdb") as store:
        assert store.sql(COUNT) == [[3]]


def test_a_cell_that_was_interrupted_leaves_a_store_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "notes.duckdb") as store:
        store.call("store.add_event", AddEvent("ingest"))
        with monkeypatch.context() as patch:
            patch.setattr(Future, "result", _interrupt)  # the signal comes while the caller waits for its commit
            with pytest.raises(KeyboardInterrupt):
                store.call("store.add_event", AddEvent("ingest"))
        store.call("store.add_event", AddEvent("ingest"))
        assert store.sql(COUNT) == [[3]]


def _interrupt(_: object) -> None:
    raise KeyboardInterrupt
