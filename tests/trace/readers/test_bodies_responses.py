"""OpenAI Responses: items by call id, conversations that the API holds, calls that it runs itself, streams."""

import json
from typing import Any

import msgspec
import pytest

from tests.trace.readers.rows import reader_of, steps_of, traces_of

Json = dict[str, Any]


def message(role: str, text: str) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def call(id_: str, name: str = "count", **arguments: Any) -> Json:
    # An item has an id of its own; the call's is another.
    return {
        "type": "function_call",
        "id": f"fc_{id_}",
        "call_id": id_,
        "name": name,
        "arguments": json.dumps(arguments),
    }


def output(id_: str, text: Any, **more: Any) -> Json:
    return {"type": "function_call_output", "call_id": id_, "output": text} | more


def response(id_: str, *items: Json, **more: Any) -> Json:
    return {
        "id": id_,
        "object": "response",
        "created_at": 1769860800,
        "model": "maker-large",
        "status": "completed",
        "error": None,
        "output": list(items),
        "usage": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12},
    } | more


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look first."}]}
FIRST: Json = {
    "request": {"model": "maker-large", "instructions": "Be brief.", "input": "How long is a.txt?"},
    "response": response("resp_1", THOUGHT, message("assistant", "I look."), call("call_0000001", path="a.txt")),
}
DONE = response("resp_2", message("assistant", "One line."))
REPEATED: Json = {
    "model": "maker-large",
    "input": [
        {"role": "user", "content": "How long is a.txt?"},
        THOUGHT,
        message("assistant", "I look."),
        call("call_0000001", path="a.txt"),
        output("call_0000001", "1 a.txt"),
    ],
}
CONTINUED = {"model": "maker-large", "previous_response_id": "resp_1", "input": [output("call_0000001", "1 a.txt")]}
STEPS = [
    ("thought", None, "Look first."),
    ("thought", None, "I look."),
    ("tool_call", "count", '{"path":"a.txt"}'),
    ("observation", "count", "1 a.txt"),
    ("thought", None, "One line."),
]
SAMPLE = b"\n".join(map(msgspec.json.encode, [FIRST, {"request": CONTINUED, "response": DONE}]))


@pytest.mark.parametrize("second", [REPEATED, CONTINUED], ids=["sent again", "held by the API"])
def test_a_conversation_that_is_sent_again_or_held_by_the_api(second: Json) -> None:
    (trace,) = traces_of([FIRST, {"request": second, "response": DONE}], "log.jsonl")
    assert steps_of(trace) == STEPS
    assert (trace.task.objective, trace.outcome.result_summary) == ("How long is a.txt?", "One line.")
    origin = trace.origin
    assert origin is not None
    assert (origin.format, origin.model, origin.ended) == ("openai-responses", "maker-large", "completed")
    assert (origin.input_tokens, origin.output_tokens) == (20, 4)


def test_a_conversation_that_has_a_name_in_the_api() -> None:
    log = [
        {
            "request": {"conversation": {"id": "conv_1"}, "input": "Hi"},
            "response": response("resp_1", message("assistant", "Hello")),
        },
        {
            "request": {"conversation": "conv_1", "input": "Bye"},
            "response": response("resp_2", message("assistant", "Ciao")),
        },
    ]
    (trace,) = traces_of(log)
    assert steps_of(trace) == [("thought", None, "Hello"), ("observation", None, "Bye"), ("thought", None, "Ciao")]
    assert trace.origin is not None
    assert trace.origin.session == "conv_1"


def test_going_on_from_an_earlier_response_begins_another_trace_without_its_steps() -> None:
    other = {"previous_response_id": "resp_1", "input": [output("call_0000001", "cancelled")]}
    log = [
        FIRST,
        {"request": CONTINUED, "response": DONE},
        {"request": other, "response": response("resp_3", message("assistant", "Then not."))},
    ]
    first, second = traces_of(log)
    assert steps_of(first) == STEPS
    assert [row[2] for row in steps_of(second)] == ["cancelled", "Then not."]
    assert second.task.objective == "How long is a.txt?"


