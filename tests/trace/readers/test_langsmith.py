"""Runs of LangSmith, shaped like those that its SDK (0.14.17), wrap_openai, wrap_anthropic and LangGraph send."""

from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

from scalepan.trace.readers import BadRow, SeenRecords, TraceLine, open_path, read_source, readers
from scalepan.trace.readers.runs import held
from tests.trace.readers.rows import problems_of, reader_of, rows_of, steps_of, traces_of

Json = dict[str, Any]


def run(number: int, kind: str, name: str, inputs: Any, outputs: Any, *, parent: int | None = 1, **more: Any) -> Json:
    """A run of the trace T-1. Its number is its place in the order."""
    own = f"20260131T1200{number:02}000000Zrun-{number}"
    above = f"20260131T120001000000Zrun-1.{own}" if parent == 1 else f"{more.pop('above', '')}.{own}"
    return {
        "id": f"run-{number}",
        "trace_id": "T-1",
        "dotted_order": own if parent is None else above,
        "parent_run_id": None if parent is None else f"run-{parent}",
        "run_type": kind,
        "name": name,
        "inputs": inputs,
        "outputs": outputs,
        "error": None,
        "start_time": f"2026-01-31T12:00:{number:02}.000000",
        "session_name": "shop",
    } | more


def lc(class_: str, content: Any, **more: Any) -> Json:
    """A message as LangChain serializes it."""
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", class_],
        "kwargs": {"content": content} | more,
    }


def generated(message: Json) -> Json:
    return {"generations": [[{"text": "", "type": "ChatGeneration", "message": message}]], "type": "LLMResult"}


SYSTEM, HUMAN = lc("SystemMessage", "Be brief."), lc("HumanMessage", "How long is a.txt?")
USED = {"input_tokens": 10, "output_tokens": 2}
ASKS_B = lc(
    "AIMessage",
    "I look.",
    tool_calls=[{"name": "count", "args": {"path": "b.txt"}, "id": "call_0000001", "type": "tool_call"}],
    usage_metadata=USED,
)
TOLD_B = lc("ToolMessage", "Error: no b.txt. Fix it.", name="count", tool_call_id="call_0000001", status="error")
ASKS_A = lc("AIMessage", "", tool_calls=[{"name": "count", "args": {"path": "a.txt"}, "id": "call_0000002"}])
TOLD_A = lc("ToolMessage", "1 a.txt", name="count", tool_call_id="call_0000002", status="success")
DONE = lc("AIMessage", "One line.", usage_metadata=USED)
GRAPH = [
    run(
        1,
        "chain",
        "LangGraph",
        {"messages": [["system", "Be brief."], ["user", "How long is a.txt?"]]},
        {"messages": [{"type": "human", "content": "How long is a.txt?"}, {"type": "ai", "content": "One line."}]},
        parent=None,
        status="success",
        extra={"metadata": {"thread_id": "t-1"}},
    ),
    run(2, "llm", "ChatOpenAI", {"messages": [[SYSTEM, HUMAN]]}, generated(ASKS_B)),
    run(
        3,
        "tool",
        "count",
        {"path": "b.txt"},
        {},
        error="ValueError('no b.txt')Traceback (most recent call last):",
        extra={"tool_call_id": "call_0000001"},
    ),
    run(4, "llm", "ChatOpenAI", {"messages": [[SYSTEM, HUMAN, ASKS_B, TOLD_B]]}, generated(ASKS_A)),
    run(5, "tool", "count", {"path": "a.txt"}, {"output": TOLD_A}),
    run(6, "prompt", "Prompt", {}, {}),
    run(7, "llm", "ChatOpenAI", {"messages": [[SYSTEM, HUMAN, ASKS_B, TOLD_B, ASKS_A, TOLD_A]]}, generated(DONE)),
]
STEPS = [
    ("thought", None, "I look."),
    ("tool_call", "count", '{"path":"b.txt"}'),
    ("observation", "count", "Error: no b.txt. Fix it."),
    ("error_recovery", "count", '{"path":"a.txt"}'),
    ("observation", "count", "1 a.txt"),
    ("thought", None, "One line."),
]
SAMPLE = b"\n".join(map(msgspec.json.encode, GRAPH))


