"""Logs of Inspect: archives and documents, pools and attachments, verdicts of scorers."""

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers import SeenRecords, TraceLine, open_path, read_source, readers
from tests.trace.readers.mutate import damaged, read_damaged
from tests.trace.readers.rows import problems_of, reader_of, rows_of, steps_of, traces_of
from tests.trace.readers.zips import DEFLATED, STORED, ZSTD, zipped

Json = dict[str, Any]

HEADER: Json = {
    "version": 2,
    "status": "success",
    "eval": {
        "eval_id": "E1",
        "task": "lines",
        "model": "maker/large-2",
        "created": "2026-01-31T11:00:00+00:00",
        "scorers": [{"name": "match"}, {"name": "style"}],
    },
}
SAMPLE: Json = {
    "id": "a",
    "epoch": 2,
    "uuid": "U1",
    "input": "How long is a.txt?",
    "target": "1",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "source": "input", "content": "Task: How long is a.txt?"},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "reasoning": "Look first."},
                {"type": "reasoning", "reasoning": "c2VjcmV0", "redacted": True},
                {"type": "text", "text": "I look."},
            ],
            "tool_calls": [{"id": "c1", "function": "count", "arguments": {"path": "b.txt"}, "type": "function"}],
        },
        {
            "role": "tool",
            "content": "",
            "tool_call_id": "c1",
            "function": "count",
            "error": {"type": "file_not_found", "message": "no b.txt"},
        },
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "c2", "function": "count", "arguments": {"path": "a.txt"}},
                {"id": "c3", "function": "delete", "arguments": {}},
            ],
        },
        {"role": "tool", "content": "1", "tool_call_id": "c2", "function": "count"},
        {
            "role": "tool",
            "content": "no",
            "tool_call_id": "c3",
            "function": "delete",
            "error": {"type": "approval", "message": "rejected"},
        },
        {"role": "user", "content": [{"type": "text", "text": "And?"}, {"type": "image", "image": "attachment://x"}]},
        {"role": "assistant", "source": "generate", "content": "attachment://long"},
    ],
    "attachments": {"long": "One line.", "x": "data:image/png;base64,AAAA"},
    "output": {"choices": [{"stop_reason": "stop"}]},
    "scores": {"style": {"value": 0.25}, "match": {"value": "C"}},
    "model_usage": {
        "maker/large-2": {"input_tokens": 10, "input_tokens_cache_read": 5, "output_tokens": 3, "total_cost": 0.5},
        "maker/small": {"input_tokens": 1, "output_tokens": 1},
    },
    "started_at": "2026-01-31T12:00:00+00:00",
}
STEPS = [
    ("thought", None, "Look first."),
    ("thought", None, "I look."),
    ("tool_call", "count", '{"path":"b.txt"}'),
    ("observation", "count", "no b.txt"),
    ("error_recovery", "count", '{"path":"a.txt"}'),
    ("tool_call", "delete", "{}"),
    ("observation", "count", "1"),
    ("observation", "delete", "no"),
    ("observation", None, "And?\n[image]"),
    ("thought", None, "One line."),
]


def archive(*samples: Json, method: int = ZSTD, header: Json | None = HEADER) -> bytes:
    members = {f"samples/{it['id']}_epoch_{it['epoch']}.json": msgspec.json.encode(it) for it in samples}
    if header is not None:
        members["header.json"] = msgspec.json.encode(header)
    return zipped(members, method)


def changed(**fields: Any) -> Json:
    return copy.deepcopy(SAMPLE) | fields


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTD])
def test_an_archive_step_by_step(method: int) -> None:
    (trace,) = traces_of(archive(SAMPLE, method=method), "log.eval")
    assert steps_of(trace) == STEPS
    assert (trace.id, trace.task.objective) == ("kp:trace:inspect:E1:a:2", "How long is a.txt?")
    assert (trace.metadata.success, trace.metadata.validated_by) == (True, "inspect:match")
    assert (trace.outcome.result_summary, trace.outcome.confidence) == ("One line.", None)
    assert trace.metadata.created_at == "2026-01-31T12:00:00Z"
    origin = trace.origin
    assert origin is not None
    assert (origin.project, origin.model, origin.ended) == ("lines", "maker/large-2", "stop")
    assert (origin.input_tokens, origin.output_tokens, origin.cost_usd) == (16, 4, 0.5)
    assert origin.unmapped == {"input": 1, "reasoning without text": 1, "system": 1}
    failed = [(step.origin.failed, step.origin.refused) for step in trace.steps if step.origin and not step.input]
    assert failed[1:] == [(None, None), (False, None), (True, True)]


def test_a_file_is_read_in_place(tmp_path: Path) -> None:
    file = tmp_path / "log.eval"
    file.write_bytes(archive(SAMPLE, changed(id="b", uuid="U2")))
    with open_path(file) as source:
        rows = list(read_source(source))
    assert [row.trace.id[-3:] for row in rows if isinstance(row, TraceLine)] == ["a:2", "b:2"]


