"""Trajectories of mini-swe-agent, of each way to talk to a model."""

import copy
from typing import Any

import msgspec
import pytest

from scalepan.trace.readers import SeenRecords, readers
from tests.trace.readers.mutate import read_damaged
from tests.trace.readers.rows import problems_of, reader_of, steps_of, traces_of

Json = dict[str, Any]


def document(*messages: Json, **more: Any) -> Json:
    info = {
        "model_stats": {"instance_cost": 0.75, "api_calls": 2},
        "config": {"model": {"model_name": "maker/large-2"}, "environment": {"cwd": "/testbed"}},
        "mini_version": "2.4.6",
        "exit_status": "Submitted",
        "submission": "1 line\n",
    }
    start = [{"role": "system", "content": "Count."}, {"role": "user", "content": "How long is a.txt?"}]
    return {"info": info, "messages": [*start, *messages], "trajectory_format": "mini-swe-agent-1.1"} | more


def call(id_: str, command: str) -> Json:
    return {"id": id_, "function": {"name": "bash", "arguments": msgspec.json.encode({"command": command}).decode()}}


def result(id_: str, code: int, output: str) -> Json:
    extra = {"returncode": code, "raw_output": output, "timestamp": 1769860801.5, "exception_info": ""}
    return {"role": "tool", "tool_call_id": id_, "content": f"<returncode>{code}</returncode> {output}", "extra": extra}


CHAT = document(
    {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "wc does it",
        "tool_calls": [call("c1", "wc -l b.txt")],
        "extra": {
            "actions": [{"command": "wc -l b.txt"}],
            "response": {"usage": {"prompt_tokens": 10, "completion_tokens": 2}},
            "timestamp": 1769860800,
        },
    },
    result("c1", 1, "no b.txt"),
    {"role": "assistant", "content": None, "tool_calls": [call("c2", "wc -l a.txt"), call("c3", "echo done")]},
    result("c3", 0, "done"),
    result("c2", 0, "1 a.txt"),
    {"role": "user", "content": "Only one call at a time", "extra": {"interrupt_type": "FormatError"}},
    {"role": "exit", "content": "1 line\n", "extra": {"exit_status": "Submitted"}},
)


def test_tool_calls() -> None:
    (trace,) = traces_of(CHAT, "run.traj.json")
    assert steps_of(trace) == [
        ("thought", None, "wc does it"),
        ("thought", None, "I look."),
        ("tool_call", "bash", '{"command":"wc -l b.txt"}'),
        ("observation", "bash", "<returncode>1</returncode> no b.txt"),
        ("error_recovery", "bash", '{"command":"wc -l a.txt"}'),
        ("error_recovery", "bash", '{"command":"echo done"}'),
        ("observation", "bash", "<returncode>0</returncode> done"),
        ("observation", "bash", "<returncode>0</returncode> 1 a.txt"),
        ("observation", None, "Only one call at a time"),
    ]
    assert trace.task.objective == "How long is a.txt?"
    assert (trace.metadata.created_at, trace.metadata.task_domain) == ("2026-01-31T12:00:00Z", "code")
    origin = trace.origin
    assert origin is not None
    assert (origin.model, origin.project) == ("maker/large-2", "testbed")
    assert (origin.input_tokens, origin.output_tokens, origin.cost_usd) == (10, 2, 0.75)
    assert origin.unmapped == {"exit": 1, "system": 1}


def test_the_exit_status_is_not_success() -> None:
    (trace,) = traces_of(CHAT)
    assert trace.origin is not None
    assert (trace.metadata.success, trace.origin.ended) == (None, "Submitted")
    assert trace.outcome.result_summary == "1 line\n"


def test_a_command_in_the_text() -> None:
    said = "I look.\n```mswea_bash_command\nls\n```"
    (trace,) = traces_of(
        document(
            {"role": "assistant", "content": said, "extra": {"actions": [{"command": "ls"}]}},
            {"role": "user", "content": "a.txt", "extra": {"returncode": 0}},
        )
    )
    assert steps_of(trace) == [
        ("thought", None, said),
        ("tool_call", "bash", '{"command":"ls"}'),
        ("observation", "bash", "a.txt"),
    ]


def test_the_first_version_notes_nothing_beside_the_text() -> None:
    said = "I look.\n\n```bash\nls b\n```\nThen I see."
    (trace,) = traces_of(
        document(
            {"role": "assistant", "content": said},
            {"role": "user", "content": "<returncode>2</returncode>\n<output>no b</output>"},
            {"role": "assistant", "content": "Again\n```bash\nls\n```"},
            trajectory_format="mini-swe-agent-1",
        )
    )
    assert [(type_, tool) for type_, tool, _ in steps_of(trace)] == [
        ("thought", None),
        ("tool_call", "bash"),
        ("observation", "bash"),
        ("thought", None),
        ("error_recovery", "bash"),
    ]


def test_the_responses_api() -> None:
    (trace,) = traces_of(
        document(
            {
                "object": "response",
                "output": [
                    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Count first"}]},
                    {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
                    {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
                    {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'},
                ],
                "usage": {"input_tokens": 7, "output_tokens": 3},
                "extra": {"timestamp": 1769860800},
            },
            {"type": "function_call_output", "call_id": "c1", "output": "a.txt", "extra": {"returncode": 0}},
        )
    )
    assert steps_of(trace) == [
        ("thought", None, "Count first"),
        ("thought", None, "I look."),
        ("tool_call", "bash", '{"command":"ls"}'),
        ("observation", "bash", "a.txt"),
    ]
    assert trace.origin is not None
    assert (trace.origin.input_tokens, trace.origin.output_tokens) == (7, 3)
    assert trace.origin.unmapped == {"reasoning without text": 1, "system": 1}


def test_a_task_of_a_benchmark_names_the_trace_and_a_copy_counts_once() -> None:
    seen = SeenRecords()
    data = CHAT | {"instance_id": "django-1"}
    (trace,) = traces_of(data, "a.traj.json", seen)
    assert trace.id.startswith("kp:trace:mini-swe-agent:django-1:")
    assert traces_of(data, "b.traj.json", seen) == []


def test_a_run_that_did_nothing_says_so() -> None:
    (problem,) = problems_of(document())
    assert problem.endswith("has no step of an agent")


@pytest.mark.parametrize(
    ("change", "reader"),
    [
        ({}, "mini-swe-agent"),
        ({"info": {}}, "mini-swe-agent"),
        ({"trajectory_format": None}, "mini-swe-agent"),
        ({"trajectory_format": None, "info": {}}, None),
        ({"messages": []}, None),
    ],
)
def test_it_is_found_by_its_version(change: Json, reader: str | None) -> None:
    assert reader_of(msgspec.json.format(msgspec.json.encode(CHAT | change))) == reader


def test_a_long_file_is_found_by_its_beginning() -> None:
    long = copy.deepcopy(CHAT)
    long["messages"][3]["content"] = "x" * 400_000
    assert reader_of(msgspec.json.format(msgspec.json.encode(long))) == "mini-swe-agent"


@pytest.mark.parametrize("seed", range(150))
def test_a_damaged_trajectory_gives_a_trace_or_a_reason(seed: int) -> None:
    read_damaged(readers()["mini-swe-agent"], msgspec.json.encode(CHAT), seed, "run.traj.json")