def test_a_graph_step_by_step() -> None:
    (trace,) = traces_of(GRAPH, "runs.jsonl")
    assert steps_of(trace) == STEPS
    assert (trace.id, trace.task.objective) == ("kp:trace:langsmith:T-1", "How long is a.txt?")
    assert (trace.outcome.result_summary, trace.outcome.confidence, trace.metadata.success) == ("One line.", None, None)
    assert trace.metadata.created_at == "2026-01-31T12:00:01Z"
    origin = trace.origin
    assert origin is not None
    assert (origin.session, origin.project, origin.ended) == ("t-1", "shop", "success")
    assert (origin.input_tokens, origin.output_tokens) == (20, 4)
    assert origin.unmapped == {"chain run": 1, "prompt run": 1, "system message": 1}
    failed = [step.origin.failed for step in trace.steps if step.type == "observation" and step.origin]
    assert failed == [True, False]


@pytest.mark.parametrize(
    "data",
    [
        msgspec.json.encode(GRAPH),
        msgspec.json.encode({"runs": GRAPH, "cursors": {}}),
        msgspec.json.format(msgspec.json.encode({"data": GRAPH})),
        b"\n".join(map(msgspec.json.encode, reversed(GRAPH))),
        # The client first sends a run's start, then its end.
        b"\n".join(msgspec.json.encode(row | {"outputs": None}) for row in GRAPH) + b"\n" + SAMPLE,
        msgspec.json.encode(GRAPH[0] | {"child_runs": GRAPH[1:]}),
    ],
    ids=["array", "answer of the API", "printed", "newest first", "starts and ends", "tree"],
)
def test_whatever_holds_the_runs_the_steps_are_the_same(data: bytes) -> None:
    (trace,) = traces_of(data, "runs.json")
    assert steps_of(trace) == STEPS
    assert reader_of(data) == "langsmith"


def test_a_bulk_export_in_parquet_has_inputs_and_outputs_as_text(tmp_path: Path) -> None:
    columns = ("inputs", "outputs", "extra")
    rows = [row | {key: msgspec.json.encode(row.get(key)).decode() for key in columns} for row in GRAPH]
    (tmp_path / "runs.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT * REPLACE (start_time::TIMESTAMP AS start_time) FROM read_json($1)) TO $2 (FORMAT parquet)",
            [str(tmp_path / "runs.jsonl"), str(tmp_path / "runs.parquet")],
        )
    with open_path(tmp_path / "runs.parquet") as source:
        (row,) = read_source(source)
    assert isinstance(row, TraceLine)
    assert steps_of(row.trace) == STEPS
    assert row.trace.metadata.created_at == "2026-01-31T12:00:01Z"


OPENAI_B = {"id": "call_0000001", "type": "function", "function": {"name": "count", "arguments": '{"path": "b.txt"}'}}
ANTHROPIC_B = {"type": "tool_use", "id": "call_0000001", "name": "count", "input": {"path": "b.txt"}}
ASKED = {"role": "user", "content": "How long is a.txt?"}


def in_form(answer: Any, sent_back: list[Json], last: Any, **more: Any) -> list[Json]:
    """A model call, a failed tool run without an id, and a model call that is sent the whole conversation."""
    return [
        run(1, "chain", "agent", {"question": "How long is a.txt?"}, {"output": "None."}, parent=None),
        run(2, "llm", "model", {"messages": [ASKED]} | more, answer),
        run(3, "tool", "count", {"path": "b.txt"}, {"output": None}, error="ValueError('no b.txt')"),
        run(4, "llm", "model", {"messages": [ASKED, *sent_back]} | more, last),
    ]


