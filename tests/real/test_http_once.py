"""A write that is sent again under its key, after whoever had taken it was killed: it is applied once."""

import os
import signal
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

pytest.importorskip("starlette")
pytest.importorskip("mcp")

from mcp import Client

from scalepan.memory import Memory
from scalepan.store import Store
from tests.mcpclient import run
from tests.real.hang import hang
from tests.real.test_mcp import connected
from tests.real.test_store_retry import owner_of
from tests.scalepanserver import serving

VOTE = "/v1/memory/vote"
KEY = {"idempotency-key": "8e03978e-40d5-43dd-bc93-6894a57f9324"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.duckdb"


@pytest.fixture
def vote(path: Path) -> dict[str, str]:
    """A vote on a claim that is there."""
    with Memory(path) as memory:
        return {"claim": memory.add("Plans are cancelled by POST /subscriptions/{id}/cancel"), "signal": "helpful"}


def votes(path: Path) -> int:
    with Store(path) as store:
        [[number]] = store.sql("SELECT count(*) FROM feedbacks")
    return int(number)


def same(answer: httpx2.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    return {name: value for name, value in answer.json().items() if name not in ("request_id", "trace_id")}


def test_the_owner_is_killed_between_the_tries(path: Path, vote: dict[str, str]) -> None:
    with owner_of(path) as owner, serving(path) as server, server.client() as http:
        first = same(http.post(VOTE, json=vote, headers=KEY))
        owner.kill()
        owner.wait()
        assert same(http.post(VOTE, json=vote, headers=KEY)) == first
        other = http.post(VOTE, json={**vote, "signal": "harmful"}, headers=KEY)
        assert (other.status_code, other.json()["error"]["code"]) == (409, "CONFLICT")
    assert votes(path) == 1


def test_the_owner_hangs_with_the_first_try_and_is_killed(path: Path, vote: dict[str, str]) -> None:
    with owner_of(path) as owner, serving(path) as server, server.client() as http:
        assert http.get("/v1/policy").status_code == 200  # the connection to the owner is there
        hang(owner.pid)
        with pytest.raises(httpx2.TimeoutException):
            http.post(VOTE, json=vote, headers=KEY, timeout=0.5)
        owner.kill()
        owner.wait()
        answers = [same(http.post(VOTE, json=vote, headers=KEY)) for _ in range(2)]
        assert answers[0] == answers[1]
    assert votes(path) == 1


def test_the_server_is_killed_between_the_tries(path: Path, vote: dict[str, str]) -> None:
    with serving(path) as server, server.client() as http:
        first = same(http.post(VOTE, json=vote, headers=KEY))
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
    with serving(path) as server, server.client() as http:
        assert same(http.post(VOTE, json=vote, headers=KEY)) == first
    assert votes(path) == 1


def test_over_mcp_the_owner_is_killed_between_the_tries(path: Path, vote: dict[str, str]) -> None:
    meta: Any = {"idempotency_key": "8e03978e"}

    async def once(client: Client, claim: dict[str, Any]) -> Any:
        done = await client.call_tool("memory_vote", claim, meta=meta)
        said = msgspec.json.decode(done.content[0].text)  # type: ignore[union-attr]
        return {name: value for name, value in said.items() if name not in ("request_id", "trace_id")}

    async def work() -> None:
        async with connected(path) as client:
            first = await once(client, vote)
            assert first["claim"] == vote["claim"]
            os.kill(owner.pid, signal.SIGKILL)
            owner.wait()
            assert await once(client, vote) == first
            assert (await once(client, {**vote, "signal": "harmful"}))["error"]["code"] == "CONFLICT"
        async with connected(path) as client:  # another process, the same user
            assert await once(client, vote) == first

    with owner_of(path) as owner:
        run(work)
    assert votes(path) == 1
