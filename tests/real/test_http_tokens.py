"""Who may come in: tokens of several tenants, projects and classes, good, bad, expired and revoked, on real servers."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("uvicorn")

from scalepan.memory import Memory
from scalepan.serve.tokens import revoke
from scalepan.store import Store
from tests.scalepanserver import JSON, NDJSON, ScalepanServer, run_json, serving, start, token

NO_MODEL = {"embed": {"model": "none"}}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokens") / "notes.duckdb"


@pytest.fixture(scope="module")
def tokens(store: Path) -> dict[str, str]:
    """One of each kind, by its name."""
    made = run_json(store, "create", "--tenant", "acme", "--note", "all of acme")
    assert made["classes"] == ["public", "internal", "pii", "secret"]
    assert "hash" not in made
    return {
        "acme": made["token"],
        "billing": token(store, tenant="acme", project="billing")[0],
        "public": token(store, tenant="acme", classes=["public"])[0],
        "other": token(store, tenant="other")[0],
        "brief": token(store, tenant="acme", seconds=0.01)[0],  # over before any server is up
    }


@pytest.fixture(scope="module")
def server(store: Path, tokens: dict[str, str]) -> Iterator[ScalepanServer]:
    with serving(store, "--rate", "0") as running:
        yield running


@pytest.fixture
def client(server: ScalepanServer, tokens: dict[str, str]) -> Any:
    opened: list[httpx2.Client] = []

    def of(name: str, **headers: str) -> httpx2.Client:
        opened.append(server.client(tokens[name], **headers))
        return opened[-1]

    yield of
    for one in opened:
        one.close()


def add(http: httpx2.Client, text: str, **more: str) -> httpx2.Response:
    return http.post("/v1/memory/add", json={"text": text, **more})


def found(http: httpx2.Client, query: str) -> list[str]:
    answer = http.post("/v1/memory/search", json={"query": query, "k": 100})
    assert answer.status_code == 200, answer.text
    return [claim["id"] for claim in answer.json()["claims"]]


def test_without_a_good_token_nothing_opens(server: ScalepanServer, tokens: dict[str, str]) -> None:
    good = tokens["acme"]
    wrong = [
        None,
        "Bearer",
        "Bearer nonsense",
        f"Basic {good}",
        good,
        f"Bearer {good}x",
        f"Bearer {good[:-1]}",
        f"Bearer {good[:-1]}{'A' if good[-1] != 'A' else 'B'}",
        f"Bearer {tokens['other'][:23]}{good[23:]}",  # one's id, another's secret
        f"Bearer {tokens['brief']}",
        "Bearer " + "\x80" * 70,
    ]
    with server.client() as http:
        for said in wrong:
            headers = {b"authorization": said.encode("latin-1")} if said is not None else {}
            for path in ("/v1/policy", "/mcp", "/metrics", "/v1/nothing", "/nothing"):
                answer = http.get(path, headers=headers)
                assert answer.status_code == 401, (said, path)
                assert answer.headers["www-authenticate"].startswith("Bearer")
                assert answer.json()["error"]["code"] == "BOUNDARY_DENIED"
                assert said is None or said[7:] == "" or said[7:] not in answer.text
            assert (
                http.post("/v1/confidence", json={"factors": {"source_count": 2}}, headers=headers).status_code == 401
            )
        for path in ("/healthz", "/openapi.json", "/"):
            assert http.get(path).status_code == 200
        assert http.get("/v1/policy", headers={"authorization": f"bearer {good}"}).status_code == 200
        twice = [("authorization", f"Bearer {good}"), ("authorization", "Bearer x")]
        assert http.get("/v1/policy", headers=twice).status_code == 400


def test_a_tenant_sees_nothing_of_another(client: Any) -> None:
    acme, other = client("acme"), client("other")
    id_ = add(acme, "Acme ships on Tuesdays").json()["id"]
    add(other, "Other ships on Fridays")
    assert id_ in found(acme, "ships on")
    assert len(found(other, "ships on")) == 1
    assert id_ not in found(other, "ships on")
    assert other.get(f"/v1/memory/claims/{id_}").status_code == 404
    assert other.post("/v1/memory/vote", json={"claim": id_, "signal": "harmful"}).status_code == 404
    assert other.post("/v1/memory/forget", json={"claims": [id_]}).status_code == 404
    decided = acme.post("/v1/decide", json={"action": "ship", "factors": {"source_count": 2}}).json()["decision_id"]
    assert acme.get(f"/v1/decisions/{decided}").status_code == 200
    assert other.get(f"/v1/decisions/{decided}").status_code == 404
    assert decided not in other.get("/v1/events").text
    assert acme.get(f"/v1/memory/claims/{id_}").status_code == 200
    actor = acme.get(f"/v1/memory/claims/{id_}").json()["claim"]["provenance"]["actor"]
    assert actor.startswith("token ")


def test_a_token_of_one_project_opens_no_other(client: Any) -> None:
    id_ = add(client("acme"), "The roadmap is drawn in June").json()["id"]
    assert client("billing").get(f"/v1/memory/claims/{id_}").status_code == 404
    answer = client("billing", **{"scalepan-project": "default"}).get(f"/v1/memory/claims/{id_}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "BOUNDARY_DENIED")
    decide = {"action": "ship", "args": {"to": "Bo"}, "factors": {"source_count": 2}}
    decided = client("acme").post("/v1/decide", json=decide).json()["decision_id"]
    assert client("acme").get(f"/v1/decisions/{decided}").status_code == 200
    assert client("billing").get(f"/v1/decisions/{decided}").status_code == 404
    assert client("billing").post("/v1/decide", json={"decision": decided}).status_code == 404
    assert client("billing").post("/v1/explain", json={"id": decided}).status_code == 404
    assert decided not in client("billing").get("/v1/events").text
    mine = add(client("billing"), "Invoices are blue").json()["id"]
    assert client("acme", **{"scalepan-project": "billing"}).get(f"/v1/memory/claims/{mine}").status_code == 200


def test_classes_narrow_what_a_token_reaches(client: Any) -> None:
    whole, public = client("acme"), client("public")
    internal = add(whole, "Salaries are paid on the 25th", boundary_class="internal").json()["id"]
    open_ = add(whole, "Salaries are a topic of the handbook", boundary_class="public").json()["id"]
    assert {internal, open_} <= set(found(whole, "salaries"))
    assert found(public, "salaries") == [open_]
    activated = public.post("/v1/memory/activate", json={"query": "salaries paid"}).json()
    assert internal not in [claim["id"] for claim in activated["claims"]]
    assert public.get(f"/v1/memory/claims/{internal}").status_code == 404
    assert public.post("/v1/memory/vote", json={"claim": internal, "signal": "harmful"}).status_code == 404
    assert public.post("/v1/memory/forget", json={"claims": [internal]}).status_code == 404
    assert whole.post("/v1/explain", json={"id": internal}).status_code == 200
    assert public.post("/v1/explain", json={"id": internal}).status_code == 404
    assert add(public, "Anything", boundary_class="internal").status_code == 403
    # The same words as a hidden claim's: kept once more, as if nobody had said them. A refusal would tell.
    again = add(public, "Salaries are paid on the 25th", boundary_class="public").json()
    assert (again["created"], again["id"] != internal) == (True, True)
    assert add(public, "Offices open at nine", boundary_class="public").status_code == 200
    assert whole.get(f"/v1/memory/claims/{internal}").json()["claim"]["boundary_class"] == "internal"


def test_classes_never_widen_what_the_policy_opens(client: Any, store: Path) -> None:
    with Memory(store, tenant="acme", policy=NO_MODEL) as memory:
        id_ = memory.add("Aoi likes tea", boundary_class="pii")
    assert client("acme").get(f"/v1/memory/claims/{id_}").status_code == 404
    assert id_ not in found(client("acme"), "tea")


def test_a_revoked_token_opens_nothing_within_a_second(server: ScalepanServer, store: Path) -> None:
    value, id_ = token(store, tenant="acme")
    time.sleep(1.1)
    with server.client(value) as http:
        assert http.get("/v1/policy").status_code == 200
        assert run_json(store, "revoke", id_)["state"] == "revoked"
        time.sleep(1.1)
        assert http.get("/v1/policy").status_code == 401
    with Store(store) as opened:
        events = opened.sql("SELECT payload FROM events WHERE topic = 'token' ORDER BY ts")
    assert f'{{"token":"{id_}","change":"revoked"}}' in [payload for (payload,) in events]


def test_a_stream_ends_with_its_token(server: ScalepanServer, store: Path) -> None:
    value, id_ = token(store, tenant="acme")
    time.sleep(1.1)
    sent = 0

    def lines() -> Iterator[bytes]:
        nonlocal sent
        for sent in range(40):
            if sent == 3:
                run_json(store, "revoke", id_)
            yield b'{"factors": {"source_count": 2}}\n'
            time.sleep(0.1)

    with server.client(value) as http:
        answer = http.post("/v1/confidence", content=lines(), headers=NDJSON)
    *good, last = [json.loads(line) for line in answer.text.splitlines()]
    assert 3 <= len(good) <= 3 + 15 + 1  # a second after the revocation, and some time to spare
    assert all("confidence" in one for one in good)
    assert last["error"] == {"code": "BOUNDARY_DENIED", "message": "this token is not valid"}


def test_a_stream_takes_its_turns(tmp_path: Path) -> None:
    line = b'{"factors": {"source_count": 2}}\n'
    with serving(tmp_path / "a.duckdb", "--rate", "0.5") as running, running.client() as http:
        started = time.monotonic()
        answer = http.post("/v1/confidence", content=line * 3, headers=NDJSON)
        assert answer.text.count('"confidence":') == 3
        assert (
            time.monotonic() - started > 1
        )  # the bucket holds one turn, for coming in; the next is there in two seconds


def test_the_token_itself_is_kept_nowhere(server: ScalepanServer, store: Path, tokens: dict[str, str]) -> None:
    with server.client(tokens["acme"]) as http:
        http.post("/v1/confidence", content=b"{", headers=JSON)
        http.get("/v1/events")
    secret = tokens["acme"].split("_", 2)[2].encode()  # the secret itself may hold a "_"
    for file in store.parent.rglob("*"):
        if file.is_file():
            assert secret not in file.read_bytes(), file


def test_others_can_only_reach_a_server_that_has_a_token(tmp_path: Path) -> None:
    store = tmp_path / "notes.duckdb"
    process = start(store, "--host", "0.0.0.0", "--port", "0")
    _, told = process.communicate(timeout=30)
    assert process.returncode == 2
    assert told.decode() == (
        "scalepan: --host: 0.0.0.0 can be reached by others, so a token is needed first: scalepan serve token create\n"
    )
    value, _ = token(store)
    with serving(store, "--host", "0.0.0.0", "--allow-host", "scalepan.example") as running:
        url = f"http://127.0.0.1:{running.port}"
        with httpx2.Client(base_url=url, trust_env=False) as http:
            bearer = {"authorization": f"Bearer {value}"}
            assert http.get("/v1/policy").status_code == 401
            assert http.get("/v1/policy", headers=bearer).status_code == 200
            assert http.get("/v1/policy", headers={**bearer, "host": "scalepan.example"}).status_code == 200
            assert http.get("/v1/policy", headers={**bearer, "host": "evil.example"}).status_code == 403


def test_loopback_asks_for_a_token_once_there_was_one(tmp_path: Path) -> None:
    store = tmp_path / "notes.duckdb"
    with serving(store) as running, running.client() as http:
        assert http.get("/v1/policy").status_code == 200
        assert http.get("/v1/policy", headers={"authorization": "Bearer nonsense"}).status_code == 401
        value, _ = token(store)
        time.sleep(1.1)
        assert http.get("/v1/policy").status_code == 401
        with Store(store) as opened:
            revoke(opened, value)
        time.sleep(1.1)
        assert http.get("/v1/policy").status_code == 401
    with serving(tmp_path / "other.duckdb", "--require-token") as running, running.client() as http:
        assert http.get("/v1/policy").status_code == 401


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["create", "--classes", "public,secrt"], "classes: classes are public, internal, pii, secret"),
        (["create", "--expires", "999999w"], "--expires: '999999w' is over a hundred years"),
        (["create", "--tenant", ""], "tenant: is empty"),
        (["create", "--project", ""], "project: is empty"),
        (["create", "--expires", "soon"], "--expires: 'soon' is not a time such as 30m, 12h or 90d"),
        (["revoke", "scalepan_0000000000000000_abcdefgh"], "no token '0000000000000000'"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, words: list[str], line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scalepan", "serve", "token", *words, "--store", str(tmp_path / "a.duckdb")],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr
    assert "abcdefgh" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_question_is_answered_by_a_token_that_may_and_did_not_ask(
    server: ScalepanServer, store: Path, client: Any
) -> None:
    unsure = {"search_result_count": 1, "search_max_score": 0.5, "source_count": 1}
    asked = {"action": "refund", "args": {"order": 17, "note": "mail ann@example.com"}, "factors": unsure}
    made = {
        name: token(store, tenant="acme", may_answer=True, **more)[0]
        for name, more in {"person": {}, "other": {}, "project": {"project": "support"}}.items()
    }
    agent = client("acme")
    waits = agent.post("/v1/decide", json=asked).json()
    assert waits["question"] == (
        'Approve refund(order=17, note="mail [pii:email]")? The agent is 52 % confident; below 70 % it must ask.'
    )
    url, yes = f"/v1/decisions/{waits['decision_id']}/answer", {"approve": True, "actor": "Aoi", "why": "fine"}
    assert url in waits["how_to_answer"]
    time.sleep(1.1)  # a server sees new tokens within a second
    with (
        server.client(made["person"]) as person,
        server.client(made["other"]) as other,
        server.client(made["project"]) as narrow,
        server.client() as nobody,
    ):
        assert agent.post(url, json=yes).status_code == 403
        assert agent.get("/v1/decisions").status_code == 403
        assert client("other").post(url, json=yes).status_code == 403
        assert nobody.post(url, json=yes).status_code == 401
        assert narrow.post(url, json=yes).status_code == 404
        assert narrow.get("/v1/decisions").json()["decisions"] == []
        bad: list[Any] = [{}, {"approve": "yes"}, {"approve": True, "by": "x"}, {"approve": True, "actor": "a\x1b"}, []]
        for wrong in bad:
            assert person.post(url, json=wrong).status_code == 422, wrong
        assert person.post(url, content=b"{", headers=JSON).status_code == 400
        assert person.post(url, json=yes, headers=NDJSON).status_code == 415
        assert waits["decision_id"] in [one["decision_id"] for one in person.get("/v1/decisions").json()["decisions"]]
        done = person.post(url, json=yes)
        assert done.status_code == 200, done.text
        assert (done.json()["allowed"], done.json()["why"]) == (True, "fine")
        assert done.json()["decided_by"].startswith("Aoi (token ")
        assert person.post(url, json={"approve": False}).status_code == 409
        assert agent.post("/v1/decide", json={"decision": waits["decision_id"]}).json()["allowed"]
        # Whoever asked does not answer, though the token may.
        own = person.post("/v1/decide", json=asked).json()["decision_id"]
        refused = person.post(f"/v1/decisions/{own}/answer", json=yes)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "BOUNDARY_DENIED")
        assert other.post(f"/v1/decisions/{own}/answer", json={"approve": False}).json()["state"] == "denied"
    with Store(store) as opened:
        assert opened.sql("SELECT * FROM labels") == []
