"""The judge at full size, over TLS, and from processes that end badly."""

import os
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from scalepan.cache import Cache
from scalepan.judge import Judge, Prompt
from scalepan.policy import load_policy
from tests.modelserver import ModelServer, Reply, Request, says, slow
from tests.real.stress import rounds

KEY = "sk-real-3f9Qz7LmNpVx0aBcDeFgHiJk"
COUNT = rounds(2_000)


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the tests' own, and no other."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("SCALEPAN_JUDGE_KEY", KEY)


def number_in(request: Request) -> int:
    return int(request.prompt.split("number ")[1].split(" ")[0])


def sometimes_troubled(request: Request) -> Reply:
    """Answers with the number that it is asked about; now and then it is busy, broken, or gone."""
    number = number_in(request)
    match request.number % 500:
        case 100:
            return Reply(429, b"{}", {"Retry-After": "0.02"})
        case 200:
            return Reply(500, b"{}")
        case 300:
            return Reply(drop=True)
        case _:
            return says(f'{{"score": {number / COUNT}}}', delay=0.04 + 0.005 * (number % 5))(request)


def test_thousands_of_answers_in_order_and_a_second_run_calls_nothing(tmp_path: Path) -> None:
    with ModelServer(sometimes_troubled) as server:
        settings = {"base_url": server.base_url, "model": "stand-in", "concurrency": 32, "backoff_s": 0.01}
        policy = load_policy(overrides={"judge": settings})
        prompts = [
            Prompt(text="Good? {answer}", values={"answer": f"number {n} password=hunter2-{n}-secret"})
            for n in range(COUNT)
        ]
        told: list[int] = []
        started = time.perf_counter()
        with Judge(policy, cache=Cache(tmp_path / "cache.sqlite")) as judge:
            first = judge.ask_many(prompts, told.append)
        took, calls = time.perf_counter() - started, server.calls
        assert [one.value for one in first] == [n / COUNT for n in range(COUNT)]
        assert told == list(range(1, COUNT + 1))
        assert calls == sum(one.calls for one in first)
        assert COUNT < calls < COUNT * 1.02  # each trouble cost one call
        assert 16 < server.at_once <= 32
        assert server.connections <= 32 + calls // 500 + 1  # kept, but for those that were dropped
        started = time.perf_counter()
        with Judge(policy, cache=Cache(tmp_path / "cache.sqlite")) as judge:
            second = judge.ask_many(prompts)
        again = time.perf_counter() - started
        assert server.calls == calls
        assert [one.value for one in second] == [one.value for one in first]
        assert all(one.cached for one in second)
        print(f"{COUNT:,} judged in {took:.1f} s ({calls:,} calls), again in {again:.1f} s")
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert (KEY.encode() in kept, b"hunter2" in kept, b"hunter2" in server.received) == (False, False, False)


@pytest.fixture
def self_signed(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """An endpoint over TLS that nobody vouches for, and what it was asked."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command")
    made = [
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "key.pem",
        "-out",
        "cert.pem",
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
    ]
    subprocess.run(
        ["openssl", "req", "-x509", *made, "-addext", "subjectAltName=DNS:localhost"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.headers["Authorization"])
            body = says("0.8")(Request(1, "", {}, {})).body
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://localhost:{server.server_address[1]}/v1", asked
    server.shutdown()
    server.server_close()


def test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent(
    self_signed: tuple[str, list[str]],
) -> None:
    url, asked = self_signed
    policy = load_policy(overrides={"judge": {"base_url": url, "model": "m", "cache": False, "retries": 0}})
    prompt = Prompt(text="Good? {answer}", values={"answer": "a"})
    with Judge(policy) as judge:
        reason = judge.ask(prompt).reason
    assert "cannot be reached" in reason
    assert "CERTIFICATE_VERIFY_FAILED" in reason or "certificate" in reason.lower()
    assert asked == []


# A shell that starts the tests in the background has them, and all their children, ignore Ctrl-C.
ASK = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from scalepan.judge import Judge, Prompt
judge = Judge()
prompts = [Prompt(text="Good? {answer}", values={"answer": f"number {n} of it"}) for n in range(int(sys.argv[1]))]
print("asking", flush=True)
print([one.value for one in judge.ask_many(prompts)], flush=True)
"""


def asking(server: ModelServer, count: int, folder: Path) -> subprocess.Popen[str]:
    env = {
        **os.environ,
        "SCALEPAN_JUDGE__BASE_URL": server.base_url,
        "SCALEPAN_JUDGE__MODEL": "stand-in",
        "SCALEPAN_CACHE": str(folder),
        "PYTHONWARNINGS": "always::ResourceWarning",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", ASK, str(count)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "asking\n"
    return process


def test_a_process_ends_quietly_though_the_judge_was_not_closed(tmp_path: Path) -> None:
    with ModelServer(says("0.5")) as server:
        out, err = asking(server, 3, tmp_path).communicate(timeout=60)
    assert out == "[0.5, 0.5, 0.5]\n"
    assert (err, server.calls) == ("", 3)


def test_ctrl_c_ends_a_batch_at_once_and_what_was_judged_is_kept(tmp_path: Path) -> None:
    def first_fast(request: Request) -> Reply:
        return says("0.5")(request) if number_in(request) < 5 else slow(60)(request)

    with ModelServer(first_fast) as server:
        process = asking(server, 100, tmp_path)
        for _ in range(1000):
            if server.calls >= 5 + 8:
                break
            time.sleep(0.01)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert time.monotonic() - started < 15
        assert "KeyboardInterrupt" in err
        assert KEY not in err
        assert server.calls == 13
        server.behaviour = says("0.7")
        out, _ = asking(server, 6, tmp_path).communicate(timeout=60)
    assert out == "[0.5, 0.5, 0.5, 0.5, 0.5, 0.7]\n"
    assert server.calls == 14
