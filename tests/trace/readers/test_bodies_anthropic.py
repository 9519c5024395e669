"""Anthropic Messages: blocks, results inside the user's messages, tools that the API runs, streams."""

import json
from typing import Any

import msgspec
import pytest

from tests.trace.readers.claudelog import text, thinking, tool_result, tool_use, usage
from tests.trace.readers.rows import reader_of, steps_of, traces_of

Json = dict[str, Any]


def request(*messages: Json, **more: Any) -> Json:
    return {"model": "claude-x", "max_tokens": 99, "messages": list(messages)} | more


def user(*blocks: Any) -> Json:
    return {"role": "user", "content": blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else list(blocks)}


def response(id_: str, *blocks: Json, **more: Any) -> Json:
    return {
        "id": id_,
        "type": "message",
        "role": "assistant",
        "model": "claude-x-2026",
        "content": list(blocks),
        "stop_reason": "tool_use" if blocks and blocks[-1]["type"] == "tool_use" else "end_turn",
        "usage": usage(10, 2, cached=5, created=1),
    } | more


LOOKS = [
    thinking("Look first."),
    text("I look."),
    tool_use("toolu_0001", "count", path="b.txt"),
    tool_use("toolu_0002", "list"),
]
RESULTS = user(
    # Results of parallel calls come in any order.
    tool_result("toolu_0002", [text("a.txt")]),
    tool_result("toolu_0001", "no b.txt", is_error=True),
    text("<system-reminder>Be quick.</system-reminder>"),
    text("Hurry up"),
)
RETRY = [tool_use("toolu_0003", "count", path="a.txt")]
TOLD = user(tool_result("toolu_0003", "1 a.txt", is_error=False))
ASKED = user("How long is a.txt?")
EXCHANGES = [
    {"request": request(ASKED, system="Be brief."), "response": response("msg_1", *LOOKS)},
    {
        "request": request(ASKED, {"role": "assistant", "content": LOOKS}, RESULTS, system="Be brief."),
        "response": response("msg_2", *RETRY),
    },
    {
        "request": request(
            ASKED, {"role": "assistant", "content": LOOKS}, RESULTS, {"role": "assistant", "content": RETRY}, TOLD
        ),
        "response": response("msg_3", text("One line.")),
    },
]
STEPS = [
    ("thought", None, "Look first."),
    ("thought", None, "I look."),
    ("tool_call", "count", '{"path":"b.txt"}'),
    ("tool_call", "list", "{}"),
    ("observation", "list", "a.txt"),
    ("observation", "count", "no b.txt"),
    ("observation", None, "Hurry up"),
    ("error_recovery", "count", '{"path":"a.txt"}'),
    ("observation", "count", "1 a.txt"),
    ("thought", None, "One line."),
]
SAMPLE = b"\n".join(map(msgspec.json.encode, EXCHANGES))


def test_requests_that_repeat_the_conversation_are_one_trace_with_each_message_once() -> None:
    (trace,) = traces_of(EXCHANGES, "log.jsonl")
    assert steps_of(trace) == STEPS
    assert (trace.task.objective, trace.outcome.result_summary) == ("How long is a.txt?", "One line.")
    origin = trace.origin
    assert origin is not None
    assert (origin.format, origin.model, origin.ended) == ("anthropic", "claude-x-2026", "end_turn")
    # Three answers; what comes from the cache was read too: 3 x (10 + 5 + 1).
    assert (origin.input_tokens, origin.output_tokens) == (48, 6)
    results = [step.origin.failed for step in trace.steps if step.tool and step.type == "observation" and step.origin]
    assert results == [None, True, False]


def test_thoughts_that_the_next_request_leaves_out_do_not_split_the_trace() -> None:
    """Clients may drop thinking blocks of earlier turns."""
    bare = [block for block in LOOKS if block["type"] != "thinking"]
    log = [
        EXCHANGES[0],
        {
            "request": request(ASKED, {"role": "assistant", "content": bare}, RESULTS),
            "response": response("msg_2", text("None.")),
        },
    ]
    (trace,) = traces_of(log)
    assert steps_of(trace) == [*STEPS[:7], ("thought", None, "None.")]


def test_thoughts_may_be_encrypted_or_empty() -> None:
    hidden = {"type": "redacted_thinking", "data": "EmwKAhgB"}
    (trace,) = traces_of(
        [{"request": request(ASKED), "response": response("msg_1", hidden, thinking(""), text("Yes."))}]
    )
    assert steps_of(trace) == [("thought", None, "Yes.")]
    assert trace.origin is not None
    assert trace.origin.unmapped == {"encrypted reasoning": 2}


