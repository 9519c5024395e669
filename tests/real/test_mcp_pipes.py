"""`scalepan mcp` over plain pipes, line by line: a client that writes all before it reads, and one that babbles."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
FACTORS = {"search_result_count": 3, "search_max_score": 0.8, "source_count": 2}
ASKED = 2000
"""Answers of half a kilobyte: far more than a pipe holds."""


@pytest.fixture
def server(tmp_path: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "scalepan", "mcp", "--store", str(tmp_path / "notes.duckdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )


def line(method: str, params: dict[str, Any], id_: int | None = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id_ is None else {"id": id_})
    return json.dumps(message).encode() + b"\n"


def test_who_writes_everything_before_reading_gets_every_answer(server: "subprocess.Popen[bytes]") -> None:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(line("initialize", HELLO, 0))
    server.stdin.flush()
    assert json.loads(server.stdout.readline())["id"] == 0
    call = {"name": "confidence_score", "arguments": {"factors": FACTORS}}
    asked = b"".join(line("tools/call", call, number) for number in range(1, ASKED + 1))
    writing = threading.Thread(target=lambda: (server.stdin.write(asked), server.stdin.flush()))  # type: ignore[union-attr]
    writing.start()
    writing.join(60)
    assert not writing.is_alive(), "the server waits for a client that waits for the server"
    answers = [json.loads(server.stdout.readline()) for _ in range(ASKED)]
    assert sorted(answer["id"] for answer in answers) == list(range(1, ASKED + 1))
    assert all(answer["result"]["structuredContent"]["confidence"] == 0.733 for answer in answers)
    out, errors = server.communicate(timeout=20)
    assert (out, server.returncode) == (b"", 0)
    assert b"Traceback" not in errors


def test_what_is_no_message_does_not_end_it(server: "subprocess.Popen[bytes]") -> None:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(b"\xff\xfe not a message\n\n{}\n" + line("initialize", HELLO, 7))
    server.stdin.flush()
    while json.loads(found := server.stdout.readline()).get("id") != 7:
        assert found
    server.communicate(timeout=20)
    assert server.returncode == 0
