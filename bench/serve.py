"""What MCP and HTTP cost: a tool call over stdio compared with the library call, requests per second, memory, startup.

The store has 10,000 made-up claims, and words alone are searched, so that the encoder's time is in neither side. The
stdio client writes plain JSON-RPC lines: the time of a client's SDK is shown separately. Over HTTP, a server in its
own process answers `POST /v1/confidence`, and its CPU time is read from the system: "on one core" is requests per
second of that. The peer is a bare Starlette application in the same server, uvicorn, which decodes the same body and
answers with a constant of the same length.

python -m bench.serve [REQUESTS]        how many requests memory is measured over; default 100,000
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

import numpy as np

from bench.memory import SEED, texts, words
from bench.timing import row
from scalepan.memory import Memory

CLAIMS = 10_000
CALLS = 300
STARTS = 5
RATE_REQUESTS = 5_000
CONNECTIONS = 4
OVER_MS, RATE, START_SECONDS, GROWN_MB = 3.0, 1000.0, 1.5, 10.0
"""The targets: overhead of a call; requests per second of CPU; startup; memory growth from a tenth to the end."""
FACTORS = {"factors": {"search_result_count": 3, "search_max_score": 0.8, "source_count": 2}}
WORDS_ONLY = {"SCALEPAN_EMBED__MODEL": "none"}
PEER = """
import sys, uvicorn, msgspec
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
answer = b"{" + b" " * (int(sys.argv[2]) - 2) + b"}"
async def confidence(request):
    msgspec.json.decode(await request.body())
    return Response(answer, media_type="application/json")
