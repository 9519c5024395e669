"""A request that is sent again under its key: applied once, answered as the first time, over HTTP and MCP."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import httpx2
import msgspec
import pytest

pytest.importorskip("starlette")
pytest.importorskip("mcp")

from mcp import Client

from scalepan.errors import ConflictError
from scalepan.memory import Memory
from scalepan.serve import tokens
from scalepan.serve.envelope import Caller
from scalepan.serve.http.app import App
from scalepan.serve.http.hosts import Hosts
from scalepan.serve.http.limits import Limits
from scalepan.serve.http.openapi import document
from scalepan.serve.http.services import Services
from scalepan.serve.mcp import Door
from scalepan.serve.once import once
from scalepan.serve.service import Service, Settings
from scalepan.serve.tools import TOOLS
from scalepan.store import Store

FACTORS = {"search_result_count": 1, "search_max_score": 0.5, "source_count": 1}
ACTIVATE, ADD, VOTE, FORGET, DECIDE = (
    *("/v1/memory/activate", "/v1/memory/add", "/v1/memory/vote", "/v1/memory/forget"),
    "/v1/decide",
)
Http = httpx2.AsyncClient


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("SCALEPAN_EMBED__MODEL", "none")
    with Store(tmp_path / "notes.duckdb") as opened:
        yield opened


def over_http(store: Store, work: Callable[[Http], Awaitable[Any]]) -> Any:
    """Do something with a client of a server that uses the store."""

    async def within() -> Any:
        made = App(Services(Settings(), store), Hosts(), Limits(), must_have_token=False, dotted=False)
        transport = httpx2.ASGITransport(app=made.asgi)
        async with Http(transport=transport, base_url="http://localhost") as http:
            done = await work(http)
        made.work.close()
        return done

    return asyncio.run(within())


def same(answer: httpx2.Response) -> Any:
    """An answer without what belongs to the one request."""
    assert answer.status_code == 200, answer.text
    said = answer.json()
    assert said.pop("request_id") == answer.headers["x-request-id"]
    del said["trace_id"]
    return said


def under(key: str, token: str | None = None) -> dict[str, Any]:
    return {"headers": {"idempotency-key": key} | ({"authorization": f"Bearer {token}"} if token else {})}


def count(store: Store, table: str) -> int:
    [[number]] = store.sql(f"SELECT count(*) FROM {table}")
    return int(number)


def test_each_write_is_applied_once(store: Store) -> None:
    async def work(http: Http) -> None:
        add = {"text": "Plans are cancelled by POST"}
        first = same(await http.post(ADD, json=add, **under("add")))
        assert first["created"]
        assert same(await http.post(ADD, json=add, **under("add"))) == first
        # Without a key, or under another, it is a request of its own: what is known is not kept twice.
        assert not same(await http.post(ADD, json=add))["created"]
        assert not same(await http.post(ADD, json=add, **under("add-2")))["created"]
        claim = first["id"]

        vote = {"claim": claim, "signal": "helpful"}
        voted = [same(await http.post(VOTE, json=vote, **under("vote"))) for _ in range(3)]
        assert voted[0] == voted[1] == voted[2]
        assert count(store, "feedbacks") == 1
        assert same(await http.post(VOTE, json=vote, **under("vote-2"))) != voted[0]
        assert count(store, "feedbacks") == 2

        recalled = [same(await http.post(ACTIVATE, json={"query": "plans"}, **under("recall"))) for _ in range(2)]
        assert recalled[0]["active_context_id"] == recalled[1]["active_context_id"]
        assert [[one["id"] for one in said["claims"]] for said in recalled] == [[claim], [claim]]
        assert count(store, "active_contexts") == 1

        decide = {"action": "refund", "args": {"order": 17}, "factors": FACTORS}
        decided = [same(await http.post(DECIDE, json=decide, **under("decide"))) for _ in range(2)]
        assert decided[0] == decided[1]
        assert count(store, "decisions") == 1

        forget = {"claims": [claim]}
        gone = [same(await http.post(FORGET, json=forget, **under("forget"))) for _ in range(2)]
        assert gone[0] == gone[1]
        assert gone[0]["count"] == 1
        late = await http.post(FORGET, json=forget, **under("forget-2"))
        assert late.status_code == 404

    over_http(store, work)


def test_a_policy_that_is_looked_up_anew_does_not_count_as_a_step(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first try has the policy at hand, the second does not."""

    async def work(http: Http) -> None:
        claim = same(await http.post(ADD, json={"text": "Plans are cancelled by POST"}))["id"]
        vote = {"claim": claim, "signal": "helpful"}
        first = same(await http.post(VOTE, json=vote, **under("k")))
        monkeypatch.setattr("scalepan.serve.service.POLICY_SECONDS", 0.0)
        assert same(await http.post(VOTE, json=vote, **under("k"))) == first
        decide = {"action": "refund", "factors": FACTORS}
        decided = same(await http.post(DECIDE, json=decide, **under("d")))
        monkeypatch.setattr("scalepan.serve.service.POLICY_SECONDS", 60.0)
        assert same(await http.post(DECIDE, json=decide, **under("d"))) == decided

    over_http(store, work)
    assert (count(store, "feedbacks"), count(store, "decisions")) == (1, 1)