def test_the_json_form_gives_the_same_traces() -> None:
    document = HEADER | {"samples": [SAMPLE, changed(id=7, uuid="U2")]}
    assert traces_of(document) == traces_of(archive(SAMPLE, changed(id=7, uuid="U2")), "log.eval")


def test_a_sample_in_pieces_is_the_same_sample() -> None:
    pool = [{"role": "user", "content": "elsewhere"}, *SAMPLE["messages"]]
    pool[-1] = {"role": "assistant", "content": "attachment://1"}
    shell = changed(message_refs=[[1, 4], [4, 10]])
    for key in ("messages", "attachments"):
        del shell[key]
    pieces = {
        "sample.json": shell,
        "messages/10.json": pool[10:],
        "messages/0.json": pool[:2],
        "messages/2.json": pool[2:10],
        "attachments/0.json": ["unused"],
        "attachments/1.json": ["One line."],
    }
    members = {f"samples/a_epoch_2/{name}": msgspec.json.encode(data) for name, data in pieces.items()}
    (trace,) = traces_of(zipped(members | {"header.json": msgspec.json.encode(HEADER)}), "log.eval")
    assert steps_of(trace) == STEPS


def agent_events() -> list[Json]:
    return [
        {"event": "span_begin", "id": "s1", "type": "solver"},
        {"event": "span_begin", "id": "s2", "parent_id": "s1", "type": "tool"},
        {"event": "span_begin", "id": "s3", "parent_id": "s2", "type": "agent", "name": "helper"},
        {
            "event": "model",
            "span_id": "s3",
            "input": [],
            "input_refs": [[0, 1]],
            "output": {"choices": [{"message": {"role": "assistant", "content": "One, I think"}}]},
        },
        {
            "event": "model",
            "span_id": "s3",
            "input": [],
            "input_refs": [[0, 3]],
            "output": {"choices": [{"message": {"role": "assistant", "content": "One"}}]},
        },
    ]


POOL = {
    "messages": [
        {"role": "user", "content": "Count a.txt"},
        {"role": "assistant", "content": "One, I think"},
        {"role": "user", "content": "Sure?"},
    ]
}


def test_an_agent_that_is_called_as_a_tool_is_a_trace_of_its_own() -> None:
    parent, child = traces_of(archive(changed(events=agent_events(), events_data=POOL)), "log.eval")
    assert child.origin is not None
    assert (child.id, child.origin.parent) == (f"{parent.id}:s3", parent.id)
    assert (child.task.objective, child.metadata.agent_id) == ("Count a.txt", "helper")
    assert (child.metadata.success, child.origin.input_tokens) == (None, None)
    assert steps_of(child) == [
        ("thought", None, "One, I think"),
        ("observation", None, "Sure?"),
        ("thought", None, "One"),
    ]


def test_an_agent_that_takes_over_is_no_sub_agent() -> None:
    events = agent_events()
    events[0]["type"] = "handoff"
    assert len(traces_of(archive(changed(events=events, events_data=POOL)), "log.eval")) == 1


@pytest.mark.parametrize(
    ("scores", "success", "scorer"),
    [
        ({"match": {"value": "C"}}, True, "inspect:match"),
        ({"match": {"value": "I"}}, False, "inspect:match"),
        ({"match": {"value": 1}}, True, "inspect:match"),
        ({"match": {"value": 0.0}}, False, "inspect:match"),
        ({"match": {"value": True}}, True, "inspect:match"),
        ({"style": {"value": "C"}}, True, "inspect:style"),
        ({"style": {"value": "C"}, "match": {"value": 0.5}}, None, None),
        ({"match": {"value": "P"}}, None, None),
        ({"match": {"value": {"C": 1}}}, None, None),
        ({"match": {"value": None}}, None, None),
        ({"match": "C"}, None, None),
        ({}, None, None),
        (None, None, None),
    ],
)
def test_only_a_verdict_of_the_first_scorer_is_success(scores: Any, success: bool | None, scorer: str | None) -> None:
    (trace,) = traces_of(archive(changed(scores=scores)), "log.eval")
    assert (trace.metadata.success, trace.metadata.validated_by) == (success, scorer)


@pytest.mark.parametrize(
    ("fields", "success", "ended"),
    [
        ({"invalidation": {"reason": "wrong image"}}, None, "stop"),
        ({"error": {"message": "boom"}}, True, "error"),
        ({"limit": {"type": "token", "limit": 9}}, True, "limit token"),
        ({"score": {"value": "I"}, "scores": None}, False, "stop"),
    ],
)
def test_how_a_sample_ended(fields: Json, success: bool | None, ended: str) -> None:
    (trace,) = traces_of(archive(changed(**fields)), "log.eval")
    assert trace.origin is not None
    assert (trace.metadata.success, trace.origin.ended) == (success, ended)


