"""Observations of Langfuse, shaped like those that its SDK (5.0.4) sends, as the export and the API write them."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scalepan.trace.batch import Skipped, TraceItem, read_files
from scalepan.trace.files import input_files
from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers import BadRow, TraceLine
from tests.trace.readers.rows import reader_of, rows_of, steps_of, traces_of

Json = dict[str, Any]


def observation(number: int, kind: str, name: str, given: Any, got: Any, **more: Any) -> Json:
    """A row of observations_v2: input and output are text, which may be JSON."""
    return {
        "id": f"obs-{number}",
        "trace_id": "T-1",
        "project_id": "shop",
        "environment": "default",
        "type": kind,
        "parent_observation_id": "" if number == 1 else "obs-1",
        "start_time": f"2026-01-31 12:00:{number:02}.250000",
        "end_time": None,
        "name": name,
        "metadata": {},
        "level": "DEFAULT",
        "status_message": "",
        "input": given if isinstance(given, str) else json.dumps(given),
        "output": got if isinstance(got, str) else json.dumps(got),
        "provided_model_name": "gpt-x" if kind == "GENERATION" else "",
        "usage_details": {"input": 10, "input_cached_tokens": 5, "output": 2, "total": 17} if number == 2 else {},
        "total_cost": 0.25 if kind == "GENERATION" else 0,
        "session_id": "s-1",
        "trace_name": "agent",
        "tags": ["a", "b"],
    } | more


ASKED = {"role": "user", "content": "How long is a.txt?"}
TOOLS = {"role": "tool", "content": {"type": "function", "function": {"name": "count", "parameters": {}}}}
ASKS_B = {
    "role": "assistant",
    "content": "I look.",
    "tool_calls": [{"name": "count", "args": {"path": "b.txt"}, "id": "call_0000001"}],
}
TOLD_B = {"role": "tool", "content": "Error: no b.txt. Fix it.", "tool_call_id": "call_0000001"}
ASKS_A = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_0000002", "type": "function", "function": {"name": "count", "arguments": '{"path": "a.txt"}'}}
    ],
}
TOLD_A = {"role": "tool", "content": "1 a.txt", "tool_call_id": "call_0000002"}
ROWS = [
    observation(1, "AGENT", "agent", {"args": ["How long is a.txt?"], "kwargs": {}}, "One line."),
    observation(2, "GENERATION", "ChatOpenAI", [{"role": "system", "content": "Be brief."}, ASKED, TOOLS], ASKS_B),
    observation(
        3,
        "TOOL",
        "count",
        {"path": "b.txt"},
        "",
        level="ERROR",
        status_message="no b.txt",
        metadata={"tool_call_id": "call_0000001"},
    ),
    observation(4, "GENERATION", "ChatOpenAI", [ASKED, ASKS_B, TOLD_B, TOOLS], ASKS_A),
    observation(5, "TOOL", "count", {"args": [], "kwargs": {"path": "a.txt"}}, "1 a.txt"),
    observation(6, "EVENT", "note", "", ""),
    observation(
        7,
        "GENERATION",
        "ChatOpenAI",
        [ASKED, ASKS_B, TOLD_B, ASKS_A, TOLD_A],
        {"role": "assistant", "content": "One line."},
    ),
]
STEPS = [
    ("thought", None, "I look."),
    ("tool_call", "count", '{"path":"b.txt"}'),
    ("observation", "count", "Error: no b.txt. Fix it."),
    ("error_recovery", "count", '{"path":"a.txt"}'),
    ("observation", "count", "1 a.txt"),
    ("thought", None, "One line."),
]


def as_csv(rows: list[Json]) -> bytes:
    """As the export writes it: everything is text, objects and lists are JSON, nothing is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(rows[0])
    for row in rows:
        texts = [json.dumps(value) if isinstance(value, (dict, list)) else value for value in row.values()]
        writer.writerow(texts)
    return out.getvalue().encode()