def test_another_request_under_the_key_is_a_conflict(store: Store) -> None:
    async def work(http: Http) -> None:
        body = {"text": "Plans are cancelled by POST", "kind": "fact"}
        first = same(await http.post(ADD, json=body, **under("k")))
        # The same request, written otherwise.
        again = b'{ "kind" : "fact", "text":"Plans are cancelled by \\u0050OST"}'
        json_: dict[str, Any] = {"headers": {"idempotency-key": '"k"', "content-type": "application/json"}}
        assert same(await http.post(ADD, content=again, **json_)) == first
        others: list[tuple[str, dict[str, Any], dict[str, str]]] = [
            (ADD, {**body, "text": "Invoices are blue"}, {}),
            (ADD, {**body, "kind": "task"}, {}),
            (VOTE, {"claim": first["id"], "signal": "helpful"}, {}),
            (ADD, body, {"scalepan-project": "billing"}),
            (ADD, body, {"scalepan-session": "s-1"}),
        ]
        for path, other, more in others:
            answer = await http.post(path, json=other, headers={"idempotency-key": "k", **more})
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, "CONFLICT")
            assert "another request" in answer.json()["error"]["message"]

    over_http(store, work)
    assert (count(store, "claims"), count(store, "feedbacks")) == (1, 0)


def test_a_key_belongs_to_its_token(store: Store) -> None:
    given = [
        tokens.create(store, tenant=tenant, classes=("public", "internal", "pii", "secret")).value
        for tenant in ("acme", "acme", "other")
    ]

    async def work(http: Http) -> None:
        for number, token in enumerate(given):
            body = {"text": f"Plan {number} is cancelled by POST"}
            for _ in range(2):
                assert same(await http.post(ADD, json=body, **under("k", token)))["created"]

    over_http(store, work)
    assert count(store, "claims") == 3


def test_how_a_key_is_spelled(store: Store) -> None:
    async def work(http: Http) -> None:
        body = {"text": "Plans are cancelled by POST"}
        for bad in ("", "a b", "x" * 201, '"', '""', "a\tb", "é", "a;b", "<k>"):
            answer = await http.post(ADD, json=body, headers=[(b"idempotency-key", bad.encode())])
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "VALIDATION_ERROR")
            assert answer.json()["error"]["message"].startswith("idempotency-key: ")
        twice = await http.post(ADD, json=body, headers=[("idempotency-key", "a"), ("idempotency-key", "b")])
        assert twice.status_code == 400
        assert count(store, "claims") == 0
        for good in ("8e03978e-40d5-43dd-bc93-6894a57f9324", "x" * 200, "order:17/vote+1=@#._-"):
            assert (await http.post(ADD, json=body, **under(good))).status_code == 200

    over_http(store, work)


