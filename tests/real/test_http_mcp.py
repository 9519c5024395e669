"""MCP over HTTP: the SDK's own client, in its new and its legacy mode, against a real `scalepan serve`."""

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("mcp")

import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from scalepan.serve.tools import TOOLS
from tests.mcpclient import MODES, call, refused, run
from tests.scalepanserver import JSON, ScalepanServer, serving, token

UNSURE = {"search_result_count": 1, "search_max_score": 0.5, "source_count": 1}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mcp") / "notes.duckdb"


@pytest.fixture(scope="module")
def tokens(store: Path) -> dict[str, str]:
    return {
        "acme": token(store, tenant="acme")[0],
        "public": token(store, tenant="acme", classes=["public"])[0],
        "other": token(store, tenant="other")[0],
        "person": token(store, tenant="acme", may_answer=True)[0],
    }


@pytest.fixture(scope="module")
def server(store: Path, tokens: dict[str, str]) -> Iterator[ScalepanServer]:
    with serving(store, "--rate", "0", "--stop-seconds", "3") as running:
        yield running


@asynccontextmanager
async def connected(server: ScalepanServer, bearer: str, mode: str, **more: Any) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {bearer}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, **more) as client:
            yield client


@pytest.mark.parametrize("mode", MODES)
def test_tools_resources_and_prompts(server: ScalepanServer, tokens: dict[str, str], mode: str) -> None:
    async def work() -> None:
        async with connected(server, tokens["acme"], mode) as client:
            assert [one.name for one in (await client.list_tools()).tools] == [one.name for one in TOOLS]
            added = await call(client, "memory_add", text="Plans are cancelled by POST /cancel")
            found = await call(client, "pce.memory.search", query="how are plans cancelled?")
            assert added["id"] in [claim["id"] for claim in found["claims"]]
            policy = json.loads((await client.read_resource("scalepan://policy")).contents[0].text)  # type: ignore[union-attr]
            assert policy["value"]["gate"] == 0.75
            prompt = await client.get_prompt("recall", {"query": "plans"})
            assert added["id"] in str(prompt.messages)
            code, _ = await refused(client, "memory_vote", claim="clm_none", signal="helpful")
            assert code == "NOT_FOUND"

    run(work)


@pytest.mark.parametrize("mode", MODES)
def test_each_request_has_the_rights_of_its_token(server: ScalepanServer, tokens: dict[str, str], mode: str) -> None:
    async def work() -> None:
        async with (
            connected(server, tokens["acme"], mode) as acme,
            connected(server, tokens["public"], mode) as public,
            connected(server, tokens["other"], mode) as other,
        ):
            id_ = (await call(acme, "memory_add", text=f"Keys hang by the door {mode}"))["id"]
            seen = {}
            for name, client in (("acme", acme), ("public", public), ("other", other)):
                found = await call(client, "pce_memory_search", query="keys door", k=50)
                seen[name] = id_ in [claim["id"] for claim in found["claims"]]
            assert seen == {"acme": True, "public": False, "other": False}
            code, _ = await refused(other, "memory_forget", claims=[id_])
            assert code == "NOT_FOUND"

    run(work)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("action", "state"), [("accept", "approved"), ("decline", "denied"), ("cancel", "pending")])
def test_a_person_is_asked(server: ScalepanServer, tokens: dict[str, str], mode: str, action: Any, state: str) -> None:
    questions: list[str] = []

    async def person(_: Any, params: Any) -> types.ElicitResult:
        questions.append(params.message)
        return types.ElicitResult(action=action, content={"approve": True} if action == "accept" else None)

    async def work() -> None:
        async with connected(server, tokens["person"], mode, elicitation_callback=person) as client:
            decided = await call(client, "decide", action="refund order 17", factors=UNSURE)
            assert (decided["state"], decided["allowed"]) == (state, state == "approved")
        # A form comes back by the token that asked: one that may not answer is shown none.
        async with connected(server, tokens["acme"], mode, elicitation_callback=person) as client:
            decided = await call(client, "decide", action="refund order 17", factors=UNSURE)
            assert (decided["state"], decided["allowed"]) == ("pending", False)

    run(work)
    assert len(questions) == 1


HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "brief", "version": "1"},
    },
}
BOTH = {**JSON, "accept": "application/json, text/event-stream"}


def test_a_session_belongs_to_its_token(server: ScalepanServer, tokens: dict[str, str]) -> None:
    with server.client(tokens["acme"], **BOTH) as acme, server.client(tokens["other"], **BOTH) as other:
        opened = acme.post("/mcp", json=HELLO)
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        assert acme.post("/mcp", json=listing, headers=session).status_code == 200
        assert other.post("/mcp", json=listing, headers=session).status_code == 404
        with server.client(**BOTH) as nobody:
            assert nobody.post("/mcp", json=listing, headers=session).status_code == 401
        assert acme.post("/mcp", content=b"{}", headers={"content-type": "text/plain"}).status_code in (400, 415)
        assert acme.post("/mcp", content=b"x" * 11_000_000).status_code == 413


def test_who_waits_for_news_does_not_hold_up_a_stop(tmp_path: Path) -> None:
    with serving(tmp_path / "a.duckdb", "--stop-seconds", "20") as running, running.client(**BOTH) as http:
        opened = http.post("/mcp", json=HELLO)
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "accept": "text/event-stream"}
        http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        with http.stream("GET", "/mcp", headers=session) as news:
            assert news.status_code == 200
            started = time.monotonic()
            assert running.stop() == 0
            assert time.monotonic() - started < 10