OPENAI_SAID = {"role": "assistant", "content": "I look.", "tool_calls": [OPENAI_B]}
ANTHROPIC_SAID = [{"type": "text", "text": "I look."}, ANTHROPIC_B]


@pytest.mark.parametrize(
    "runs",
    [
        in_form(
            {"choices": [{"index": 0, "message": OPENAI_SAID, "finish_reason": "tool_calls"}]},
            [OPENAI_SAID, {"role": "tool", "tool_call_id": "call_0000001", "content": "no b.txt"}],
            {"choices": [{"message": {"role": "assistant", "content": "None."}}]},
        ),
        in_form(
            {"message": {"id": "m-1", "type": "message", "role": "assistant", "content": ANTHROPIC_SAID}},
            [
                {"role": "assistant", "content": ANTHROPIC_SAID},
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "call_0000001", "content": "no b.txt"}],
                },
            ],
            {"role": "assistant", "content": [{"type": "text", "text": "None."}]},
            system="Be brief.",
        ),
        # wrap_anthropic turns the answer into OpenAI's form, and the request stays in Anthropic's.
        in_form(
            {"role": "assistant", "content": "I look.", "tool_calls": [OPENAI_B]},
            [
                {"role": "assistant", "content": ANTHROPIC_SAID},
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "call_0000001", "content": "no b.txt"}],
                },
            ],
            {"role": "assistant", "content": "None."},
        ),
        in_form(
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {
                        "type": "tool-call",
                        "toolCallId": "call_0000001",
                        "toolName": "count",
                        "input": {"path": "b.txt"},
                    },
                ],
            },
            [
                {
                    "role": "tool",
                    "content": [
                        {
                            "type": "tool-result",
                            "toolCallId": "call_0000001",
                            "toolName": "count",
                            "output": {"type": "text", "value": "no b.txt"},
                        }
                    ],
                }
            ],
            {"role": "assistant", "content": [{"type": "text", "text": "None."}]},
        ),
    ],
    ids=["OpenAI", "Anthropic", "wrap_anthropic", "Vercel"],
)
def test_messages_in_the_form_of_each_client(runs: list[Json]) -> None:
    (trace,) = traces_of(runs)
    assert steps_of(trace) == [
        ("thought", None, "I look."),
        ("tool_call", "count", '{"path":"b.txt"}'),
        ("observation", "count", "no b.txt"),
        ("thought", None, "None."),
    ]
    assert trace.steps[2].origin is not None
    assert trace.steps[2].origin.failed is True


def test_items_of_the_responses_api() -> None:
    call = {"type": "function_call", "call_id": "call_0000001", "name": "count", "arguments": '{"path": "a.txt"}'}
    (trace,) = traces_of(
        [
            run(1, "llm", "Response", {"instructions": "Be brief.", "input": [ASKED]}, {"output": [call]}, parent=None),
            run(2, "tool", "count", {"path": "a.txt"}, {"output": "1 a.txt", "call_id": "call_0000001"}),
            run(
                3,
                "llm",
                "Response",
                {
                    "input": [
                        ASKED,
                        call,
                        {"type": "function_call_output", "call_id": "call_0000001", "output": "1 a.txt"},
                    ]
                },
                {
                    "output": [
                        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "1"}]}
                    ]
                },
                parent=None,
            ),
        ]
    )
    assert steps_of(trace) == [
        ("tool_call", "count", '{"path":"a.txt"}'),
        ("observation", "count", "1 a.txt"),
        ("thought", None, "1"),
    ]
    assert trace.task.objective == "How long is a.txt?"


def test_a_thought_that_only_the_next_request_has_stands_before_what_it_led_to() -> None:
    thought = {"type": "thinking", "thinking": "Look first.", "signature": "c2ln"}
    runs = in_form(
        {"role": "assistant", "content": "I look.", "tool_calls": [OPENAI_B]},
        [{"role": "assistant", "content": [thought, *ANTHROPIC_SAID]}],
        {"role": "assistant", "content": "None."},
    )
    (trace,) = traces_of(runs)
    assert [row[2] for row in steps_of(trace)][:2] == ["Look first.", "I look."]


