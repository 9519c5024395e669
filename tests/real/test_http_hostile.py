"""What strangers, broken clients and signals do to a real `scalepan serve`: it refuses, goes on, and loses nothing."""

import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("uvicorn")

from scalepan.memory import Memory
from scalepan.serve.http.protocol import MOST_OF_ONE
from scalepan.store.own import Nothing
from tests.scalepanserver import JSON, NDJSON, ScalepanServer, serving, start, token

NO_MODEL = {"embed": {"model": "none"}}
POST = b"POST /v1/memory/add HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile") / "notes.duckdb"


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[ScalepanServer]:
    with serving(store, "--body-seconds", "1", "--max-body", "1000000", "--rate", "0") as running:
        yield running


@pytest.fixture
def http(server: ScalepanServer) -> Iterator[httpx2.Client]:
    with server.client() as client:
        yield client
    assert httpx2.get(f"{server.url}/healthz", trust_env=False).json()["ok"]


def raw(server: ScalepanServer, sent: bytes, seconds: float = 10.0) -> bytes:
    """What the server says to these bytes, until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as channel:
        channel.sendall(sent)
        return rest(channel)


def rest(channel: socket.socket) -> bytes:
    said = b""
    try:
        while part := channel.recv(65536):
            said += part
    except (ConnectionResetError, TimeoutError):
        pass
    return said


def memory_of(process: Any) -> int:
    """Bytes that a process holds."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    return int(found[1]) * 1024


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil", "", "[::2]"]
)
def test_another_host_is_refused(http: httpx2.Client, host: str) -> None:
    for path in ("/v1/policy", "/healthz", "/mcp", "/"):
        answer = http.get(path, headers={"host": host})
        assert answer.status_code == 403, path
        assert answer.json()["error"]["code"] == "BOUNDARY_DENIED"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "[::1]:99"])
def test_this_machine_goes_by_several_names(http: httpx2.Client, host: str) -> None:
    assert http.get("/v1/policy", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000", "", "http://127.0.0.1"])
def test_another_origin_is_refused(http: httpx2.Client, origin: str) -> None:
    answer = http.post("/v1/confidence", json={"factors": {"source_count": 2}}, headers={"origin": origin})
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert http.post("/mcp", json={}, headers={"origin": origin}).status_code == 403


def test_same_origin_is_not(http: httpx2.Client, server: ScalepanServer) -> None:
    answer = http.get("/v1/policy", headers={"origin": server.url, "sec-fetch-site": "same-origin"})
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert http.get("/v1/policy", headers={"sec-fetch-site": "cross-site"}).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "//v1/policy", "/v1//policy", "/v1/../v1/policy", "/v1/%2e%2e/policy", "/v1%2fpolicy", "/v1/policy%00",
        "/v1/policy/", "/V1/policy", "/v1/memory/claims/../../policy", "/v1/memory/claims/%2e%2e%2f%2e%2e%2fetc",
        "/v1/memory/claims/a%00b", "/v1/memory/claims/%c0%af", "/v1/memory/claims/" + "x" * 5000, "/..;/metrics",
        "/v1/memory/claims/%ff", "/v1\\policy", "/v1/policy;a=b", "/.git/config", "/v1/memory/claims/",
    ],
)  # fmt: skip
def test_path_tricks_lead_nowhere(http: httpx2.Client, server: ScalepanServer, path: str) -> None:
    said = raw(server, f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
    assert re.match(rb"HTTP/1.1 40[04] ", said), said[:200]
    assert b"Traceback" not in said


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n",
        b"GET http://evil.example/v1/policy HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n",
        b"POST /v1/confidence HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
        b"POST /v1/confidence HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 200_000,
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 40_000,
    ],
)
def test_what_is_no_request_is_refused(http: httpx2.Client, server: ScalepanServer, sent: bytes) -> None:
    said = raw(server, sent)
    if said:
        assert re.match(rb"HTTP/1.1 4\d\d ", said), said[:200]
        told = json.loads(said.partition(b"\r\n\r\n")[2])
        assert told["error"]["code"] in ("VALIDATION_ERROR", "BOUNDARY_DENIED")
        assert f"x-request-id: {told['request_id']}".encode() in said


