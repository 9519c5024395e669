"""OpenAI Chat Completions: requests, responses, streams, fine-tuning files, batch files, messages that stand alone."""

import json
from typing import Any

import msgspec
import pytest

from scalepan.trace.readers import BadRow, SeenRecords, TraceLine
from tests.trace.readers.rows import problems_of, reader_of, rows_of, steps_of, traces_of

Json = dict[str, Any]


def call(id_: str, name: str = "count", **arguments: Any) -> Json:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def assistant(content: str | None, *calls: Json, **more: Any) -> Json:
    return {"role": "assistant", "content": content} | ({"tool_calls": list(calls)} if calls else {}) | more


def told(id_: str, content: Any) -> Json:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def request(*messages: Json, **more: Any) -> Json:
    return {"model": "maker-large", "messages": list(messages)} | more


def response(id_: str, message: Json, **more: Any) -> Json:
    return {
        "id": id_,
        "object": "chat.completion",
        "created": 1769860800,
        "model": "maker-large-2026",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    } | more


SYSTEM = {"role": "system", "content": "Be brief."}
ASKED = {"role": "user", "content": "How long is a.txt?"}
LOOKS = assistant("I look.", call("call_0000001", path="b.txt"), call("call_0000002", path="a.txt"))
# Results come in any order; the id joins them.
RESULTS = [told("call_0000002", "1 a.txt"), told("call_0000001", [{"type": "text", "text": "no b.txt"}])]
DONE = assistant("One line.")
EXCHANGES = [
    {"request": request(SYSTEM, ASKED), "response": response("chatcmpl-1", LOOKS)},
    {"request": request(SYSTEM, ASKED, LOOKS, *RESULTS), "response": response("chatcmpl-2", DONE)},
]
STEPS = [
    ("thought", None, "I look."),
    ("tool_call", "count", '{"path":"b.txt"}'),
    ("tool_call", "count", '{"path":"a.txt"}'),
    ("observation", "count", "1 a.txt"),
    ("observation", "count", "no b.txt"),
    ("thought", None, "One line."),
]
SAMPLE = b"\n".join(map(msgspec.json.encode, EXCHANGES))


def test_requests_that_repeat_the_conversation_are_one_trace_with_each_message_once() -> None:
    (trace,) = traces_of(EXCHANGES, "log.jsonl")
    assert steps_of(trace) == STEPS
    assert (trace.task.objective, trace.outcome.result_summary) == ("How long is a.txt?", "One line.")
    assert (trace.metadata.success, trace.outcome.confidence) == (None, None)
    assert trace.metadata.created_at == "2026-01-31T12:00:00Z"
    origin = trace.origin
    assert origin is not None
    assert (origin.format, origin.model, origin.ended) == ("openai-chat", "maker-large-2026", "stop")
    assert (origin.input_tokens, origin.output_tokens) == (20, 4)
    # A tool message does not say whether the call failed.
    assert {step.origin.failed for step in trace.steps if step.origin} == {None}


def test_arguments_are_a_string_of_json_or_stay_a_string() -> None:
    odd = {"id": "call_0000001", "type": "function", "function": {"name": "count", "arguments": '{"path": "a'}}
    custom = {"id": "call_0000002", "type": "custom", "custom": {"name": "patch", "input": '{"not": "parsed"}'}}
    (trace,) = traces_of(request(ASKED, assistant(None, odd, custom)))
    assert [(step.tool.name if step.tool else None, step.input) for step in trace.steps] == [
        ("count", '{"path": "a'),
        ("patch", '{"not": "parsed"}'),
    ]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        # The body as text, as a proxy logs it.
        ([{key: json.dumps(body) for key, body in one.items()} for one in EXCHANGES], "log.jsonl"),
        # The lines of a batch file hold the body, and those of its results hold it one level deeper.
        (
            [
                {
                    "custom_id": "1",
                    "method": "POST",
                    "url": "/v1/chat/completions",
                    "body": one["request"],
                    "response": {"status_code": 200, "body": one["response"]},
                }
                for one in EXCHANGES
            ],
            "batch.jsonl",
        ),
        ([one | {"url": "https://example.com/v1/chat/completions?x=1"} for one in EXCHANGES], "log.jsonl"),
        (msgspec.json.encode(EXCHANGES), "log.json"),
        (msgspec.json.encode(request(SYSTEM, ASKED, LOOKS, *RESULTS, DONE)), "one.json"),
        ([SYSTEM, ASKED, LOOKS, *RESULTS, DONE], "messages.jsonl"),
        (msgspec.json.encode([SYSTEM, ASKED, LOOKS, *RESULTS, DONE]), "messages.json"),
        ([request(SYSTEM, ASKED, LOOKS, *RESULTS, DONE, tools=[])], "fine-tuning.jsonl"),
    ],
    ids=["text", "batch", "address", "array", "one request", "lines of messages", "list of messages", "fine-tuning"],
)
def test_every_way_to_log_it_gives_the_same_steps(data: Any, name: str) -> None:
    (trace,) = traces_of(data, name)
    assert steps_of(trace) == STEPS
    assert trace.task.objective == "How long is a.txt?"


