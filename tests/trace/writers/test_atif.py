"""A trace as an ATIF document: valid for others, and for us the same trace again."""

import io
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scalepan.trace import ReasoningTrace, TraceValuer
from scalepan.trace.readers import TraceLine, read_source
from scalepan.trace.readers.source import Source
from scalepan.trace.writers import to_atif
from tests.real.wholetrace import WHOLE, Trace
from tests.trace.anytrace import logged_traces, traces
from tests.trace.traces import trace_dict


def read_back(document: dict[str, Any]) -> ReasoningTrace:
    source = Source(io.BytesIO(msgspec.json.encode(document)), "trajectory.json")
    (row,) = read_source(source)
    assert isinstance(row, TraceLine), row
    return row.trace


@given(traces | logged_traces())
def test_reading_it_back_gives_the_same_trace_and_the_same_score(data: Trace) -> None:
    trace = ReasoningTrace.from_json(msgspec.json.encode(data))
    again = read_back(to_atif(trace))
    assert again.to_dict() == trace.to_dict()
    assert again == trace
    before, after = (TraceValuer(embedder=None).peek(it) for it in (trace, again))
    assert after.value == before.value
    assert [(part.name, part.value, part.source) for part in after.parts] == [
        (part.name, part.value, part.source) for part in before.parts
    ]


NATIVE: dict[str, Any] = trace_dict() | {
    "steps": [
        {"step_id": 0, "type": "thought", "content": "Look at the log first"},
        {"step_id": 1, "type": "tool_call", "tool": {"name": "read"}, "input": {"path": "build.log"}},
        {"step_id": 2, "type": "tool_call", "tool": {"name": "search"}, "input": "cache", "output_summary": "3 hits"},
        {"step_id": 3, "type": "observation", "content": "cache: miss"},
        {"step_id": 4, "type": "error_recovery", "tool": {"name": "search"}, "content": "Try the docs"},
        {"step_id": 5, "type": "observation", "content": "Keys change daily"},
    ]
}


def test_a_native_trace_in_the_format() -> None:
    document = to_atif(ReasoningTrace.from_dict(NATIVE))
    assert document == {
        "schema_version": "ATIF-v1.8",
        "trajectory_id": "kp:trace:1",
        "agent": {"name": "unknown", "version": "unknown"},
        "steps": [
            {
                "step_id": 1,
                "source": "user",
                "message": "Find out why the build is slow",
                "timestamp": "2026-01-31T12:00:00Z",
            },
            {
                "step_id": 2,
                "source": "agent",
                "message": "",
                "reasoning_content": "Look at the log first",
                "tool_calls": [
                    {"tool_call_id": "scalepan-1", "function_name": "read", "arguments": {"path": "build.log"}},
                    {
                        "tool_call_id": "scalepan-2",
                        "function_name": "search",
                        "arguments": {"input": "cache"},
                        "extra": {"scalepan": {"input": "wrapped"}},
                    },
                ],
                "observation": {
                    "results": [
                        {
                            "source_call_id": "scalepan-2",
                            "content": "3 hits",
                            "extra": {"scalepan": {"is": "output_summary"}},
                        },
                        {"source_call_id": "scalepan-1", "content": "cache: miss"},
                    ]
                },
            },
            {
                "step_id": 3,
                "source": "agent",
                "message": "Found it",
                "tool_calls": [
                    {
                        "tool_call_id": "scalepan-4",
                        "function_name": "search",
                        "arguments": {},
                        "extra": {"scalepan": {"step": {"type": "error_recovery", "content": "Try the docs"}}},
                    }
                ],
                "observation": {"results": [{"source_call_id": "scalepan-4", "content": "Keys change daily"}]},
                "extra": {"scalepan": {"message": "result"}},
            },
        ],
        "extra": {
            "scalepan": {
                "success": True,
                "confidence": 0.9,
                "domain": "default",
                "trace": {"metadata": {"quality_score": 0.5}},
            }
        },
    }


def test_the_last_thought_that_is_the_result_is_a_message() -> None:
    data = trace_dict(("thought", "thought"))
    data["outcome"]["result_summary"] = data["steps"][1]["content"]
    first, last = to_atif(ReasoningTrace.from_dict(data))["steps"][1:]
    assert (first["message"], first["reasoning_content"]) == ("", "step 0 of thought")
    assert (last["message"], "reasoning_content" in last) == ("step 1 of thought", False)


@given(st.text(min_size=30, alphabet="abcdefghijklmnopqrstuvwxyz"))
def test_no_text_stands_twice(text: str) -> None:
    data: Trace = msgspec.json.decode(msgspec.json.encode(WHOLE))
    data["task"]["objective"] = f"objective {text}"
    data["outcome"]["result_summary"] = f"result {text}"
    for step in data["steps"]:
        step["content"] = f"content {step['step_id']} {text}"
        step["output_summary"] = f"summary {step['step_id']} {text}"
    written = msgspec.json.encode(to_atif(ReasoningTrace.from_dict(data)))
    assert written.count(text.encode()) == 2 + 2 * len(data["steps"])


def test_a_document_that_was_changed_by_hand_is_read_as_it_stands() -> None:
    document = to_atif(ReasoningTrace.from_dict(NATIVE))
    document["steps"][1]["reasoning_content"] = "Ask first"
    document["extra"]["scalepan"]["success"] = False
    trace = read_back(document)
    assert (trace.steps[0].content, trace.metadata.success) == ("Ask first", False)
