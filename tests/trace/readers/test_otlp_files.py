"""OTLP in files: lines, documents, arrays, protobuf; spans and logs apart; and files that are damaged or too large."""

import gzip
import io
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalepan.errors import InputError
from scalepan.trace.readers import BadRow, SeenRecords, Source, TraceLine, open_path, read_source
from scalepan.trace.readers.otlp import traces
from scalepan.trace.readers.otlp.reader import READER
from tests.trace.readers.otlplog import (
    ERROR,
    Json,
    agent,
    call,
    chat,
    event,
    id_of,
    logs,
    message,
    record,
    response,
    span,
    spans,
    text,
    tool,
)
from tests.trace.readers.rows import problems_of, reader_of, rows_of, steps_of, traces_of

ASKED = message("user", text("How long?"))
LOOKED = message("assistant", text("I look."), call("call-0001", "count", path="a"))
TOLD = message("tool", response("call-0001", "1 line"))
DONE = message("assistant", text("One line."))

FIRST = spans(span("chat1", (0, 1), chat([ASKED], [LOOKED]), inside="agent"), span("agent", (0, 9), agent("counter")))
SECOND = spans(
    span("tool", (2, 3), tool("count", "call-0001", {"path": "a"}, "1 line"), inside="agent"),
    span("chat2", (4, 5), chat([ASKED, LOOKED, TOLD], [DONE]), inside="agent"),
)
STEPS = [
    ("thought", None, "I look."),
    ("tool_call", "count", '{"path":"a"}'),
    ("observation", "count", "1 line"),
    ("thought", None, "One line."),
]
EVENTS = logs(
    record("gen_ai.user.message", "old", 0.1, {"content": "How long?"}),
    record("gen_ai.choice", "old", 0.9, {"index": 0, "message": {"role": "assistant", "content": "One line."}}),
)
OLD = spans(span("old", (0, 1), chat(gen_ai__system="openai")))


def lines(*requests: Json) -> bytes:
    return b"".join(json.dumps(request).encode() + b"\n" for request in requests)


def protobuf(request: Json) -> bytes:
    """A request in protobuf, written by OpenTelemetry's own classes."""
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    message_ = ExportTraceServiceRequest() if "resourceSpans" in request else ExportLogsServiceRequest()
    ParseDict(_with_base64_ids(request), message_)
    data: bytes = message_.SerializeToString()
    return data


def _with_base64_ids(value: Any) -> Any:
    import base64

    if isinstance(value, list):
        return [_with_base64_ids(one) for one in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        key: base64.b64encode(bytes.fromhex(one)).decode() if key in ids else _with_base64_ids(one)
        for key, one in value.items()
    }


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(body)) + body for body in bodies)