def as_api(rows: list[Json]) -> list[Json]:
    """As the API has them: other names, and inputs that are JSON and not text."""
    renamed = {
        "traceId": "trace_id",
        "parentObservationId": "parent_observation_id",
        "startTime": "start_time",
        "statusMessage": "status_message",
        "usageDetails": "usage_details",
        "totalCost": "total_cost",
        "model": "provided_model_name",
    }
    made = []
    for row in rows:
        plain = {key: row[key] for key in ("id", "type", "name", "level", "metadata")}
        names = {new: row[old] or None for new, old in renamed.items()}
        names["startTime"] = row["start_time"].replace(" ", "T").replace("250000", "250Z")
        values = {key: _value(row[key]) for key in ("input", "output")}
        made.append(plain | names | values)
    return made


def _value(said: str) -> Any:
    return json.loads(said) if said[:1] in ("{", "[") else said or None


TRACE = {
    "id": "T-1",
    "timestamp": "2026-01-31T12:00:01.250Z",
    "name": "agent",
    "input": "How long is a.txt?",
    "output": "One line.",
    "sessionId": "s-1",
    "projectId": "shop",
    "observations": as_api(ROWS),
    "scores": [],
}
SAMPLE = b"\n".join(map(msgspec.json.encode, ROWS))
CSV = as_csv(ROWS)


def test_an_export_step_by_step() -> None:
    (trace,) = traces_of(ROWS, "observations.jsonl")
    assert steps_of(trace) == STEPS
    assert (trace.id, trace.task.objective) == ("kp:trace:langfuse:T-1", "How long is a.txt?")
    assert (trace.outcome.result_summary, trace.outcome.confidence, trace.metadata.success) == ("One line.", None, None)
    assert trace.metadata.created_at == "2026-01-31T12:00:01.250000Z"
    origin = trace.origin
    assert origin is not None
    assert (origin.session, origin.project, origin.model) == ("s-1", "shop", "gpt-x")
    # Cached tokens are counted apart from the input: 10 + 5.
    assert (origin.input_tokens, origin.output_tokens, origin.cost_usd) == (15, 2, 0.75)
    assert origin.unmapped == {"AGENT run": 1, "EVENT run": 1, "system message": 1, "tool definition": 1}
    failed = [step.origin.failed for step in trace.steps if step.type == "observation" and step.origin]
    assert failed == [True, None]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (msgspec.json.encode(ROWS), "o.json"),
        (CSV, "o.csv"),
        (b"\xef\xbb\xbf" + CSV, "o.csv"),
        (CSV.replace(b"\r\n", b"\n"), "o.csv"),
        (gzip.compress(CSV), "o.csv.gz"),
        (msgspec.json.encode({"data": as_api(ROWS), "meta": {"cursor": None}}), "o.json"),
        (msgspec.json.format(msgspec.json.encode(TRACE)), "t.json"),
        (msgspec.json.encode([TRACE]), "t.json"),
        (b"\n".join(map(msgspec.json.encode, reversed(ROWS))), "o.jsonl"),
    ],
    ids=["array", "csv", "csv with BOM", "csv with LF", "csv.gz", "API", "trace", "traces", "newest first"],
)
def test_every_form_gives_the_same_steps(data: bytes, name: str) -> None:
    (trace,) = traces_of(data, name)
    assert steps_of(trace) == STEPS
    assert trace.task.objective == "How long is a.txt?"
    assert trace.origin is not None
    assert (trace.origin.input_tokens, trace.origin.output_tokens, trace.origin.cost_usd) == (15, 2, 0.75)
    assert trace.metadata.created_at == "2026-01-31T12:00:01.250000Z"
    assert reader_of(data, name) == "langfuse"


def test_fields_of_csv_hold_commas_quotes_and_line_breaks() -> None:
    said = 'One, "two",\nthree\r\n""four""'
    (trace,) = traces_of(as_csv([observation(1, "GENERATION", "m", "How\nlong?", said)]), "o.csv")
    assert steps_of(trace) == [("thought", None, said)]
    assert trace.task.objective == "How\nlong?"