@pytest.mark.parametrize("length", [1, 7, 10_000])
def test_a_wish_to_upgrade_is_passed_over(http: httpx2.Client, server: ScalepanServer, length: int) -> None:
    """Java's client asks for HTTP/2 in this way by default; what follows is the body, never a request of its own."""
    head = POST.replace(b"memory/add", b"confidence") + b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n"
    last = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    for body, status in (
        (b'{"factors": {"source_count": 2}}', b"200"),
        (b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n", b"400"),
    ):
        request = head + b"content-length: %d\r\n\r\n" % len(body)
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as channel:
            channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for sent in (request, body + last):
                for start in range(0, len(sent), length):
                    channel.sendall(sent[start : start + length])
                time.sleep(0.1)
            said = rest(channel)
        assert re.findall(rb"HTTP/1.1 (\d+)", said) == [status, b"200"]
        assert said.endswith(b'"store":"reachable"}')
    assert raw(server, (request + body) * 2 + last).count(b"HTTP/1.1 ") == 3
    assert raw(server, b"CONNECT localhost:80 HTTP/1.1\r\nhost: localhost\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    websocket = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade, close\r\n\r\n"
    assert raw(server, websocket).startswith(b"HTTP/1.1 200 ")


def test_a_flood_of_faults_keeps_nobody_waiting(http: httpx2.Client, server: ScalepanServer) -> None:
    keys = b",".join(b'"search_result_coun%d":1' % number for number in range(36_000))
    started = time.monotonic()
    slow = threading.Thread(
        target=http.post, args=["/v1/confidence"], kwargs={"content": b'{"factors":{%s}}' % keys, "headers": JSON}
    )
    slow.start()
    waits = []
    while slow.is_alive():
        asked = time.monotonic()
        assert httpx2.get(f"{server.url}/", trust_env=False).status_code == 200
        waits.append(time.monotonic() - asked)
    slow.join()
    assert max(waits) < 1
    assert time.monotonic() - started < 5


def test_a_gigabyte_that_says_so_is_refused_before_it_comes(http: httpx2.Client, server: ScalepanServer) -> None:
    said = raw(server, POST + b"content-length: 1000000000\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 413 ")
    assert b"over 1,000,000 bytes" in said


def test_a_gigabyte_that_does_not_say_so_is_cut_off(http: httpx2.Client, server: ScalepanServer) -> None:
    before = memory_of(server.process)
    block = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    sent = 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as channel:
        channel.sendall(POST + b"transfer-encoding: chunked\r\n\r\n")
        try:
            for _ in range(1000):
                channel.sendall(block)
                sent += len(block)
        except (BrokenPipeError, ConnectionResetError):
            pass
        said = rest(channel)
    assert sent < 100_000_000
    assert said == b"" or said.startswith(b"HTTP/1.1 413 ")  # a client that only writes may never see it
    assert memory_of(server.process) - before < 50_000_000


def test_who_reads_is_told_why_a_body_was_cut_off(http: httpx2.Client) -> None:
    def body() -> Iterator[bytes]:
        for _ in range(50):
            yield b"x" * 100_000

    answer = http.post("/v1/memory/add", content=body(), headers=JSON)
    assert answer.status_code == 413
    assert http.post("/v1/memory/add", content=b"x" * 5_000_000, headers=JSON).status_code == 413


def test_a_line_that_is_too_long_is_only_that(http: httpx2.Client) -> None:
    fine = b'{"factors": {"source_count": 2}}\n'
    answer = http.post(
        "/v1/confidence", content=fine + b"x" * 3_000_000 + b"\n" + fine + b"y" * 1_500_000, headers=NDJSON
    )
    got = [json.loads(line) for line in answer.text.splitlines()]
    assert ["error" in one for one in got] == [False, True, False, True]
    assert [one["error"]["line"] for one in got if "error" in one] == [2, 4]


def test_a_slow_body_is_not_waited_for(server: ScalepanServer) -> None:
    started = time.monotonic()
    said = raw(server, POST + b'content-length: 100\r\n\r\n{"text": ')
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"TIMEOUT"' in said
    drip = POST.replace(b"application/json", b"application/x-ndjson") + b"content-length: 100\r\n\r\n" + b'{"te'
    said = raw(server, drip)
    assert b'"code":"TIMEOUT"' in said
    assert time.monotonic() - started < 8


def test_a_slow_head_is_not_waited_for(http: httpx2.Client, server: ScalepanServer) -> None:
    started = time.monotonic()
    for sent in (b"", b"GET / HTTP/1.1\r\nhost: local", b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\nGET /healthz HT"):
        assert raw(server, sent).count(b"HTTP/1.1 200") == sent.count(b"\r\n\r\n")
    assert time.monotonic() - started < 8


@pytest.mark.parametrize("times", [1, 30])
def test_an_empty_line_does_not_stop_the_clock(server: ScalepanServer, times: int) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as channel:
        channel.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        time.sleep(0.2)
        assert channel.recv(65536).startswith(b"HTTP/1.1 200 ")
        started = time.monotonic()
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(times):
                channel.sendall(b"\r\n")
                time.sleep(0.1)
            assert times == 1
        assert rest(channel) == b""
    assert time.monotonic() - started < 4


def test_one_address_has_not_all_connections(server: ScalepanServer) -> None:
    address = ("127.0.0.1", server.port)
    held = [socket.create_connection(address, source_address=("127.0.0.2", 0)) for _ in range(MOST_OF_ONE)]
    try:
        with socket.create_connection(address, timeout=5, source_address=("127.0.0.2", 0)) as channel:
            said = rest(channel)
        assert said.startswith(b"HTTP/1.1 503 ")
        assert json.loads(said.partition(b"\r\n\r\n")[2])["error"]["code"] == "RATE_LIMIT"
        assert raw(server, b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").startswith(
            b"HTTP/1.1 200 "
        )
    finally:
        for channel in held:
            channel.close()
    time.sleep(0.3)
    with socket.create_connection(address, timeout=5, source_address=("127.0.0.2", 0)) as channel:
        channel.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert rest(channel).startswith(b"HTTP/1.1 200 ")


def test_requests_that_follow_closely_are_each_answered(http: httpx2.Client, server: ScalepanServer) -> None:
    body = b'{"factors": {"source_count": 2}}'
    one = POST.replace(b"memory/add", b"confidence") + b"content-length: %d\r\n\r\n" % len(body) + body
    last = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    said = raw(server, one * 5 + last)
    assert said.count(b"HTTP/1.1 200 OK") == 6
    assert said.endswith(b'"store":"reachable"}')


def test_a_client_that_goes_away_harms_nobody(http: httpx2.Client, server: ScalepanServer, store: Path) -> None:
    for cut in (len(POST) // 2, len(POST), len(POST) + 25):
        with socket.create_connection(("127.0.0.1", server.port)) as channel:
            channel.sendall((POST + b'content-length: 30\r\n\r\n{"text": "half"}')[:cut])
    body = b'{"text": "Whole, but nobody waits"}'
    with socket.create_connection(("127.0.0.1", server.port)) as channel:
        channel.sendall(POST + b"content-length: %d\r\n\r\n" % len(body) + body)
        channel.shutdown(socket.SHUT_RDWR)
    with socket.create_connection(("127.0.0.1", server.port)) as channel:
        lines = b"".join(b'{"text": "line %d"}\n' % n for n in range(2000))
        head = POST.replace(b"application/json", b"application/x-ndjson")
        channel.sendall(head + b"content-length: %d\r\n\r\n" % (2 * len(lines)) + lines)
        channel.recv(100)
    assert http.post("/v1/memory/add", json={"text": "still here"}).status_code == 200
    deadline = time.monotonic() + 5
    while "scalepan_requests_in_flight 1\n" not in http.get("/metrics").text:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    gone = re.search(r'scalepan_requests_total\{operation="memory_add",code="499"\} (\d+)', http.get("/metrics").text)
    assert gone
    # Half a body and half a stream; the whole body may have been answered before its client was seen to go.
    assert int(gone[1]) >= 2


def test_who_comes_too_often_waits(tmp_path: Path) -> None:
    with serving(tmp_path / "a.duckdb", "--rate", "5") as running, running.client() as http:
        answers = [http.post("/v1/confidence", json={"factors": {"source_count": 2}}) for _ in range(30)]
        assert {answer.status_code for answer in answers} == {200, 429}
        late = next(answer for answer in answers if answer.status_code == 429)
        assert late.json()["error"]["code"] == "RATE_LIMIT"
        assert int(late.headers["retry-after"]) >= 1


def test_who_only_begins_to_send_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Not with a token, whose body is awaited, nor without one, whose body is thrown away."""
    store = tmp_path / "a.duckdb"
    value, _ = token(store)
    begun = POST + b"content-length: 10\r\n"
    bearer = b"authorization: Bearer %s\r\n" % value.encode()
    lines = POST.replace(b"application/json", b"application/x-ndjson") + b"content-length: 10\r\n"
    with serving(store, "--at-once", "2") as running, running.client(value) as http:
        for head in (begun, begun.replace(b"localhost", b"evil"), begun + bearer, lines + bearer):
            held = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(5)]
            for channel in held:
                channel.sendall(head + b"\r\n{")
            time.sleep(0.2)
            assert http.get("/v1/policy").status_code == 200
            for channel in held:
                channel.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_in_mid_flight_loses_nothing(tmp_path: Path, number: int) -> None:
    store = tmp_path / "notes.duckdb"
    acknowledged: list[str] = []
    begun = threading.Barrier(5)

    def add(client: httpx2.Client, name: int) -> None:
        begun.wait()
        for count in range(10_000):
            try:
                answer = client.post("/v1/memory/add", json={"text": f"writer {name} says {count}"})
            except httpx2.TransportError:
                return
            assert answer.status_code == 200, answer.text
            acknowledged.append(answer.json()["id"])

    with serving(store, "--rate", "0", "--stop-seconds", "2") as running:
        with running.client() as warm:
            warm.post("/v1/memory/add", json={"text": "first"})
        # One stream that goes on for as long as it is let.
        stream = socket.create_connection(("127.0.0.1", running.port), timeout=20)
        head = POST.replace(b"application/json", b"application/x-ndjson")
        stream.sendall(head + b"content-length: 1000000\r\n\r\n" + b'{"text": "of a stream"}\n')
        clients = [running.client() for _ in range(4)]
        writers = [threading.Thread(target=add, args=(client, name)) for name, client in enumerate(clients)]
        for writer in writers:
            writer.start()
        begun.wait()
        time.sleep(0.7)
        started = time.monotonic()
        assert running.stop(number) == 0
        assert time.monotonic() - started < 16
        for writer in writers:
            writer.join(10)
        for client in clients:
            client.close()
        told = rest(stream)
        stream.close()
    found = re.search(rb'"id":"(clm_\w+)"', told)
    assert found
    acknowledged.append(found[1].decode())
    assert len(acknowledged) > 10
    with Memory(store, policy=NO_MODEL) as memory:
        assert [memory.get(id_).id for id_ in acknowledged] == acknowledged
        assert memory.store.call("store.check", Nothing()).problems == []


def test_a_port_that_is_taken_is_one_line(server: ScalepanServer, tmp_path: Path) -> None:
    process = start(tmp_path / "a.duckdb", "--port", str(server.port))
    _, told = process.communicate(timeout=30)
    assert process.returncode == 2
    assert told.decode() == f"scalepan: 127.0.0.1:{server.port}: cannot listen there: Address already in use\n"


def test_a_store_that_cannot_be_opened_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.duckdb").write_bytes(b"no store at all" * 1000)
    process = start(tmp_path / "a.duckdb", "--port", "0")
    _, told = process.communicate(timeout=30)
    assert process.returncode == 2
    assert told.startswith(b"scalepan: ")
    assert told.count(b"\n") == 1
    assert b"serving" not in told


def test_options_of_the_server_before_a_subcommand_are_not_lost(tmp_path: Path) -> None:
    process = start(tmp_path / "a.duckdb", "token", "list")  # scalepan serve --store a.duckdb token list
    _, told = process.communicate(timeout=30)
    assert process.returncode == 2
    assert b"--store before 'token' is for the server; put it last" in told