app = Starlette(routes=[Route("/v1/confidence", confidence, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", access_log=False)
"""


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p90 in milliseconds."""
    p50, p90 = np.percentile(seconds, [50, 90]) * 1000
    return float(p50), float(p90)


def verdict(label: str, value: str, target: str, holds: bool) -> None:
    row(label, value, target, "holds" if holds else "MISSED")


class Stdio:
    """A client of `scalepan mcp` that does nothing but write and read lines."""

    def __init__(self, store: Path) -> None:
        started = perf_counter()
        command = [sys.executable, "-m", "scalepan", "mcp", "--store", str(store)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | WORDS_ONLY,
        )
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.ask("initialize", hello)
        self.started = perf_counter() - started
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One request and its answer."""
        assert self.process.stdout is not None
        self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        while "id" not in (message := json.loads(self.process.stdout.readline())):
            pass
        if "error" in message or message["result"].get("isError"):
            sys.exit(f"{method} failed: {message}")
        return dict(message["result"])

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool."""
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def close(self) -> None:
        """End it as clients do."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


def timed(work: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    """How long each takes, with a pause for the event that each search writes."""
    taken = []
    for query in queries:
        started = perf_counter()
        work(query)
        taken.append(perf_counter() - started)
        sleep(0.005)
    return taken


def stdio(store: Path, queries: Sequence[str]) -> None:
    """Searches by the library and over stdio, in turns; and the start."""
    starts = []
    for _ in range(STARTS):
        client = Stdio(store)
        starts.append(client.started)
        client.close()
    library: list[float] = []
    piped: list[float] = []
    for part in range(3):
        some = queries[part::3]
        with Memory(store, policy={"embed": {"model": "none"}}) as memory:
            memory.search(some[0])
            library += timed(lambda query: memory.search(query, k=5), some)
        client = Stdio(store)
        client.tool("pce_memory_search", query=some[0])
        piped += timed(lambda query: client.tool("pce_memory_search", query=query, k=5), some)  # noqa: B023
        client.close()
    for name, taken in (("library", library), ("over stdio", piped)):
        row(f"search among {CLAIMS:,}, {name}, p50 and p90", *(f"{ms:.2f} ms" for ms in percentiles(taken)))
    row("the same by the SDK's own client", *(f"{ms:.2f} ms" for ms in percentiles(sdk(store, queries))))
    over = percentiles(piped)[0] - percentiles(library)[0]
    verdict("a call over stdio, added to the library's time", f"{over:.2f} ms", f"<= {OVER_MS:.0f} ms", over <= OVER_MS)
    best = min(starts)
    verdict(f"start of scalepan mcp, best of {STARTS}", f"{best:.2f} s", f"< {START_SECONDS} s", best < START_SECONDS)


def sdk(store: Path, queries: Sequence[str]) -> list[float]:
    """The same searches by the official client, which checks every answer against its schema."""
    import anyio
    from mcp import Client, StdioServerParameters

    async def search() -> list[float]:
        program = StdioServerParameters(
            command=sys.executable, args=["-m", "scalepan", "mcp", "--store", str(store)], env=WORDS_ONLY
        )
        async with Client(program) as client:
            taken = []
            for query in [queries[0], *queries]:
                started = perf_counter()
                await client.call_tool("pce_memory_search", {"query": query, "k": 5})
                taken.append(perf_counter() - started)
            return taken[1:]

    return anyio.run(search)


class Load:
    """Requests over a few persistent connections, one at a time on each."""

    def __init__(self, port: int) -> None:
        body = json.dumps(FACTORS).encode()
        head = (
            f"POST /v1/confidence HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._request = head.encode() + body
        self._port = port

    def send(self, count: int) -> int:
        """Send this many requests; returns the length of an answer's body."""
        selector = selectors.DefaultSelector()
        sockets = [socket.create_connection(("127.0.0.1", self._port)) for _ in range(CONNECTIONS)]
        length = sent = done = 0
        for one in sockets:
            selector.register(one, selectors.EVENT_READ)
            one.sendall(self._request)
            sent += 1
        while done < count:
            for key, _ in selector.select():
                channel = key.fileobj
                assert isinstance(channel, socket.socket)
                length = self._answer(channel)
                done += 1
                if sent < count:
                    channel.sendall(self._request)
                    sent += 1
        for one in sockets:
            selector.unregister(one)
            one.close()
        return length

    def _answer(self, channel: socket.socket) -> int:
        data = channel.recv(65536)
        while b"\r\n\r\n" not in data:
            data += channel.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            sys.exit(f"not answered: {data[:300]!r}")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += channel.recv(65536)
        return length


@contextmanager
def server(command: Sequence[str], port: int) -> Iterator[int]:
    """Start a server process and wait until it answers; yields its process id."""
    process = subprocess.Popen(
        command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=os.environ | WORDS_ONLY
    )
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                sleep(0.1)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def free_port() -> int:
    """A free port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Its memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def rate(load: Load, pid: int) -> tuple[float, float, int]:
    """Requests per second of the server's CPU, requests per second by the clock, and an answer's length."""
    load.send(500)
    cpu, started = cpu_seconds(pid), perf_counter()
    length = load.send(RATE_REQUESTS)
    return RATE_REQUESTS / (cpu_seconds(pid) - cpu), RATE_REQUESTS / (perf_counter() - started), length


def http(store: Path, requests: int) -> None:
    """Rate and memory of `scalepan serve`, and the rate of the peer."""
    port = free_port()
    command = [sys.executable, "-m", "scalepan", "serve", "--port", str(port), "--store", str(store), "--rate", "0"]
    with server(command, port) as pid:
        load = Load(port)
        ours, clock, length = rate(load, pid)
        row("POST /v1/confidence, per second of CPU, by clock", f"{ours:,.0f}", f"{clock:,.0f}")
        load.send(max(requests // 10 - RATE_REQUESTS, 0))
        before = resident_mb(pid)
        load.send(requests - requests // 10)
        grown = resident_mb(pid) - before
    port = free_port()
    with server([sys.executable, "-c", PEER, str(port), str(length)], port) as pid:
        theirs, clock, _ = rate(Load(port), pid)
    row("the same, bare Starlette", f"{theirs:,.0f}", f"{clock:,.0f}", f"ratio {ours / theirs:.2f}")
    verdict("requests per second on one core", f"{ours:,.0f}", f">= {RATE:,.0f}", ours >= RATE)
    label = f"memory after {requests:,} requests, over a tenth"
    verdict(label, f"{grown:+.1f} MB of {before:.0f}", f"< {GROWN_MB:.0f} MB", grown < GROWN_MB)


def main() -> None:
    """MCP and HTTP."""
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    vocabulary = words()
    with TemporaryDirectory(prefix="scalepan-bench-") as folder:
        store = Path(folder) / "bench.duckdb"
        with Memory(store, policy={"embed": {"model": "none"}}) as memory:
            memory.add_many(texts(vocabulary, CLAIMS, 6, 20, SEED))
        stdio(store, texts(vocabulary, CALLS, 3, 8, SEED + 1))
        http(store, requests)


if __name__ == "__main__":
    main()
