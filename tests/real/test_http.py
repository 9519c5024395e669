"""A real `scalepan serve` and a real client: every operation, alone and in batches, with ids, errors and metrics."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("uvicorn")

import jsonschema

from scalepan.samples import sample_trace
from scalepan.serve.tools import TOOLS
from scalepan.store import Store
from tests.scalepanserver import JSON, NDJSON, ScalepanServer, serving

TRACE = json.loads(sample_trace().to_json())
CASE = {"id": "text-exact-001", "expected": {"output": "42"}, "scorers": [{"type": "exact"}]}
SURE = {"search_result_count": 5, "search_max_score": 0.95, "source_count": 2}
UNSURE = {"search_result_count": 1, "search_max_score": 0.5, "source_count": 1}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("http") / "notes.duckdb"


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[ScalepanServer]:
    with serving(store, "--rate", "0") as running:
        yield running


@pytest.fixture
def http(server: ScalepanServer) -> Iterator[httpx2.Client]:
    with server.client() as client:
        yield client


def ask(http: httpx2.Client, path: str, **request: Any) -> dict[str, Any]:
    """The answer of an operation that is to work."""
    answer = http.post(f"/v1/{path}", json=request)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()
    assert data["request_id"] == answer.headers["x-request-id"]
    assert data["trace_id"]
    assert data["policy_version"]
    return data


def refused(http: httpx2.Client, path: str, **request: Any) -> tuple[int, str, str]:
    answer = http.post(f"/v1/{path}", json=request)
    data = answer.json()
    assert set(data) == {"error", "request_id", "trace_id"}
    return answer.status_code, data["error"]["code"], data["error"]["message"]


def test_every_operation(http: httpx2.Client) -> None:
    added = ask(http, "memory/add", text="Plans are cancelled by POST /cancel", kind="fact")
    assert added["created"]
    assert not ask(http, "memory/add", text="Plans are cancelled by POST /cancel")["created"]
    for path in ("memory/search", "memory/activate"):
        found = ask(http, path, query="how are plans cancelled?")
        assert found["claims"][0]["id"] == added["id"]
        assert ("active_context_id" in found) == ("activate" in path)
    assert ask(http, "memory/vote", claim=added["id"], signal="helpful")["utility"] > 0
    claim = http.get(f"/v1/memory/claims/{added['id']}").json()["claim"]
    assert claim["text"].startswith("<recalled ")
    assert ask(http, "memory/forget", claims=[added["id"]])["count"] == 1
    assert http.get(f"/v1/memory/claims/{added['id']}").status_code == 404

    valued = ask(http, "trace/value", trace=TRACE, breakdown=True)
    assert valued["value"] == pytest.approx(valued["breakdown"]["value"])
    assert ask(http, "output/score", case=CASE, output={"output": "42"})["passed"]
    assert ask(http, "confidence", factors=SURE)["level"] in ("silent", "notify")
    decided = ask(http, "decide", action="look at order 17", factors=SURE)
    assert (decided["allowed"], decided["state"]) == (True, "approved")
    waits = ask(http, "decide", action="refund order 17", factors=UNSURE)
    assert (waits["allowed"], waits["state"]) == (False, "pending")
    assert "refund order 17" in waits["question"]
    assert http.get(f"/v1/decisions/{waits['decision_id']}").json()["state"] == "pending"
    assert ask(http, "decide", decision=waits["decision_id"])["state"] == "pending"


def test_where_a_claim_stands_and_what_replaced_it(http: httpx2.Client) -> None:
    place = {"conversation": "stand-up", "turn": 3, "speaker": "Aoi", "position": 7}
    old = ask(http, "memory/add", text="The zeppelin hangar is in Kyoto", said_at="2023-05-08", source="a.md", **place)
    new = ask(http, "memory/add", text="The zeppelin hangar is in Osaka", supersedes=old["id"])
    (now,) = ask(http, "memory/search", query="zeppelin hangar")["claims"]
    assert (now["id"], now["supersedes"]) == (new["id"], old["id"])
    (then,) = ask(http, "memory/search", query="zeppelin hangar", as_of="2024-01-01")["claims"]
    assert then["superseded_by"] == new["id"]
    assert then["said_at"] == "2023-05-08T00:00:00+00:00"
    assert place.items() <= then.items()
    claim = http.get(f"/v1/memory/claims/{old['id']}").json()["claim"]
    assert (claim["speaker"], claim["superseded_by"]) == ("Aoi", new["id"])
    assert refused(http, "memory/add", text="x", supersedes="clm_none")[:2] == (404, "NOT_FOUND")
    assert refused(http, "memory/search", query="x", as_of="then")[:2] == (422, "VALIDATION_ERROR")


def test_what_can_be_read(http: httpx2.Client) -> None:
    assert http.get("/v1/policy").json()["policy"]["value"]["gate"] == 0.75
    ask(http, "memory/add", text="The staging database is reset every Monday")
    assert "ingest" in {event["topic"] for event in http.get("/v1/events").json()["events"]}
    assert http.get("/healthz").json() == {"ok": True, "version": "0.1.0", "store": "reachable"}
    index = http.get("/").json()
    assert index["api"][: len(TOOLS)] == [one.url for one in TOOLS]
    assert http.head("/healthz").status_code == 200


def test_the_openapi_document_has_every_operation_and_answers_fit_it(http: httpx2.Client) -> None:
    document = http.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    for one in TOOLS:
        assert document["paths"][one.url]["post"]["operationId"] == one.name
    schema = {"$ref": "#/components/schemas/Error", "components": document["components"]}
    jsonschema.validate(http.post("/v1/confidence", json={}).json(), schema)
    for path, request in (("memory/search", {"query": "x", "breakdown": True}), ("confidence", {"factors": SURE})):
        operation = document["paths"][f"/v1/{path}"]["post"]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(ask(http, path, **request), {**schema, "components": document["components"]})


def test_errors_have_codes_and_statuses(http: httpx2.Client) -> None:
    assert refused(http, "memory/vote", claim="clm_none", signal="helpful") == (
        404,
        "NOT_FOUND",
        "no claim 'clm_none' here",
    )
    assert refused(http, "memory/search", query="x", alpah=0.5) == (
        422,
        "VALIDATION_ERROR",
        "alpah: unknown key; did you mean 'alpha'?",
    )
    assert refused(http, "confidence", factors={"search_max_score": 2, "source_count": -1})[2].endswith("(and 1 more)")
    assert refused(http, "decide", action="x")[:2] == (422, "VALIDATION_ERROR")
    scorers = [{"type": "subprocess:Popen", "args": ["true"], "threshold": 1}]
    assert refused(http, "output/score", case={**CASE, "scorers": scorers}, output={})[0] == 422
    for body, type_, status in (
        (b"{", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"0 0", "application/json", 400),
        (b'{"factors": 1', "application/json", 400),
        (b"[1] 2", "application/json", 400),
        (b'{"factors": {"source_count": 1e999}}', "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"", "application/json", 400),
        (b"{}", "text/plain", 415),
        (b"a=b", "application/x-www-form-urlencoded", 415),
        (b"{}", "application/json; charset=utf-16", 415),
    ):
        answer = http.post("/v1/confidence", content=body, headers={"content-type": type_})
        assert answer.status_code == status, (body[:20], type_, answer.text)
        assert answer.json()["error"]["code"] == "VALIDATION_ERROR"
    answer = http.post("/v1/confidence", content=b"{}", headers={**JSON, "content-encoding": "gzip"})
    assert answer.status_code == 415
    wrong = http.get("/v1/confidence")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert http.options("/v1/confidence").status_code == 405


def test_ids_are_kept_if_they_are_ids(http: httpx2.Client) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    answer = http.post(
        "/v1/confidence",
        json={"factors": {"source_count": 2}},
        headers={"x-request-id": "run-7.a", "traceparent": trace},
    )
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == "run-7.a"
    assert answer.json()["trace_id"] == "0af7651916cd43dd8448eb211c80319c"
    for bad in ("a b", "x" * 101, "<script>", "é"):
        given = http.get("/healthz", headers={b"x-request-id": bad.encode()}).headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{32}", given)


def test_an_array_is_answered_item_by_item(http: httpx2.Client) -> None:
    many: list[Any] = [{"factors": {"source_count": 1, "search_max_score": n / 100}} for n in range(100)]
    many[3] = {"factors": {"search_max_score": 3}}
    many[7] = "nonsense"
    answers = http.post("/v1/confidence", json=many, headers={"x-request-id": "b"}).json()
    assert len(answers) == 100
    assert [one["error"]["item"] for one in answers if "error" in one] == [3, 7]
    assert answers[50]["request_id"] == "b.50"
    for place in (0, 50, 99):
        alone = ask(http, "confidence", **many[place])
        assert answers[place]["confidence"] == alone["confidence"]
        assert answers[place]["why"] == alone["why"]
    texts = [{"text": f"Aoi knows the number {n}"} for n in range(40)]
    added = http.post("/v1/memory/add", json=texts).json()
    assert len({one["id"] for one in added}) == 40
    assert http.post("/v1/confidence", json=[]).json() == []
    too_many = http.post("/v1/confidence", json=[{"factors": {"source_count": 2}}] * 1001)
    assert too_many.status_code == 422
    assert "1,001 requests" in too_many.json()["error"]["message"]
    assert http.post("/v1/confidence", content=b"[1,", headers=JSON).status_code == 400


def test_lines_are_answered_in_order_and_a_bad_one_harms_no_other(http: httpx2.Client) -> None:
    wanted = [json.dumps({"text": f"Ren counts to {n}"}) for n in range(50)]
    wanted[4] = "not json"
    wanted[9] = '{"txet": "Ren counts"}'
    wanted[20] = ""
    answer = http.post("/v1/memory/add", content="\n".join(wanted).encode(), headers=NDJSON)
    assert answer.headers["content-type"] == "application/x-ndjson"
    got = [json.loads(line) for line in answer.text.splitlines()]
    assert len(got) == 49
    assert [one["error"]["line"] for one in got if "error" in one] == [5, 10]
    numbers = [int(one["request_id"].rpartition(".")[2]) for one in got]
    assert numbers == [n for n in range(1, 51) if n != 21]


def test_answers_come_while_lines_are_still_sent(http: httpx2.Client) -> None:
    """The client sends all 20,000 before it reads an answer: neither side may wait for the other."""
    line = json.dumps({"factors": {"search_result_count": 3, "search_max_score": 0.8, "source_count": 2}}).encode()

    def lines() -> Iterator[bytes]:
        for _ in range(200):
            yield (line + b"\n") * 100

    with http.stream("POST", "/v1/confidence", content=lines(), headers=NDJSON) as answer:
        got = [json.loads(one)["confidence"] for one in answer.iter_lines()]
    assert got == [0.733] * 20_000


def test_projects_and_sessions_are_apart(http: httpx2.Client, server: ScalepanServer) -> None:
    with server.client(**{"scalepan-project": "billing"}) as billing:
        id_ = ask(billing, "memory/add", text="Invoices are sent on the third day")["id"]
        assert billing.get(f"/v1/memory/claims/{id_}").status_code == 200
    assert http.get(f"/v1/memory/claims/{id_}").status_code == 404
    with server.client(**{"scalepan-session": "s1"}) as first, server.client(**{"scalepan-session": "s2"}) as second:
        id_ = ask(first, "memory/add", text="We look at order 17 now", scope="session")["id"]
        assert first.get(f"/v1/memory/claims/{id_}").status_code == 200
        assert second.get(f"/v1/memory/claims/{id_}").status_code == 404
    assert refused(http, "memory/add", text="x", scope="session")[0] == 422
    assert http.get("/v1/policy", headers={"scalepan-project": "a b"}).status_code == 422


def test_metrics_are_what_prometheus_reads(http: httpx2.Client) -> None:
    ask(http, "confidence", factors={"source_count": 2})
    page = http.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    sample = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[^"\\\n]*",?)*)\})? (\d+(?:\.\d+)?(?:e[+-]?\d+)?)')
    types: dict[str, str] = {}
    for line in page.text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, type_ = line.split()
            types[name] = type_
        elif not line.startswith("# HELP "):
            found = sample.fullmatch(line)
            assert found, line
            family = re.sub("_(bucket|sum|count)$", "", found[1])
            assert types.get(found[1], types.get(family)), line
    assert re.search(r'scalepan_requests_total\{operation="confidence_score",code="200"\} [1-9]', page.text)
    assert "scalepan_requests_in_flight 1\n" in page.text


def test_two_servers_share_a_store(server: ScalepanServer, store: Path, http: httpx2.Client) -> None:
    with serving(store) as second, second.client() as other:
        ids = [ask(each, "memory/add", text=f"Kei met number {n}")["id"] for n, each in enumerate([http, other] * 10)]
        for each in (http, other):
            assert [each.get(f"/v1/memory/claims/{id_}").status_code for id_ in ids] == [200] * 20
    with Store(store) as opened:
        assert opened.sql("SELECT count(*) FROM claims WHERE text LIKE 'Kei met%'") == [[20]]


def test_a_stream_that_was_answered_counts_as_200(http: httpx2.Client) -> None:
    """Every finished NDJSON request stood in /metrics as 499, as if its client had gone."""
    before = _streams(http)
    for count in (0, 1, 40, 700):
        body = b'{"factors": {"source_count": 2}}\n' * count
        answer = http.post("/v1/confidence", content=body, headers=NDJSON)
        assert (answer.status_code, len(answer.text.splitlines())) == (200, count)
    # A request is counted when it is over, which may be a moment after its client has read the last byte.
    while sum((after := _streams(http)).values()) < sum(before.values()) + 4:
        time.sleep(0.01)
    assert after - before == {"200": 4}


def _streams(http: httpx2.Client) -> Counter[str]:
    found = re.findall(r'requests_total\{operation="confidence_score",code="(\d+)"\} (\d+)', http.get("/metrics").text)
    return Counter({code: int(count) for code, count in found})