def packed(body: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(body)


FILES = {
    "lines": lines(FIRST, SECOND),
    "lines, the last first": lines(SECOND, FIRST),
    "an array": json.dumps([FIRST, SECOND]).encode(),
    "a document": json.dumps({"resourceSpans": FIRST["resourceSpans"] + SECOND["resourceSpans"]}, indent=2).encode(),
    "gzip": gzip.compress(lines(FIRST, SECOND)),
    "protobuf with lengths": framed(protobuf(FIRST), protobuf(SECOND)),
    "protobuf": protobuf({"resourceSpans": FIRST["resourceSpans"] + SECOND["resourceSpans"]}),
    "each request in zstd": framed(packed(protobuf(FIRST)), packed(json.dumps(SECOND).encode())),
    "with metrics and empty requests": lines({"resourceMetrics": []}, FIRST, {"resourceSpans": []}, SECOND),
    "with ids in base64": lines(_with_base64_ids(FIRST), SECOND),
    "with an older name for scopes": lines(FIRST, SECOND).replace(b"scopeSpans", b"instrumentationLibrarySpans"),
}


@pytest.mark.parametrize("kind", FILES)
def test_the_same_trace_in_every_kind_of_file(kind: str) -> None:
    assert reader_of(FILES[kind], "traces.bin") == "otlp"
    (trace,) = traces_of(FILES[kind], "traces.bin")
    assert steps_of(trace) == STEPS
    assert trace.metadata.agent_id == "counter"


ALL_SPANS = [one for request in (FIRST, SECOND) for one in request["resourceSpans"][0]["scopeSpans"][0]["spans"]]


@given(st.permutations(ALL_SPANS), st.integers(1, len(ALL_SPANS)))
def test_the_order_of_spans_and_their_requests_does_not_matter(sent: list[Json], size: int) -> None:
    requests = [spans(*sent[at : at + size]) for at in range(0, len(sent), size)]
    (trace,) = traces_of(requests, "traces.jsonl")
    assert steps_of(trace) == STEPS


@pytest.mark.parametrize("data", [lines(OLD, EVENTS), lines(EVENTS, OLD), framed(protobuf(EVENTS), protobuf(OLD))])
def test_spans_and_logs_in_one_file(data: bytes) -> None:
    (trace,) = traces_of(data, "otlp.json")
    assert (trace.task.objective, steps_of(trace)) == ("How long?", [("thought", None, "One line.")])


@pytest.mark.parametrize(
    ("traces_name", "logs_name"), [("traces.jsonl", "logs.jsonl"), ("a.pb", "b.pb"), ("x.jsonl", "a.pb")]
)
def test_spans_and_logs_in_two_files_of_a_folder(tmp_path: Path, traces_name: str, logs_name: str) -> None:
    for name, request in ((traces_name, OLD), (logs_name, EVENTS)):
        (tmp_path / name).write_bytes(protobuf(request) if name.endswith(".pb") else lines(request))
    (tmp_path / "notes.json").write_text('{"a": 1}')
    alone = [read_rows(tmp_path / name) for name in (traces_name, logs_name)]
    assert [[steps_of(row.trace) for row in rows if isinstance(row, TraceLine)] for rows in alone] == [
        [[("thought", None, "One line.")]],
        [[("thought", None, "One line.")]],
    ]
    # The whole folder: the trace is there once.
    seen = SeenRecords()
    together = [row for name in sorted((traces_name, logs_name)) for row in read_rows(tmp_path / name, seen)]
    assert [type(row) for row in together] == [TraceLine]


def read_rows(path: Path, seen: SeenRecords | None = None) -> list[TraceLine | BadRow]:
    with open_path(path) as source:
        return list(read_source(source, seen=seen))


def test_many_files_belong_together_by_their_names(tmp_path: Path) -> None:
    for n in range(10):
        trace = id_of(f"t{n}", 32)
        old = span("old", (n, n + 1), chat(gen_ai__system="openai"), trace=trace)
        said = record("gen_ai.choice", "old", n + 0.5, {"message": {"content": f"Answer {n}"}}, trace=trace)
        (tmp_path / f"traces-{n}.jsonl").write_bytes(lines(spans(old)))
        (tmp_path / f"logs-{n}.jsonl").write_bytes(lines(logs(said)))
    seen = SeenRecords()
    rows = [row for path in sorted(tmp_path.iterdir()) for row in read_rows(path, seen)]
    found = [row.trace.steps[0].content for row in rows if isinstance(row, TraceLine)]
    assert sorted(map(str, found)) == [f"Answer {n}" for n in range(10)]


def test_a_copy_of_a_file_is_not_counted_twice() -> None:
    seen = SeenRecords()
    assert len(rows_of(FILES["lines"], "a.jsonl", seen)) == 1
    assert rows_of(FILES["protobuf with lengths"], "b.pb", seen) == []


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (
            lines(FIRST) + b"{resourceSpans",
            "t.jsonl:2: is not JSON: JSON is malformed: object keys must be strings (byte 1)",
        ),
        (lines(FIRST, {"a": 1}), "t.jsonl:2: is not an OTLP request: it has no resourceSpans and no resourceLogs"),
        (framed(protobuf(FIRST), b"\xff\xff\xff\xff"), "t.jsonl:2: is not an OTLP request in protobuf"),
    ],
)
def test_what_can_be_read_is_read(data: bytes, problem: str) -> None:
    rows = rows_of(data, "t.jsonl")
    assert [str(row.error) for row in rows if isinstance(row, BadRow)] == [problem]
    assert [len(row.trace.steps) for row in rows if isinstance(row, TraceLine)] == [2]


@pytest.mark.parametrize(
    "data", [lines(FIRST) + b'{"resourceSpans": [', framed(protobuf(FIRST)) + b"\x00\x00\x01\x00abc"]
)
def test_a_file_that_is_still_being_written(data: bytes) -> None:
    (trace,) = traces_of(data, "t.jsonl")
    assert trace.origin is not None
    assert trace.origin.unmapped == {"cut line": 1}


def test_a_file_of_which_nothing_was_written_to_its_end() -> None:
    assert problems_of(lines(FIRST)[:200], "t.jsonl") == ["t.jsonl:1: is not JSON: Input data was truncated"]
    cut = framed(protobuf(FIRST))[:100]
    assert problems_of(cut, "t.pb") == [f"t.pb:1: is cut off: a request of {len(protobuf(FIRST))} bytes has only 96"]