def chunk(**delta: Any) -> Json:
    return {
        "id": "chatcmpl-9",
        "object": "chat.completion.chunk",
        "model": "maker",
        "choices": [{"index": 0, "delta": delta}],
    }


CHUNKS = [
    chunk(role="assistant", content=""),
    chunk(reasoning_content="wc "),
    chunk(reasoning_content="does it"),
    chunk(content="I "),
    chunk(content="look."),
    chunk(
        tool_calls=[
            {"index": 0, "id": "call_0000001", "type": "function", "function": {"name": "count", "arguments": ""}}
        ]
    ),
    chunk(tool_calls=[{"index": 1, "id": "call_0000002", "function": {"name": "list", "arguments": "{}"}}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": '{"path": '}}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": '"a.txt"}'}}]),
    {"id": "chatcmpl-9", "model": "maker", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"id": "chatcmpl-9", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
]


@pytest.mark.parametrize("form", ["events", "text"])
def test_the_chunks_of_a_stream_are_one_answer(form: str) -> None:
    stream = "".join(f"data: {json.dumps(one)}\n\n" for one in CHUNKS) + "data: [DONE]\n\n"
    (trace,) = traces_of([{"request": request(ASKED, stream=True), "response": CHUNKS if form == "events" else stream}])
    assert steps_of(trace) == [
        ("thought", None, "wc does it"),
        ("thought", None, "I look."),
        ("tool_call", "count", '{"path":"a.txt"}'),
        ("tool_call", "list", "{}"),
    ]
    assert trace.origin is not None
    assert (trace.origin.input_tokens, trace.origin.output_tokens, trace.origin.ended) == (7, 3, "tool_calls")


@pytest.mark.parametrize(
    ("message", "steps"),
    [
        (assistant(None, refusal="I cannot."), [("thought", None, "I cannot.")]),
        (assistant("Hm.", reasoning="Think."), [("thought", None, "Think."), ("thought", None, "Hm.")]),
        (
            {"role": "assistant", "function_call": {"name": "count", "arguments": '{"n": 1}'}},
            [("tool_call", "count", '{"n":1}')],
        ),
    ],
)
def test_what_an_answer_may_hold(message: Json, steps: list[Any]) -> None:
    (trace,) = traces_of([{"request": request(ASKED), "response": response("chatcmpl-1", message)}])
    assert steps_of(trace) == steps