def test_a_field_of_csv_may_be_longer_than_pythons_own_limit() -> None:
    said = "x" * 400_000
    (trace,) = traces_of(as_csv([observation(1, "GENERATION", "m", "?", said)]), "o.csv")
    assert steps_of(trace) == [("thought", None, said)]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (b"1,2\r\n", "o.csv:9: has 2 fields; the header has 20"),
        (b'"open,1\r\n', "o.csv:9: is not a row of CSV in UTF-8"),
        (b"\xff" + b"," * 19 + b"\r\n", "o.csv:9: is not a row of CSV in UTF-8"),
        (b"x" + b"," * 19 + b"\r\n", "o.csv:9: trace kp:trace:langfuse:x: has no step of an agent"),
    ],
)
def test_a_bad_row_of_csv_is_one_line_and_the_others_are_read(row: bytes, problem: str) -> None:
    rows = rows_of(CSV + row, "o.csv")
    problems = [str(one.error) for one in rows if isinstance(one, BadRow)]
    assert problems == [problem]
    assert [steps_of(one.trace) for one in rows if isinstance(one, TraceLine)] == [STEPS]


def test_tool_calls_have_a_column_of_their_own_if_the_output_was_not_exported() -> None:
    calls = [json.dumps({"id": "call_0000001", "name": "count", "arguments": '{"path": "a.txt"}'})]
    (trace,) = traces_of([observation(1, "GENERATION", "m", [ASKED], "", tool_calls=calls)])
    assert steps_of(trace) == [("tool_call", "count", '{"path":"a.txt"}')]


def score(name: str, value: float, kind: str = "BOOLEAN", **more: Any) -> Json:
    return {
        "id": f"s-{name}",
        "trace_id": "T-1",
        "name": name,
        "value": value,
        "data_type": kind,
        "source": "API",
    } | more


@pytest.mark.parametrize(
    ("scores", "success"),
    [
        ([score("success", 1)], True),
        ([score("task_success", 0)], False),
        ([score("success", 1), score("task_success", 1)], True),
        # Everything else is a number that somebody gave, not success.
        ([score("success", 1), score("task_success", 0)], None),
        ([score("helpful", 1)], None),
        ([score("success", 1, "NUMERIC")], None),
        ([score("success", 0.9)], None),
        ([score("success", 1, observation_id="obs-3")], None),
        ([score("success", 0, "TEXT", string_value="yes")], None),
        ([], None),
    ],
)
def test_only_a_yes_or_no_named_success_states_success(
    tmp_path: Path, scores: list[Json], success: bool | None
) -> None:
    api = [{"dataType": one["data_type"], "observationId": one.get("observation_id")} | one for one in scores]
    (trace,) = traces_of(TRACE | {"scores": api})
    assert trace.metadata.success is success
    # The blob export has them in a folder beside.
    for folder, rows in (("observations_v2", ROWS), ("scores", scores)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    found = [
        item.row.trace
        for item in read_files(input_files(tmp_path))
        if isinstance(item, TraceItem) and isinstance(item.row, TraceLine)
    ]
    assert [trace.metadata.success for trace in found] == [success]
    assert [_judge(trace) for trace in found] == [f"langfuse:{scores[0]['name']}" if success is not None else None]


def _judge(trace: ReasoningTrace) -> Any:
    return trace.metadata.validated_by


def test_scores_and_manifests_hold_no_traces(tmp_path: Path) -> None:
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "1.csv").write_bytes(as_csv([score("success", 1)]))
    (tmp_path / "manifest.json").write_text('{"files": []}')
    assert all(isinstance(item, Skipped) for item in read_files(input_files(tmp_path)))


def test_a_generation_that_failed_is_counted() -> None:
    (trace,) = traces_of(
        [*ROWS[:6], observation(7, "GENERATION", "m", [ASKED], "", level="ERROR", status_message="429")]
    )
    assert steps_of(trace) == STEPS[:-1]
    assert trace.origin is not None
    assert trace.origin.unmapped["failed model call"] == 1


def test_the_conversation_of_a_trace_whose_model_calls_were_not_logged_is_in_its_output() -> None:
    messages = [{"type": "human", "content": "How long is a.txt?"}, {"type": "ai", "content": "One line."}]
    (trace,) = traces_of([observation(1, "CHAIN", "graph", {"messages": messages[:1]}, {"messages": messages})])
    assert (trace.task.objective, steps_of(trace)) == ("How long is a.txt?", [("thought", None, "One line.")])