def test_a_sub_agent_inside_a_tool_counts_once_and_does_not_speak_for_the_agent() -> None:
    root, tool = "20260131T120001000000Zrun-1", "20260131T120003000000Zrun-3"
    task = {"role": "user", "content": "Count a.txt"}
    inner = {"id": "call_0000009", "type": "function", "function": {"name": "count", "arguments": "{}"}}
    call = {"id": "call_0000001", "type": "function", "function": {"name": "helper", "arguments": '{"task": "Count"}'}}
    above = f"{root}.{tool}"
    runs = [
        run(1, "chain", "agent", {"question": "How long?"}, {"output": "It has one line."}, parent=None),
        run(2, "llm", "model", {"messages": [ASKED]}, {"role": "assistant", "content": None, "tool_calls": [call]}),
        run(3, "tool", "helper", {"task": "Count"}, {"output": "One line."}),
        run(
            4, "llm", "small", {"messages": [task]}, {"role": "assistant", "tool_calls": [inner]}, parent=3, above=above
        ),
        run(5, "tool", "count", {}, {"output": "1"}, parent=3, above=above),
        run(6, "retriever", "index", {"query": "a"}, {"documents": []}, parent=3, above=above),
        run(
            7,
            "llm",
            "small",
            {"messages": [task, {"role": "assistant", "tool_calls": [inner]}]},
            {"role": "assistant", "content": "One line."},
            parent=3,
            above=above,
        ),
        run(
            8,
            "llm",
            "model",
            {"messages": [ASKED, {"role": "tool", "tool_call_id": "call_0000001", "content": "One line."}]},
            {"role": "assistant", "content": "It has one line."},
        ),
    ]
    (trace,) = traces_of(runs)
    assert steps_of(trace) == [
        ("tool_call", "helper", '{"task":"Count"}'),
        ("tool_call", "count", "{}"),
        ("observation", "count", "1"),
        ("thought", None, "One line."),
        ("observation", "helper", "One line."),
        ("thought", None, "It has one line."),
    ]
    assert trace.outcome.result_summary == "It has one line."
    assert trace.origin is not None
    assert trace.origin.unmapped == {"chain run": 1, "prompt": 1, "request to a sub-agent": 1, "run inside a tool": 1}


def test_a_model_call_inside_a_model_call_is_the_same_call() -> None:
    answer = {"role": "assistant", "content": "One."}
    runs = [
        run(1, "llm", "my_model", {"prompt": "How long?"}, "One.", parent=None),
        run(2, "llm", "ChatOpenAI", {"messages": [{"role": "user", "content": "How long?"}]}, answer),
    ]
    (trace,) = traces_of(runs)
    assert steps_of(trace) == [("thought", None, "One.")]


def test_what_was_said_in_earlier_turns_is_not_this_traces_work() -> None:
    history = [HUMAN, lc("AIMessage", "One line."), lc("HumanMessage", "And b.txt?")]
    (trace,) = traces_of([run(1, "llm", "ChatOpenAI", {"messages": [history]}, generated(DONE), parent=None)])
    assert trace.task.objective == "And b.txt?"
    assert steps_of(trace) == [("thought", None, "One line.")]
    assert trace.origin is not None
    assert trace.origin.unmapped == {"earlier message": 2}


def test_the_same_words_twice_are_two_messages_and_a_repeated_request_is_one() -> None:
    yes = {"role": "user", "content": "yes"}
    said = {"role": "assistant", "content": "ok"}
    (trace,) = traces_of(
        [
            run(1, "chain", "chat", {}, {}, parent=None),
            run(2, "llm", "m", {"messages": [yes]}, said),
            run(3, "llm", "m", {"messages": [yes, said, yes]}, said),
            run(4, "llm", "m", {"messages": [yes, said, yes, said, yes]}, said),
        ]
    )
    assert [row[2] for row in steps_of(trace)] == ["ok", "yes", "ok", "yes", "ok"]