def test_a_file_without_agents_says_so() -> None:
    plain = spans(span("http", (0, 1), {"http.route": "/"}))
    problem = "t.jsonl:1: has no GenAI span or event: nothing in it has gen_ai.* or openinference.* attributes"
    assert problems_of([plain, plain], "t.jsonl") == [problem]


def test_spans_that_are_not_of_agents_are_no_error_beside_those_that_are() -> None:
    plain = spans(span("http", (0, 1), {"http.route": "/"}, trace=id_of("other", 32)))
    assert len(traces_of([plain, FIRST, plain], "t.jsonl")) == 1


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"\n",
        b"\n\n\n\n",
        b"\n\x05hello",
        b"PK\x03\x04" + bytes(200),
        b"\x00" * 64,
        b"\x00\x00\x00\x05hello",
        b'{"resourceSpans": "none"}',
        b'{"resourceMetrics": []}',
        b"SQLite format 3\x00" + bytes(100),
        bytes(range(256)) * 4,
    ],
)
def test_other_files_are_not_taken_for_otlp(start: bytes) -> None:
    assert reader_of(start, "x.pb") != "otlp"


def test_a_request_longer_than_the_head_is_found() -> None:
    long = spans(span("chat", (0, 1), chat([message("user", text("x" * 400_000))], [DONE])))
    for data in (protobuf(long), framed(protobuf(long)), lines(long)):
        assert reader_of(data, "x.pb") == "otlp"
        assert len(traces_of(data, "x.pb")) == 1


def test_only_so_many_traces_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace that is not continued for long is closed; what comes after that is a trace of its own."""
    monkeypatch.setattr(traces, "OPEN_TRACES", 3)
    begun = [spans(span("c", (n, n + 1), chat([ASKED], [DONE]), trace=id_of(f"t{n}", 32))) for n in range(6)]
    rest = spans(span("d", (9, 10), chat([ASKED, DONE, ASKED], [LOOKED]), trace=id_of("t0", 32)))
    rows = rows_of([*begun, rest], "t.jsonl")
    assert [(row.line, len(row.trace.steps)) for row in rows if isinstance(row, TraceLine)] == [
        *((n, 1) for n in range(1, 7)),
        (7, 2),
    ]
    # Within the limit it is one.
    rows = rows_of([*begun[:3], rest], "t.jsonl")
    assert sorted(len(row.trace.steps) for row in rows if isinstance(row, TraceLine)) == [1, 1, 4]


def test_protobuf_without_the_package_names_the_extra() -> None:
    code = """
import io, sys
sys.modules["opentelemetry.proto"] = None
from scalepan.trace.readers import Source, read_source
try:
    list(read_source(Source(io.BytesIO(bytes.fromhex(sys.argv[1])), "t.pb")))
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, protobuf(FIRST).hex()], capture_output=True, text=True, check=True
    )
    assert (
        done.stdout
        == "MissingExtraError reading OTLP protobuf needs an optional part: pip install 'scalepan[traces]'\n"
    )


NESTED = spans(
    span("boss", (0, 9), agent("boss", gen_ai__conversation__id="c-1")),
    span("c1", (0, 1), chat([ASKED], [LOOKED], gen_ai__usage__input_tokens=5), inside="boss"),
    span("tool", (1, 5), tool("count", "call-0001", {"path": "a"}, error__type="E"), inside="boss", status=ERROR),
    span("sub", (2, 4), agent("sub"), inside="tool"),
    span(
        *("c2", (2, 3), {"openinference.span.kind": "LLM", "llm.input_messages.0.message.content": "Hi"}),
        inside="sub",
        events=[event("gen_ai.choice", 2.5, {"message": "Hello", "index": 0})],
    ),
)
SAMPLES = {
    "lines": lines(NESTED, SECOND, OLD, EVENTS),
    "document": json.dumps(NESTED).encode(),
    "protobuf": framed(protobuf(NESTED), protobuf(EVENTS)),
    "body": protobuf(NESTED),
}


def test_a_cut_file_is_read_as_far_as_it_goes() -> None:
    for cut in range(0, len(SAMPLES["protobuf"]), 7):
        data = SAMPLES["protobuf"][:cut]
        try:
            rows = list(READER.read(Source(io.BytesIO(data), "t.pb"), SeenRecords()))
        except InputError:
            continue
        assert rows