def test_what_else_a_request_may_hold() -> None:
    picture = {
        "role": "user",
        "content": [{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": {"url": "data:x"}}],
    }
    (trace,) = traces_of(
        request(
            {"role": "developer", "content": "Be brief."},
            ASKED,
            DONE,
            picture,
            {"role": "function", "name": "count", "content": "2"},
        )
    )
    assert steps_of(trace) == [
        ("thought", None, "One line."),
        ("observation", None, "And this?\n[image]"),
        ("observation", "count", "2"),
    ]
    assert trace.origin is not None
    assert trace.origin.unmapped == {"developer message": 1}


def test_other_choices_and_errors_are_counted() -> None:
    two = response("chatcmpl-1", DONE)
    two["choices"].append({"index": 1, "message": assistant("1 line.")})
    (trace,) = traces_of([{"request": request(ASKED), "response": two}])
    assert steps_of(trace) == [("thought", None, "One line.")]
    assert trace.origin is not None
    assert trace.origin.unmapped == {"other choice": 1}
    failed = {
        "request": request(SYSTEM, ASKED, LOOKS),
        "response": {"error": {"message": "overloaded", "type": "server_error"}},
    }
    (trace,) = traces_of([failed])
    assert trace.origin is not None
    assert trace.origin.unmapped == {"error response": 1, "system message": 1}


def test_conversations_of_one_file_are_told_apart() -> None:
    other = {"role": "user", "content": "And the weather?"}
    log = [
        EXCHANGES[0],
        {"request": request(other), "response": response("chatcmpl-8", assistant("Sunny."))},
        EXCHANGES[1],
    ]
    traces = traces_of(log)
    assert [trace.task.objective for trace in traces] == ["How long is a.txt?", "And the weather?"]
    assert steps_of(traces[0]) == STEPS


def test_a_request_that_leaves_a_conversation_in_its_middle_does_not_count_the_shared_steps_again() -> None:
    again = {"role": "user", "content": "Try c.txt"}
    branch = {
        "request": request(SYSTEM, ASKED, LOOKS, *RESULTS, again),
        "response": response("chatcmpl-3", assistant("No.")),
    }
    first, second = traces_of([*EXCHANGES, branch])
    assert steps_of(first) == STEPS
    assert steps_of(second) == [("observation", None, "Try c.txt"), ("thought", None, "No.")]
    assert second.task.objective == "How long is a.txt?"


def test_an_agent_that_shortens_its_history_goes_on_with_the_same_trace() -> None:
    summary = {"role": "user", "content": "So far: counted."}
    later = call("call_0000003", path="c.txt")
    log = [
        *EXCHANGES[:1],
        {
            "request": request(SYSTEM, ASKED, LOOKS, *RESULTS),
            "response": response("chatcmpl-2", assistant(None, later)),
        },
        {
            "request": request(SYSTEM, summary, assistant(None, later), told("call_0000003", "9")),
            "response": response("chatcmpl-3", assistant("Nine.")),
        },
    ]
    (trace,) = traces_of(log)
    assert steps_of(trace) == [
        *STEPS[:-1],
        ("tool_call", "count", '{"path":"c.txt"}'),
        ("observation", "count", "9"),
        ("thought", None, "Nine."),
    ]


def test_a_log_that_is_there_twice_counts_once() -> None:
    seen = SeenRecords()
    assert len(traces_of(EXCHANGES, "a.jsonl", seen)) == 1
    assert traces_of(EXCHANGES, "b.jsonl", seen) == []


def test_what_is_no_body_is_one_line_each() -> None:
    # The first eight records decide what the file is.
    rows = rows_of(b"\n".join([SAMPLE] * 4) + b'\n{"hello": 1}\n[1]\n{"broken', "log.jsonl")
    assert [steps_of(row.trace) for row in rows if isinstance(row, TraceLine)] == [STEPS]
    assert [str(row.error) for row in rows if isinstance(row, BadRow)] == [
        "log.jsonl:9: is not a request or a response of anthropic, openai-responses, openai-chat",
        "log.jsonl:10: is not a JSON object",
        "log.jsonl:11: is not JSON: Input data was truncated",
    ]


def test_a_conversation_without_an_agent_says_so() -> None:
    (problem,) = problems_of(request(SYSTEM, ASKED))
    assert problem.endswith("has no step of an agent")


@pytest.mark.parametrize(
    ("record", "reader"),
    [
        (EXCHANGES[0], "openai-chat"),
        (request(ASKED), "openai-chat"),
        (response("chatcmpl-1", DONE), "openai-chat"),
        ({"object": "list", "data": []}, None),
        ({"input": "a", "model": "m", "encoding_format": "float"}, None),
        (request(ASKED) | {"trajectory_format": "x"}, None),
    ],
)
def test_it_is_found_by_its_content(record: Json, reader: str | None) -> None:
    assert reader_of(msgspec.json.encode(record)) == reader