@pytest.mark.parametrize(
    ("items", "steps", "failed"),
    [
        (
            [
                {
                    "type": "mcp_call",
                    "id": "mcp_1",
                    "server_label": "docs",
                    "name": "find",
                    "arguments": '{"q": "a"}',
                    "output": "b",
                }
            ],
            [("tool_call", "find", '{"q":"a"}'), ("observation", "find", "b")],
            [None, None],
        ),
        (
            [{"type": "mcp_call", "id": "mcp_1", "name": "find", "arguments": "{}", "error": "not found"}],
            [("tool_call", "find", "{}"), ("observation", "find", "not found")],
            [None, True],
        ),
        (
            [
                {
                    "type": "web_search_call",
                    "id": "ws_1",
                    "status": "completed",
                    "action": {"type": "search", "query": "a"},
                }
            ],
            [("tool_call", "web_search", '{"type":"search","query":"a"}')],
            [None],
        ),
        (
            [{"type": "custom_tool_call", "call_id": "call_9", "name": "patch", "input": '{"a": 1}'}],
            [("tool_call", "patch", '"{\\"a\\": 1}"')],
            [None],
        ),
        (
            [{"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "aGVsbG8="}],
            [("tool_call", "image_generation", None), ("observation", "image_generation", "[image]")],
            [None, None],
        ),
        (
            [
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
                message("assistant", "Yes"),
            ],
            [("thought", None, "Yes")],
            [None],
        ),
        (
            [{"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}],
            [("thought", None, "I cannot.")],
            [None],
        ),
    ],
    ids=["mcp", "failed mcp", "search", "custom", "image", "encrypted", "refusal"],
)
def test_items_of_every_kind(items: list[Json], steps: list[Any], failed: list[Any]) -> None:
    (trace,) = traces_of([{"request": {"input": "Go"}, "response": response("resp_1", *items)}])
    assert steps_of(trace) == steps
    assert [step.origin.failed if step.origin else None for step in trace.steps] == failed


def test_a_shell_says_by_its_exit_codes_whether_it_failed() -> None:
    commands = [
        {"stdout": "", "stderr": "no b.txt", "outcome": {"type": "exit", "exit_code": 1}},
        {"stdout": "1 a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
    ]
    log = {
        "input": [
            {"role": "user", "content": "Go"},
            {"type": "shell_call", "call_id": "call_0000001", "action": {"commands": ["wc b.txt", "wc a.txt"]}},
            {"type": "shell_call_output", "call_id": "call_0000001", "output": commands},
            {"type": "shell_call", "call_id": "call_0000002", "action": {"commands": ["wc a.txt"]}},
        ]
    }
    (trace,) = traces_of(log)
    assert steps_of(trace) == [
        ("tool_call", "shell", '{"commands":["wc b.txt","wc a.txt"]}'),
        ("observation", "shell", "no b.txt\n1 a.txt"),
        ("error_recovery", "shell", '{"commands":["wc a.txt"]}'),
    ]


STREAM: list[Json] = [
    {"type": "response.created", "response": response("resp_1") | {"status": "in_progress", "usage": None}},
    {"type": "response.output_item.added", "item": call("call_0000001")},
    {"type": "response.function_call_arguments.delta", "delta": '{"path"'},
    {"type": "response.output_item.done", "item": call("call_0000001", path="a.txt")},
]


def test_a_stream_has_the_whole_response_at_its_end() -> None:
    whole = {"type": "response.completed", "response": response("resp_1", call("call_0000001", path="a.txt"))}
    text = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in [*STREAM, whole])
    (trace,) = traces_of([{"request": {"input": "Go"}, "response": text}])
    assert steps_of(trace) == [("tool_call", "count", '{"path":"a.txt"}')]
    assert trace.origin is not None
    assert (trace.origin.input_tokens, trace.origin.ended) == (10, "completed")


def test_a_stream_that_was_cut_off_has_what_was_completed() -> None:
    (trace,) = traces_of([{"request": {"input": "Go"}, "response": STREAM}])
    assert steps_of(trace) == [("tool_call", "count", '{"path":"a.txt"}')]
    assert trace.origin is not None
    assert (trace.origin.input_tokens, trace.origin.ended) == (None, "in_progress")


def test_an_answer_that_is_incomplete_says_why() -> None:
    cut = response(
        "resp_1", message("assistant", "One"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    (trace,) = traces_of([{"request": {"input": "Go"}, "response": cut}])
    assert trace.origin is not None
    assert trace.origin.ended == "max_output_tokens"


@pytest.mark.parametrize(
    "data",
    [
        [*REPEATED["input"], message("assistant", "One line.")],
        {"input": [*REPEATED["input"], message("assistant", "One line.")]},
    ],
)
def test_items_that_stand_alone_are_one_conversation(data: Any) -> None:
    (trace,) = traces_of(msgspec.json.encode(data))
    assert steps_of(trace) == STEPS


@pytest.mark.parametrize(
    ("record", "reader"),
    [
        (FIRST, "openai-responses"),
        (REPEATED, "openai-responses"),
        (DONE, "openai-responses"),
        (FIRST["request"], "openai-responses"),
    ],
)
def test_it_is_found_by_its_content(record: Json, reader: str | None) -> None:
    assert reader_of(msgspec.json.encode(record)) == reader
