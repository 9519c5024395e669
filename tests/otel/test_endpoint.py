"""Sending to an OTLP endpoint: a real server that is well, busy, slow, rude or away."""

import socket
from typing import Any

import pytest

from scalepan.errors import DeliveryError, InputError
from scalepan.otel.endpoint import OtlpEndpoint
from tests.modelserver import Behaviour, ModelServer, Reply, drops, fails, in_turn

BODY = b'{"resourceLogs":[]}'


def accepts(body: bytes = b"{}", **options: Any) -> Behaviour:
    return lambda _: Reply(body=body, **options)


def endpoint(server: ModelServer, **options: Any) -> OtlpEndpoint:
    return OtlpEndpoint(f"http://127.0.0.1:{server.port}", **{"backoff_s": 0.001, **options})


def test_a_request_as_otlp_wants_it() -> None:
    with ModelServer(accepts()) as server:
        to = endpoint(server)
        assert to.post(BODY) == to.post(BODY) == (0, "")
        to.close()
    assert server.connections == 1
    (first, _) = server.requests
    assert (first.path, first.headers["content-type"], first.body) == (
        "/v1/logs",
        "application/json",
        {"resourceLogs": []},
    )
    assert first.headers["user-agent"].startswith("scalepan/")
    assert "authorization" not in first.headers


@pytest.mark.parametrize(
    ("url", "name", "path"),
    [
        ("http://127.0.0.1:{}", "http://127.0.0.1:{}/v1/logs", "/v1/logs"),
        ("http://127.0.0.1:{}/", "http://127.0.0.1:{}/v1/logs", "/v1/logs"),
        ("http://127.0.0.1:{}/v1/logs", "http://127.0.0.1:{}/v1/logs", "/v1/logs"),
        ("http://127.0.0.1:{}/api/otel/", "http://127.0.0.1:{}/api/otel/v1/logs", "/api/otel/v1/logs"),
        # What may be secret is sent, and shown nowhere.
        ("http://127.0.0.1:{}/?team=blue", "http://127.0.0.1:{}/v1/logs", "/v1/logs?team=blue"),
        ("http://ann:pw@127.0.0.1:{}", "http://127.0.0.1:{}/v1/logs", "/v1/logs"),
    ],
)
def test_an_address(url: str, name: str, path: str) -> None:
    with ModelServer(accepts()) as server:
        to = OtlpEndpoint(url.format(server.port))
        to.post(BODY)
        to.close()
    assert to.name == name.format(server.port)
    assert server.requests[0].path == path
    # ann:pw in base64
    assert server.requests[0].headers.get("authorization") == ("Basic YW5uOnB3" if "ann" in url else None)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("grpc://collector:4317", "events: 'grpc://collector' is not an http or https address such as"),
        ("http://", "events: 'http://' is not an http or https address"),
        ("http://host:0", "is not an http or https address"),
        ("http://host:99999", "events: is not an address: Port out of range"),
        ("http://[::1", "events: is not an address"),
        ("http://host/a b", "has characters that an address cannot hold"),
        ("http://host/a\r\nX-Evil: 1", "has characters that an address cannot hold"),
        ("http://host/日本", "has characters that an address cannot hold"),
        ("http://ann:hunter2@example.com", "'http://example.com' would send the password unencrypted; use https"),
    ],
)
def test_an_address_that_is_none(url: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        OtlpEndpoint(url)
    assert problem in str(error.value)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("first", [fails(429), fails(502), fails(503, retry_after="0"), fails(504), drops()])
def test_a_busy_server_is_asked_again(first: Behaviour) -> None:
    with ModelServer(in_turn(first, first, accepts())) as server:
        to = endpoint(server)
        assert to.post(BODY) == (0, "")
        to.close()
    assert server.calls == 3


@pytest.mark.parametrize(
    ("behaviour", "problem", "calls"),
    [
        (fails(503), "answered 503 (3 tries)", 3),
        (drops(), "cannot be reached: Remote end closed connection without response (3 tries)", 3),
        (fails(400), "answered 400", 1),
        (fails(500), "answered 500", 1),  # OTLP: not to be repeated
        (lambda _: Reply(401, b'{"message": "no such key"}'), "answered 401: no such key", 1),
        (fails(429, retry_after="3600"), "answered 429", 1),  # nobody waits for an hour
        (
            lambda _: Reply(307, headers={"Location": "http://elsewhere.example/v1/logs?token=1"}),
            "redirects to http://elsewhere.example/v1/logs, which is not followed; name the address itself",
            1,
        ),
    ],
)
def test_a_server_that_does_not_take_it(behaviour: Behaviour, problem: str, calls: int) -> None:
    with ModelServer(behaviour) as server:
        to = endpoint(server, tries=3)
        with pytest.raises(DeliveryError) as error:
            to.post(BODY)
        to.close()
    assert str(error.value) == f"{to.name} {problem}"
    assert server.calls == calls


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        to = OtlpEndpoint(f"http://127.0.0.1:{port}", tries=2, backoff_s=0.001)
        with pytest.raises(DeliveryError, match=r"cannot be reached: Connection refused \(2 tries\)"):
            to.post(BODY)


@pytest.mark.parametrize(
    "behaviour",
    [
        accepts(delay=30),
        # A byte now and then keeps a socket's own limit from passing.
        lambda _: Reply(503, b"x" * 10_000, drip=0.02),
    ],
)
def test_one_limit_for_the_whole_reply(behaviour: Behaviour) -> None:
    with ModelServer(behaviour) as server:
        to = endpoint(server, tries=1, try_s=0.3)
        with pytest.raises(DeliveryError, match=r"answered 503|no answer within 0\.3 s"):
            to.post(BODY)
        to.close()


def test_a_user_who_stops_waits_for_one_short_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalepan.otel.endpoint.STOPPED_S", 0.2)
    with ModelServer(accepts(delay=30)) as server:
        to = endpoint(server)
        with pytest.raises(DeliveryError, match=r"no answer within 0\.2 s$"):
            to.post(BODY, once=True)
        to.close()
    assert server.calls == 1


def test_a_user_who_stops_does_not_wait_for_retries() -> None:
    with ModelServer(fails(503)) as server:
        to = endpoint(server)
        with pytest.raises(DeliveryError):
            to.post(BODY, once=True)
        to.close()
    assert server.calls == 1


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (b'{"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too old"}}', (2, "too old")),
        (b'{"partialSuccess": {"errorMessage": "use gzip"}}', (0, "use gzip")),
        (b'{"partialSuccess": {"rejectedLogRecords": -5}}', (0, "")),
        (b'{"partialSuccess": {"rejectedLogRecords": "many"}}', (0, "")),
        (b"{}", (0, "")),
        (b"", (0, "")),
        (b"\x0a\x00", (0, "")),  # protobuf, from a server that does not look at Accept
        (b"[" * 100_000, (0, "")),
        (b"x" * 1_000_000, (0, "")),
    ],
)
def test_what_a_server_rejects(reply: bytes, expected: tuple[int, str]) -> None:
    with ModelServer(accepts(reply)) as server:
        to = endpoint(server)
        assert to.post(BODY) == expected
        assert to.post(BODY) == expected  # a reply that was not read to its end is not taken for the next one
        to.close()


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ModelServer(accepts()) as server:
        to = endpoint(server)
        assert to.post(BODY) == (0, "")
        to.close()
