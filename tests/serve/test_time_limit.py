"""A call that takes too long is a TIMEOUT; the server goes on."""

import json
import time

import anyio
import pytest

pytest.importorskip("mcp")

from mcp import Client

from scalepan.serve import mcp
from scalepan.serve.service import Service, Settings
from scalepan.serve.tools import TOOLS


def test_a_late_call_is_a_timeout(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = TOOLS[1]._replace(seconds=0.05, run=lambda *_: time.sleep(0.5))  # type: ignore[arg-type]
    monkeypatch.setattr(mcp, "tool", lambda _: slow)
    service = Service(Settings(tmp_path_factory.mktemp("store") / "notes.duckdb"))

    async def work() -> None:
        async with Client(mcp.Door(service).server()) as client:
            result = await client.call_tool("pce_memory_search", {"query": "x"})
            assert result.is_error
            assert json.loads(result.content[0].text)["error"] == {  # type: ignore[union-attr]
                "code": "TIMEOUT",
                "message": "pce_memory_search took over 0.05 s",
            }

    try:
        anyio.run(work)
    finally:
        service.close()
