"""scalepan value --events in a process of its own: stopped while an endpoint hangs, and a run of several requests."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.modelserver import ModelServer, Reply
from tests.otel.proto import attributes, records
from tests.trace.traces import trace_dict

COUNT = 1200


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(json.dumps(trace_dict(id=f"kp:trace:{number}")) + "\n" for number in range(COUNT)))
    return file


def started(folder: Path, *args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "scalepan", "value", *map(str, args), "--embedder", "none"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


def test_every_trace_is_one_event_in_a_few_requests(traces: Path, tmp_path: Path) -> None:
    with ModelServer(lambda _: Reply(body=b"{}")) as server:
        process = started(tmp_path, traces, "--events", f"http://127.0.0.1:{server.port}")
        _, err = process.communicate(timeout=60)
        bodies = [json.dumps(request.body) for request in server.requests]
    assert (process.returncode, err) == (0, "")
    assert [len(records(body)) for body in bodies] == [512, 512, 176]
    ids = [attributes(record)["scalepan.subject.id"] for body in bodies for record in records(body)]
    assert ids == [f"kp:trace:{number}" for number in range(COUNT)]


def test_stopped_while_the_endpoint_hangs(traces: Path, tmp_path: Path) -> None:
    with ModelServer(lambda _: Reply(body=b"{}", delay=600)) as server:
        url = f"http://127.0.0.1:{server.port}"
        process = started(tmp_path, traces, "--out", "values.jsonl", "--events", url)
        deadline = time.monotonic() + 30
        while not server.requests and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert [line for line in err.splitlines() if line] == [
        "scalepan: 512 of 512 events not delivered: stopped while sending",
        "scalepan: 512 rows in values.jsonl; the same command with --resume goes on",
        "scalepan: stopped",
    ]
    # What was valued is there, and the next run goes on from it.
    rows = (tmp_path / "values.jsonl").read_text().splitlines()
    assert [json.loads(row)["number"] for row in rows] == list(range(1, 513))
    process = started(tmp_path, traces, "--out", "values.jsonl", "--resume", "--events", "events.jsonl")
    process.communicate(timeout=60)
    assert process.returncode == 0
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    assert sum(len(records(line)) for line in lines) == COUNT - 512