def test_a_retriever_and_a_tool_that_no_model_asked_for_are_calls_of_their_own() -> None:
    (trace,) = traces_of(
        [
            run(1, "chain", "rag", {"question": "How long?"}, {"output": "One."}, parent=None),
            run(2, "retriever", "index", {"query": "long"}, {"documents": [{"page_content": "one line"}]}),
            run(3, "llm", "m", {"messages": [{"role": "user", "content": "one line. How long?"}]}, "One."),
        ]
    )
    assert steps_of(trace) == [
        ("tool_call", "index", '{"query":"long"}'),
        ("observation", "index", '{"documents":[{"page_content":"one line"}]}'),
        ("thought", None, "One."),
    ]
    assert trace.task.objective == "How long?"


def test_a_model_call_that_failed_is_counted_and_its_trace_ended_so() -> None:
    rows = [*GRAPH[:6], run(7, "llm", "ChatOpenAI", {"messages": [[HUMAN]]}, None, error="RateLimitError")]
    rows[0] = rows[0] | {"status": "error", "error": "RateLimitError"}
    (trace,) = traces_of(rows)
    assert steps_of(trace) == STEPS[:-1]
    assert trace.origin is not None
    assert trace.origin.ended == "error"
    assert trace.origin.unmapped["failed model call"] == 1


def test_feedback_is_not_success() -> None:
    (trace,) = traces_of([GRAPH[0] | {"feedback_stats": {"success": {"n": 1, "avg": 1.0}}}, *GRAPH[1:]])
    assert trace.metadata.success is None


def test_traces_that_are_mixed_in_a_file_are_told_apart() -> None:
    other = [row | {"trace_id": "T-2", "id": f"{row['id']}-2"} for row in GRAPH]
    mixed = [row for pair in zip(GRAPH, other, strict=True) for row in pair]
    assert [trace.id[-3:] for trace in traces_of(mixed)] == ["T-1", "T-2"]


def test_when_too_many_are_open_the_one_that_waited_longest_is_closed_and_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(held, "OPEN_TRACES", 1)
    other = [row | {"trace_id": "T-2", "id": f"{row['id']}-2"} for row in GRAPH]
    traces = traces_of([*GRAPH[:5], *other, *GRAPH[5:]])
    assert [trace.id.removeprefix("kp:trace:langsmith:") for trace in traces] == ["T-1", "T-2", "T-1:run-6"]
    assert [len(trace.steps) for trace in traces] == [5, 6, 1]


def test_a_copy_in_another_file_is_not_counted_again() -> None:
    seen = SeenRecords()
    assert len(traces_of(GRAPH, "a.jsonl", seen)) == 1
    assert traces_of(GRAPH, "b.jsonl", seen) == []


def test_a_record_without_a_trace_and_a_line_that_is_not_json_are_reported_and_the_rest_is_read() -> None:
    rows = rows_of(SAMPLE + b'\n{"run_type": "llm"}\n{"run_type": ', "runs.jsonl")
    problems = [str(row.error) for row in rows if isinstance(row, BadRow)]
    assert problems == [
        "runs.jsonl:8: has no trace id",
        "runs.jsonl:9: is not JSON: Input data was truncated",
    ]
    assert [steps_of(row.trace) for row in rows if isinstance(row, TraceLine)] == [STEPS]


def test_a_trace_in_which_no_agent_does_anything_says_so() -> None:
    (problem,) = problems_of([run(1, "chain", "empty", {"question": "?"}, None, parent=None)])
    assert problem.endswith("kp:trace:langsmith:T-1: has no step of an agent")


def test_it_is_in_the_table() -> None:
    assert readers()["langsmith"].title.startswith("LangSmith")
