"""The application without a network: what is late, broken or forbidden leaves as an envelope with its status."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("starlette")

from scalepan import errors
from scalepan.serve.http import app as module
from scalepan.serve.http.app import App
from scalepan.serve.http.hosts import Hosts
from scalepan.serve.http.limits import Limits
from scalepan.serve.http.protocol import full
from scalepan.serve.http.services import Services
from scalepan.serve.service import Settings
from scalepan.serve.tools import TOOLS
from scalepan.store import Store

SEARCH = next(one for one in TOOLS if one.name == "pce_memory_search")


@pytest.fixture
def post(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., httpx2.Response]:
    """Post to a search that does `run` instead."""

    def ask(run: Callable[..., Any], seconds: float = 10.0, **request: Any) -> httpx2.Response:
        monkeypatch.setattr(module, "TOOLS", (SEARCH._replace(run=run, seconds=seconds),))

        async def work() -> httpx2.Response:
            with Store(tmp_path / "notes.duckdb") as store:
                made = App(Services(Settings(), store), Hosts(), Limits(), must_have_token=False, dotted=False)
                transport = httpx2.ASGITransport(app=made.asgi)
                async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
                    answer = await http.post(SEARCH.url, **(request or {"json": {"query": "x"}}))
                made.work.close()
                return answer

        return asyncio.run(work())

    return ask


def test_too_many_at_once_are_turned_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait(*_: Any) -> Any:
        begun.set()
        go_on.wait(10)
        raise errors.ConflictError("done")

    monkeypatch.setattr(module, "TOOLS", (SEARCH._replace(run=wait),))

    async def work() -> None:
        with Store(tmp_path / "notes.duckdb") as store:
            made = App(Services(Settings(), store), Hosts(), Limits(at_once=1), must_have_token=False, dotted=False)
            transport = httpx2.ASGITransport(app=made.asgi)
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
                first = asyncio.create_task(http.post(SEARCH.url, json={"query": "x"}))
                await asyncio.to_thread(begun.wait, 10)
                for late in (await http.post(SEARCH.url, json={"query": "x"}), await http.get("/v1/policy")):
                    assert (late.status_code, late.json()["error"]["code"]) == (503, "RATE_LIMIT")
                    assert late.headers["retry-after"] == "1"
                assert (await http.get("/healthz")).status_code == 200
                go_on.set()
                assert (await first).status_code == 409
                assert (await http.get("/v1/policy")).status_code == 200
            made.work.close()

    asyncio.run(work())


def test_a_full_server_says_so_in_an_envelope() -> None:
    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(app=full)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.get("/")

    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "RATE_LIMIT")
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


def raising(error: Exception) -> Callable[..., Any]:
    def run(*_: Any) -> Any:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.InputError("no"), 422, "VALIDATION_ERROR"),
        (errors.BoundaryError("no"), 403, "BOUNDARY_DENIED"),
        (errors.NotFoundError("no"), 404, "NOT_FOUND"),
        (errors.ConflictError("no"), 409, "CONFLICT"),
        (errors.TookTooLongError("no"), 504, "TIMEOUT"),
        (errors.PolicyError("no"), 500, "POLICY_INVALID"),
        (errors.StoreError("no"), 500, "INTERNAL"),
        (errors.StoreError("/var/lib/k/no"), 500, "INTERNAL"),
    ],
)
def test_each_error_has_its_status(
    post: Callable[..., httpx2.Response], error: Exception, status: int, code: str
) -> None:
    answer = post(raising(error))
    assert (answer.status_code, answer.json()["error"]) == (status, {"code": code, "message": "no"})
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


def test_what_breaks_inside_stays_inside(
    post: Callable[..., httpx2.Response], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = post(raising(ZeroDivisionError("inner words")))
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "INTERNAL")
    assert "inner words" not in answer.text
    assert "inner words" in caplog.text


def test_what_is_late_is_a_timeout(post: Callable[..., httpx2.Response]) -> None:
    answer = post(lambda *_: time.sleep(0.5), seconds=0.05)
    assert answer.status_code == 504
    assert answer.json()["error"] == {"code": "TIMEOUT", "message": "pce_memory_search took over 0.05 s"}


def test_in_a_batch_each_has_its_own_error(post: Callable[..., httpx2.Response]) -> None:
    answer = post(raising(errors.ConflictError("no")), json=[{"query": "x"}, 7])
    assert [(one["error"]["code"], one["error"]["item"]) for one in answer.json()] == [
        ("CONFLICT", 0),
        ("VALIDATION_ERROR", 1),
    ]