def test_each_request_of_a_batch_has_a_key_of_its_own(store: Store) -> None:
    ndjson = {"content-type": "application/x-ndjson", "idempotency-key": "lines"}

    async def work(http: Http) -> None:
        claim = same(await http.post(ADD, json={"text": "Plans are cancelled by POST"}))["id"]
        votes: list[dict[str, Any]] = [{"claim": claim, "signal": signal} for signal in ("helpful", "helpful")]
        tries = [(await http.post(VOTE, json=votes, **under("k"))).json() for _ in range(2)]
        assert [one["id"] for one in tries[0]] == [one["id"] for one in tries[1]]
        assert count(store, "feedbacks") == 2
        # A batch that was cut short is sent again in full.
        longer = (await http.post(VOTE, json=[*votes, {"claim": claim, "signal": "harmful"}], **under("k"))).json()
        assert [one["id"] for one in longer[:2]] == [one["id"] for one in tries[0]]
        assert count(store, "feedbacks") == 3
        other = (await http.post(VOTE, json=[votes[0], {"claim": claim, "signal": "outdated"}], **under("k"))).json()
        assert other[0]["id"] == tries[0][0]["id"]
        assert (other[1]["error"]["code"], other[1]["error"]["item"]) == ("CONFLICT", 1)
        # An array's first request is not the request by itself.
        assert same(await http.post(VOTE, json=votes[0], **under("k")))["id"] != tries[0][0]["id"]
        lines = b"".join(msgspec.json.encode(one) + b"\n" for one in votes)
        streams = [(await http.post(VOTE, content=lines, headers=ndjson)).content for _ in range(2)]
        found = [[one["id"] for one in map(msgspec.json.decode, said.splitlines())] for said in streams]
        assert found[0] == found[1]
        assert count(store, "feedbacks") == 6

    over_http(store, work)


def test_tries_at_the_same_time_are_one(store: Store) -> None:
    async def work(http: Http) -> None:
        claim = same(await http.post(ADD, json={"text": "Plans are cancelled by POST"}))["id"]
        vote = {"claim": claim, "signal": "helpful"}
        for number in range(5):
            tries = [http.post(VOTE, json=vote, **under(f"k{number}")) for _ in range(8)]
            found = [same(answer) for answer in await asyncio.gather(*tries)]
            assert all(one == found[0] for one in found)

    over_http(store, work)
    assert count(store, "feedbacks") == 5


def test_what_failed_can_be_tried_again(store: Store) -> None:
    async def work(http: Http) -> None:
        vote = {"claim": "clm_later", "signal": "helpful"}
        assert (await http.post(VOTE, json=vote, **under("k"))).status_code == 404
        Memory(store).add("Plans are cancelled by POST", id="clm_later")
        first = same(await http.post(VOTE, json=vote, **under("k")))
        assert same(await http.post(VOTE, json=vote, **under("k"))) == first

    over_http(store, work)
    assert count(store, "feedbacks") == 1


def test_a_recall_that_is_repeated_shows_nothing_that_its_context_has_not(store: Store) -> None:
    async def work(http: Http) -> None:
        known = same(await http.post(ADD, json={"text": "Plans are cancelled by mail"}))["id"]
        ask = {"query": "are plans cancelled by POST?"}
        first = same(await http.post(ACTIVATE, json=ask, **under("k")))
        assert [one["id"] for one in first["claims"]] == [known]
        best = same(await http.post(ADD, json={"text": "Yes, plans are cancelled by POST"}))["id"]
        again = same(await http.post(ACTIVATE, json=ask, **under("k")))
        assert again["active_context_id"] == first["active_context_id"]
        assert {one["id"] for one in again["claims"]} <= {known}
        assert same(await http.post(ACTIVATE, json=ask))["claims"][0]["id"] == best

    over_http(store, work)