def test_a_task_that_is_a_conversation_asks_its_last_question() -> None:
    talk = [
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": "4"},
        {"role": "user", "content": "3 + 3?"},
    ]
    given = [message | {"source": "input"} for message in talk]
    answer = {"role": "assistant", "content": "6"}
    (trace,) = traces_of(archive(changed(input=talk, messages=[*given, answer])), "log.eval")
    assert (trace.task.objective, steps_of(trace)) == ("3 + 3?", [("thought", None, "6")])
    assert trace.origin is not None
    assert trace.origin.unmapped == {"input": 2}


def test_a_tool_that_the_provider_runs_is_a_call_and_its_result() -> None:
    part = {"type": "tool_use", "id": "w", "name": "web_search", "arguments": '{"q":"x"}', "result": "found"}
    message = {"role": "assistant", "content": [{"type": "text", "text": "I search"}, part, "Found"]}
    (trace,) = traces_of(archive(changed(messages=[message])), "log.eval")
    assert steps_of(trace) == [
        ("thought", None, "I search"),
        ("tool_call", "web_search", '"{\\"q\\":\\"x\\"}"'),
        ("observation", "web_search", "found"),
        ("thought", None, "Found"),
    ]


def test_a_sample_that_a_repeated_run_copied_counts_once() -> None:
    seen = SeenRecords()
    assert len(traces_of(archive(SAMPLE), "first.eval", seen)) == 1
    again = archive(SAMPLE, changed(id="b", uuid="U2"))
    assert [trace.id for trace in traces_of(again, "again.eval", seen)] == ["kp:trace:inspect:E1:b:2"]


def test_a_run_that_died_has_no_header_yet() -> None:
    members = {
        "_journal/start.json": msgspec.json.encode(HEADER),
        "samples/a_epoch_2.json": msgspec.json.encode(SAMPLE),
    }
    (trace,) = traces_of(zipped(members), "log.eval")
    assert trace.id == "kp:trace:inspect:E1:a:2"


def test_a_bad_sample_does_not_hide_the_others() -> None:
    members = {"samples/a_epoch_1.json": b"{", "samples/b_epoch_1.json": msgspec.json.encode(SAMPLE)}
    bad, good = rows_of(zipped(members), "log.eval")
    assert str(bad[1]) == "log.eval:1: is not a sample of Inspect: Input data was truncated"
    assert isinstance(good[1], ReasoningTrace)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"PK\x03\x04 and nothing", "is not a zip archive: File is not a zip file"),
        (
            zipped({"samples/a_epoch_1.json": b"0" * 40_000_000}),
            "'samples/a_epoch_1.json' is larger than 16,777,216 bytes",
        ),
        (
            zipped({f"samples/{n}_epoch_1.json": b"0" * 999 for n in range(9)}, STORED, overlapping=True),
            "has members that overlap",
        ),
        (archive(SAMPLE).replace(b"(\xb5/\xfd", b"(\xb5/\xfe", 1), "'samples/a_epoch_2.json' cannot be read: "),
        (archive(SAMPLE, method=STORED).replace(b"Be brief", b"Be quick", 1), "'samples/a_epoch_2.json' cannot be re"),
    ],
)
def test_a_hostile_archive_says_what_is_wrong(data: bytes, problem: str) -> None:
    (found,) = problems_of(data, "log.eval")
    assert found.startswith(f"log.eval:1: {problem}")


@pytest.mark.parametrize(
    ("data", "name", "reader"),
    [
        (archive(SAMPLE), "log.eval", "inspect"),
        (archive(SAMPLE), "renamed.zip", "inspect"),
        (zipped({"word/document.xml": b"x"}), "letter.docx", None),
        (msgspec.json.encode(HEADER | {"samples": [SAMPLE]}), "log.json", "inspect"),
        (msgspec.json.format(msgspec.json.encode(HEADER | {"samples": [SAMPLE] * 200})), "log.json", "inspect"),
        (b'{"version": 2, "status": "success"}', "log.json", None),
    ],
)
def test_it_is_found_by_its_first_member_or_its_header(data: bytes, name: str, reader: str | None) -> None:
    assert reader_of(data, name) == reader


FULL = changed(events=agent_events(), events_data=POOL)


@pytest.mark.parametrize("seed", range(120))
def test_a_damaged_archive_gives_traces_or_reasons(seed: int) -> None:
    read_damaged(readers()["inspect"], archive(FULL), seed, "log.eval")


@pytest.mark.parametrize("seed", range(120))
def test_a_damaged_sample_gives_a_trace_or_a_reason(seed: int) -> None:
    """What is wrong inside an archive whose checksums are right."""
    sample = damaged(msgspec.json.encode(FULL), seed)
    rows = rows_of(zipped({"samples/a_epoch_1.json": sample, "header.json": damaged(b'{"eval": {}}', seed)}), "a.eval")
    for row in rows:
        if isinstance(row, TraceLine):
            assert ReasoningTrace.from_json(row.trace.to_json()).to_dict() == row.trace.to_dict()


@pytest.mark.parametrize("seed", range(120))
def test_a_damaged_document_gives_traces_or_reasons(seed: int) -> None:
    read_damaged(readers()["inspect"], msgspec.json.encode(HEADER | {"samples": [FULL, SAMPLE]}), seed, "log.json")