@pytest.mark.parametrize(
    ("content", "said", "failed"),
    [
        ([{"type": "web_search_result", "title": "A", "url": "u", "encrypted_content": "x"}], None, None),
        ({"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}, "max_uses_exceeded", True),
        ({"type": "bash_code_execution_result", "stdout": "1\n", "stderr": "", "return_code": 0}, "1\n", False),
        ({"type": "bash_code_execution_result", "stdout": "", "stderr": "no", "return_code": 1}, "no", True),
    ],
    ids=["search", "failed search", "code", "failed code"],
)
def test_tools_that_the_api_runs_have_their_result_in_the_same_answer(
    content: Any, said: str | None, failed: bool | None
) -> None:
    called = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "a"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": content}
    (trace,) = traces_of([{"request": request(ASKED), "response": response("msg_1", called, result, text("Yes."))}])
    kinds = [(step.type, step.tool.name if step.tool else None) for step in trace.steps]
    assert kinds == [("tool_call", "web_search"), ("observation", "web_search"), ("thought", None)]
    assert trace.steps[1].origin is not None
    assert trace.steps[1].origin.failed is failed
    if said is not None:
        assert trace.steps[1].content == said


def test_tools_of_mcp_servers_name_their_server() -> None:
    called = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "find", "server_name": "docs", "input": {}}
    result = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": True, "content": [text("no")]}
    (trace,) = traces_of([{"request": request(ASKED), "response": response("msg_1", called, result)}])
    assert trace.steps[0].tool is not None
    assert trace.steps[0].tool.mcp_server == "docs"
    assert steps_of(trace) == [("tool_call", "find", "{}"), ("observation", "find", "no")]


EVENTS: list[Json] = [
    {"type": "message_start", "message": response("msg_1") | {"stop_reason": None, "usage": usage(10, 1)}},
    {"type": "content_block_start", "index": 0, "content_block": thinking("")},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Look "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "first."}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": text("")},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I look."}},
    {"type": "content_block_start", "index": 2, "content_block": tool_use("toolu_0001", "count")},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"path":'}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ' "a.txt"}'}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]


@pytest.mark.parametrize("form", ["events", "text"])
def test_the_events_of_a_stream_are_one_answer(form: str) -> None:
    stream = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in EVENTS)
    (trace,) = traces_of([{"request": request(ASKED, stream=True), "response": EVENTS if form == "events" else stream}])
    assert steps_of(trace) == [
        ("thought", None, "Look first."),
        ("thought", None, "I look."),
        ("tool_call", "count", '{"path":"a.txt"}'),
    ]
    assert trace.origin is not None
    # The last count of the output is the one that holds.
    assert (trace.origin.input_tokens, trace.origin.output_tokens, trace.origin.ended) == (10, 9, "tool_use")


def test_an_error_in_a_stream_is_no_answer() -> None:
    events = [*EVENTS[:2], {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}]
    log = [{"request": request(ASKED, {"role": "assistant", "content": "So"}), "response": events}]
    (trace,) = traces_of([{"url": "https://example.com/v1/messages"} | log[0]])
    assert steps_of(trace) == [("thought", None, "So")]
    assert trace.origin is not None
    assert trace.origin.unmapped == {"error response": 1}


@pytest.mark.parametrize(
    "data",
    [
        request(
            ASKED,
            {"role": "assistant", "content": LOOKS},
            RESULTS,
            {"role": "assistant", "content": RETRY},
            TOLD,
            {"role": "assistant", "content": "One line."},
        ),
        [
            ASKED,
            {"role": "assistant", "content": LOOKS},
            RESULTS,
            {"role": "assistant", "content": RETRY},
            TOLD,
            {"role": "assistant", "content": "One line."},
        ],
    ],
    ids=["one request", "bare messages"],
)
def test_messages_without_a_response(data: Any) -> None:
    (trace,) = traces_of(msgspec.json.encode(data))
    assert steps_of(trace) == STEPS
    assert trace.origin is not None
    assert trace.origin.unmapped["system reminder"] == 1


def test_bodies_of_two_apis_in_one_log_are_read_as_what_they_are() -> None:
    chat = {
        "request": {"messages": [{"role": "user", "content": "Hi"}]},
        "response": {"choices": [{"message": {"content": "Hello"}}]},
    }
    traces = traces_of([*EXCHANGES, chat])
    assert [trace.origin.format for trace in traces if trace.origin] == ["anthropic", "openai-chat"]


@pytest.mark.parametrize(
    ("record", "reader"),
    [
        (EXCHANGES[0], "anthropic"),
        (request(ASKED, system="Be brief."), "anthropic"),
        (request(ASKED, {"role": "assistant", "content": LOOKS}), "anthropic"),
        (response("msg_1", text("Hi")), "anthropic"),
        (request(ASKED, tools=[{"name": "count", "input_schema": {}}]), "anthropic"),
    ],
)
def test_it_is_found_by_its_content(record: Json, reader: str) -> None:
    assert reader_of(msgspec.json.encode(record)) == reader
