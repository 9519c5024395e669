"""A real `scalepan serve` in a process of its own, for tests."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from scalepan.serve import tokens
from scalepan.store import Store

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}


class ScalepanServer:
    """A server that runs, and a client to it."""

    def __init__(self, process: "subprocess.Popen[bytes]", url: str) -> None:
        self.process = process
        self.url = url
        self.port = int(url.rpartition(":")[2])

    def client(self, token: str | None = None, **headers: str) -> httpx2.Client:
        """A client that sends this with every request."""
        bearer = {"authorization": f"Bearer {token}"} if token is not None else {}
        return httpx2.Client(base_url=self.url, headers={**bearer, **headers}, timeout=30, trust_env=False)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop it; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(40)


@contextmanager
def serving(store: Path, *options: str, **env: str) -> Iterator[ScalepanServer]:
    """A server on a free port of loopback, stopped when the block ends."""
    process = start(store, "--port", "0", "--json", *options, **env)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, "it did not start"
        yield ScalepanServer(process, json.loads(line)["url"])
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(40)
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
        process.stderr.close()
    assert b"Traceback" not in said, said.decode()


def start(store: Path, *options: str, **env: str) -> "subprocess.Popen[bytes]":
    """`scalepan serve` as it is started by hand."""
    return subprocess.Popen(
        [sys.executable, "-m", "scalepan", "serve", "--store", str(store), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=store.parent,
        env={**_plain_env(store), **env},
    )


def token(store: Path, **what: Any) -> tuple[str, str]:
    """A new token and its id."""
    with Store(store) as opened:
        made = tokens.create(opened, **{"tenant": "default", **what})
    return made.value, made.token.id


def run_json(store: Path, *words: str) -> dict[str, Any]:
    """What a `scalepan serve token` command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "scalepan", "serve", "token", *words, "--store", str(store), "--json"],
        capture_output=True,
        check=True,
        cwd=store.parent,
        env=_plain_env(store),
        timeout=30,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _plain_env(store: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCALEPAN_")}
    return {**kept, "SCALEPAN_EMBED__MODEL": "none", "SCALEPAN_CACHE": str(store.parent / "cache")}
