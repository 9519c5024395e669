"""scalepan value --events: OpenTelemetry events of a run, in a file or at an endpoint."""

import json
from pathlib import Path

import pytest

from scalepan.otel import endpoint
from tests.cli.conftest import Run
from tests.modelserver import ModelServer, Reply, fails
from tests.otel.proto import attributes, records
from tests.trace.traces import trace_dict

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """Two traces, one of them read from spans."""
    origin = {"format": "otlp", "trace_id": TRACE, "span_id": SPAN}
    rows = [trace_dict(id="kp:trace:1"), trace_dict(id="kp:trace:2") | {"scalepan:origin": origin}]
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_events_in_a_file(run: Run, traces: Path, tmp_path: Path) -> None:
    done = run("value", traces, "--embedder", "none", "--json", "--events", tmp_path / "events.jsonl")
    assert (done.code, done.err) == (0, "")
    values = {row["id"]: row["value"] for row in map(json.loads, done.out.splitlines())}
    found = records((tmp_path / "events.jsonl").read_text())
    told = {attributes(one)["scalepan.subject.id"]: attributes(one)["gen_ai.evaluation.score.value"] for one in found}
    assert told == values
    assert [(one.trace_id.hex(), one.span_id.hex()) for one in found] == [("", ""), (TRACE, SPAN)]
    assert [attributes(one)["gen_ai.evaluation.score.label"] for one in found] == ["keep", "keep"]


def test_events_at_an_endpoint(run: Run, traces: Path) -> None:
    with ModelServer(lambda _: Reply(body=b"{}")) as server:
        done = run("value", traces, "--embedder", "none", "--events", f"http://127.0.0.1:{server.port}")
        assert (done.code, done.err) == (0, "")
        (request,) = server.requests
    assert len(records(json.dumps(request.body))) == 2


def test_an_endpoint_that_refuses_costs_no_value(run: Run, traces: Path, tmp_path: Path) -> None:
    out = tmp_path / "values.jsonl"
    with ModelServer(fails(401)) as server:
        url = f"http://ann:hunter2@127.0.0.1:{server.port}"
        done = run("value", traces, "--embedder", "none", "--out", out, "--events", url)
        name = f"http://127.0.0.1:{server.port}/v1/logs"
    assert done.code == 1
    assert done.err == f"scalepan: 2 of 2 events not delivered: {name} answered 401; all values were computed\n"
    assert len(out.read_text().splitlines()) == 2
    assert "2 traces" in done.out


def test_an_endpoint_that_is_away_costs_no_value(run: Run, traces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        endpoint.OtlpEndpoint.__init__, "__kwdefaults__", {"tries": 1, "try_s": 1.0, "backoff_s": 0, "total_s": 1}
    )
    done = run("value", traces, "--embedder", "none", "--json", "--events", "http://127.0.0.1:9")
    assert done.code == 1
    assert len(done.out.splitlines()) == 2
    assert "cannot be reached: Connection refused" in done.err


def test_an_address_that_is_none_is_refused_before_anything_is_read(run: Run, traces: Path) -> None:
    done = run("value", traces, "--events", "grpc://collector:4317")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "scalepan: events: 'grpc://collector' is not an http or https address such as http://127.0.0.1:4318\n"
    )


@pytest.mark.parametrize("name", ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"])
def test_only_the_flag_says_where_events_go(run: Run, traces: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with ModelServer(lambda _: Reply(body=b"{}")) as server:
        monkeypatch.setenv(name, f"http://127.0.0.1:{server.port}")
        assert run("value", traces, "--embedder", "none", "--events", "events.jsonl").code == 0
        assert server.calls == 0


def test_a_run_that_continues_adds_its_events(run: Run, traces: Path, tmp_path: Path) -> None:
    options = ("--embedder", "none", "--out", "values.jsonl", "--events", "events.jsonl")
    assert run("value", traces, *options).code == 0
    with traces.open("a") as file:
        file.write(json.dumps(trace_dict(id="kp:trace:3")) + "\n")
    assert run("value", traces, *options, "--resume").code == 0
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    ids = [[attributes(one)["scalepan.subject.id"] for one in records(line)] for line in lines]
    assert ids == [["kp:trace:1", "kp:trace:2"], ["kp:trace:3"]]