def test_an_answer_to_a_question_is_given_once(store: Store) -> None:
    agent, person = (
        tokens.create(store, tenant="default", may_answer=may_answer).value for may_answer in (False, True)
    )

    async def work(http: Http) -> None:
        decide = {"action": "refund", "factors": FACTORS}
        waits = same(await http.post(DECIDE, json=decide, **under("k", agent)))
        path = f"/v1/decisions/{waits['decision_id']}/answer"
        yes = {"approve": True, "actor": "Aoi"}
        said = [same(await http.post(path, json=yes, **under("k", person))) for _ in range(2)]
        assert said[0] == said[1]
        assert said[0]["state"] == "approved"
        no = await http.post(path, json={"approve": False, "actor": "Aoi"}, **under("k", person))
        assert no.status_code == 409
        assert (await http.post(path, json=yes, **under("k-2", person))).status_code == 409
        # What was decided about is not asked anew; it is told as it stands.
        assert same(await http.post(DECIDE, json=decide, **under("k", agent)))["state"] == "approved"

    over_http(store, work)
    assert count(store, "decisions") == 1


def test_over_mcp_the_key_stands_in_meta(store: Store) -> None:
    async def work() -> None:
        async with Client(Door(Service(Settings(), store)).server()) as client:

            async def call(name: str, key: Any, **arguments: Any) -> tuple[bool, Any]:
                done = await client.call_tool(name, arguments, meta=cast("Any", {"idempotency_key": key}))
                said = msgspec.json.decode(done.content[0].text)  # type: ignore[union-attr]
                del said["request_id"], said["trace_id"]
                return done.is_error, said

            text = "Plans are cancelled by POST"
            first = await call("memory_add", "k", text=text)
            assert first[1]["created"]
            assert await call("memory_add", "k", text=text) == first
            claim = first[1]["id"]
            voted = [await call("memory_vote", "v", claim=claim, signal="helpful") for _ in range(2)]
            assert voted[0] == voted[1]
            decided = [await call("decide", "d", action="refund", factors=FACTORS) for _ in range(2)]
            assert decided[0] == decided[1]
            assert decided[0][1]["state"] == "pending"
            for name, other in (
                ("memory_add", {"text": "Invoices are blue"}),
                ("memory_vote", {"claim": claim, "signal": "helpful"}),
                ("decide", {"action": "refund", "factors": FACTORS}),
            ):
                failed, said = await call(name, "k", **other)
                assert (failed, said["error"]["code"]) == (True, "CONFLICT")
            for bad in ("", "a b", "x" * 201, 7, ["k"], "é"):
                failed, said = await call("memory_add", bad, text="Invoices are blue")
                assert (failed, said["error"]["code"]) == (True, "VALIDATION_ERROR")
                assert said["error"]["message"].startswith("idempotency_key: ")

    asyncio.run(work())
    assert [count(store, table) for table in ("claims", "feedbacks", "decisions")] == [1, 1, 1]


def test_the_store_keeps_neither_key_nor_body(store: Store) -> None:
    service = Service(Settings(), store)
    asked = Caller("r", "t", key="my-key-17")
    assert once(service, asked, "memory_vote", {"note": "hunter2"}, lambda: 17) == 17
    with pytest.raises(ConflictError):
        once(service, asked, "memory_vote", {"note": "hunter3"}, lambda: 17)
    kept = str(store.sql("SELECT * FROM requests"))
    assert "key:" in kept
    assert "my-key-17" not in kept
    assert "hunter" not in kept


def test_the_document_names_the_header_where_it_counts() -> None:
    found = document()
    assert found["components"]["parameters"]["Key"]["name"] == "Idempotency-Key"
    keyed = {
        path
        for path, methods in found["paths"].items()
        for one in methods.values()
        if {"$ref": "#/components/parameters/Key"} in one.get("parameters", ())
    }
    assert keyed == {ACTIVATE, ADD, VOTE, FORGET, DECIDE, "/v1/decisions/{id}/answer"}
    assert {one.url for one in TOOLS if one.keyed} == keyed - {"/v1/decisions/{id}/answer"}
