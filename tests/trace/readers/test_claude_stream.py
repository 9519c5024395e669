"""What `claude -p --output-format stream-json` prints."""

import copy
from typing import Any

import msgspec
import pytest

from scalepan.trace.readers import SeenRecords, readers
from tests.trace.readers.claudelog import Json, text, thinking, tool_result, tool_use, usage
from tests.trace.readers.mutate import read_damaged
from tests.trace.readers.rows import reader_of, rows_of, steps_of, traces_of


def line(type_: str, uuid: str, **more: Any) -> Json:
    return {"type": type_, "session_id": "s-1", "uuid": uuid} | more


def message(type_: str, uuid: str, *blocks: Any, id_: str | None = None, under: str | None = None, **more: Any) -> Json:
    """A message as it is printed: before the API has counted what it wrote."""
    body: Json = {"role": type_, "content": list(blocks)}
    if type_ == "assistant":
        body |= {"id": id_, "model": "claude-sonnet-4-5", "stop_reason": None, "usage": usage(10, 1)}
    return line(type_, uuid, message=body, parent_tool_use_id=under, timestamp="2026-01-31T12:00:00.000Z") | more


def result(uuid: str, words: str, spent: Json, **more: Any) -> Json:
    ended = {"subtype": "success", "is_error": False, "num_turns": 2, "total_cost_usd": 0.5}
    return line("result", uuid, result=words, usage=spent) | ended | more


INIT = line("system", "i1", subtype="init", cwd="/home/anna/work/shop", model="claude-sonnet-4-5")
STREAM = [
    INIT,
    message("assistant", "u1", thinking("wc does that."), id_="msg_1"),
    message("assistant", "u2", tool_use("t1", command="wc b"), id_="msg_1"),
    message("user", "u3", tool_result("t1", "no such file", is_error=True)),
    message("assistant", "u4", tool_use("t2", "Task", prompt="Count a"), id_="msg_2"),
    line("system", "i2", subtype="task_started", task_id="a7", tool_use_id="t2", prompt="Count a"),
    message("assistant", "u5", tool_use("t3", command="wc a"), id_="msg_3", under="t2", agent_id="a7"),
    message("user", "u6", tool_result("t3", "1 a"), under="t2", agent_id="a7"),
    line("system", "i3", subtype="task_notification", task_id="a7", tool_use_id="t2", summary="1 line"),
    message("user", "u7", tool_result("t2", [text("1 line")])),
    message("assistant", "u8", text("One."), id_="msg_4"),
    result("r1", "One.", usage(30, 9, cached=4)),
]


def test_the_run() -> None:
    main, _ = traces_of(STREAM, "stream.jsonl")
    assert main.id == "kp:trace:claude-stream:s-1:i1"
    assert steps_of(main) == [
        ("thought", None, "wc does that."),
        ("tool_call", "Bash", '{"command":"wc b"}'),
        ("observation", "Bash", "no such file"),
        ("tool_call", "Task", '{"prompt":"Count a"}'),
        ("observation", "Task", "1 line"),
        ("thought", None, "One."),
    ]
    # The prompt is not in the stream.
    assert (main.task.objective, main.outcome.result_summary) == ("", "One.")
    assert (main.metadata.created_at, main.metadata.success) == ("2026-01-31T12:00:00Z", None)
    origin = main.origin
    assert origin is not None
    assert (origin.session, origin.project, origin.model) == ("s-1", "shop", "claude-sonnet-4-5")
    assert (origin.input_tokens, origin.output_tokens, origin.cost_usd) == (34, 9, 0.5)
    assert origin.ended == "success"
    assert origin.unmapped == {"system:init": 1, "system:task_notification": 1, "system:task_started": 1}


def test_a_sub_agent_in_the_stream() -> None:
    main, helper = traces_of(STREAM, "stream.jsonl")
    assert helper.id == "kp:trace:claude-stream:s-1:i1:a7"
    assert (helper.task.objective, helper.outcome.result_summary) == ("Count a", "1 line")
    assert steps_of(helper) == [("tool_call", "Bash", '{"command":"wc a"}'), ("observation", "Bash", "1 a")]
    assert helper.origin is not None
    # What the sub-agent read is known; what it wrote had not been counted when it was printed.
    assert (helper.origin.parent, helper.origin.input_tokens, helper.origin.output_tokens) == (main.id, 10, None)


def test_a_sub_agent_of_a_sub_agent() -> None:
    deeper = [
        message("assistant", "u5b", tool_use("t4", "Task", prompt="Look"), id_="msg_5", under="t2", agent_id="a7"),
        message("assistant", "u5c", text("I looked."), id_="msg_6", under="t4", agent_id="a8"),
    ]
    _, helper, deepest = traces_of([*STREAM[:7], *deeper, *STREAM[7:]], "stream.jsonl")
    assert deepest.origin is not None
    assert (deepest.id, deepest.origin.parent) == ("kp:trace:claude-stream:s-1:i1:a8", helper.id)


def test_several_turns_in_one_stream() -> None:
    stream = [
        INIT,
        message("user", "u1", text("first"), isReplay=True),
        message("assistant", "u2", text("one"), id_="msg_1"),
        result("r1", "one", usage(10, 3), total_cost_usd=0.25),
        INIT | {"uuid": "i2"},
        message("user", "u3", text("second"), isReplay=True),
        message("assistant", "u4", text("two"), id_="msg_2"),
        result("r2", "two", usage(20, 4), total_cost_usd=0.75, terminal_reason="completed"),
    ]
    (trace,) = traces_of(stream, "stream.jsonl")
    assert (trace.task.objective, trace.outcome.result_summary) == ("first", "two")
    assert steps_of(trace) == [("thought", None, "one"), ("observation", None, "second"), ("thought", None, "two")]
    origin = trace.origin
    assert origin is not None
    # Usage is that of a turn, the total that of the session so far.
    assert (origin.input_tokens, origin.output_tokens, origin.cost_usd) == (30, 7, 0.75)
    assert origin.ended == "completed"


def test_a_resumed_session_tells_what_this_run_cost() -> None:
    stream = copy.deepcopy(STREAM)
    stream[-1] |= {
        "total_cost_usd": 4.5,
        "model_usage_since_last_result": {"large": {"costUSD": 0.5}, "small": {"costUSD": 0.25}},
    }
    main, _ = traces_of(stream, "stream.jsonl")
    assert main.origin is not None
    assert main.origin.cost_usd == 0.75


@pytest.mark.parametrize(
    ("more", "refused"),
    [
        ({"tool_result_meta": [{"id": "t1", "non_execution_kind": "user-rejected"}]}, True),
        ({"tool_use_result": {"interrupted": True}}, True),
        ({"tool_result_meta": [{"id": "t1", "permission_decision": {"decision": "accept"}}]}, None),
        ({"tool_result_meta": "damaged"}, None),
    ],
)
def test_refusals(more: Json, refused: bool | None) -> None:
    stream = [*STREAM[:3], message("user", "u3", tool_result("t1", "needs approval", is_error=True), **more)]
    (trace,) = traces_of(stream, "stream.jsonl")
    origin = trace.steps[-1].origin
    assert origin is not None
    assert origin.refused is refused


def test_what_is_not_the_agents_or_a_persons() -> None:
    synthetic = {"model": "<synthetic>", "content": [text("API Error: 529")], "usage": usage(0, 0)}
    stream = [
        *STREAM[:3],
        message("user", "u3", text("This is a summary"), isSynthetic=True),
        line("stream_event", "e1", event={"type": "content_block_delta"}),
        line("assistant", "u4", message=synthetic, parent_tool_use_id=None, error="overloaded"),
        result("r1", "API Error: 529", usage(0, 0), is_error=True, terminal_reason="api_error"),
    ]
    (trace,) = traces_of(stream, "stream.jsonl")
    assert len(trace.steps) == 2
    assert trace.outcome.result_summary == ""
    assert trace.origin is not None
    assert trace.origin.ended == "api_error"
    assert trace.origin.unmapped == {"isApiErrorMessage": 1, "isMeta": 1, "stream_event": 1, "system:init": 1}


def test_only_a_result() -> None:
    (trace,) = traces_of(result("r1", "One.", usage(30, 9)), "out.json")
    assert steps_of(trace) == [("thought", None, "One.")]


def test_an_array_of_the_same_items() -> None:
    assert len(traces_of(msgspec.json.encode(STREAM), "out.json")) == 2


def test_half_a_last_line() -> None:
    data = b"\n".join(map(msgspec.json.encode, STREAM[:3])) + b'\n{"type":"user","mess'
    (trace,) = traces_of(data, "stream.jsonl")
    assert trace.origin is not None
    assert trace.origin.unmapped["cut line"] == 1
    # Without the line at the end, nobody has said what was written.
    assert (trace.origin.input_tokens, trace.origin.output_tokens) == (10, None)


def test_the_session_file_and_the_stream_of_one_run_count_once() -> None:
    session = [
        {"parentUuid": None, "isSidechain": False, "sessionId": "s-1", "type": it["type"], "uuid": it["uuid"]}
        | {"message": it["message"]}
        for it in STREAM
        if "message" in it and it["parent_tool_use_id"] is None
    ]
    seen = SeenRecords()
    assert len(traces_of(session, "s-1.jsonl", seen)) == 1
    (helper,) = traces_of(STREAM, "stream.jsonl", seen)
    assert helper.id.endswith(":a7")


@pytest.mark.parametrize("record", [STREAM[0], STREAM[1], STREAM[3], STREAM[-1]])
def test_a_stream_is_recognized_by_any_line(record: Json) -> None:
    assert reader_of(msgspec.json.encode(record)) == "claude-stream"


@pytest.mark.parametrize("seed", range(300))
def test_a_damaged_stream_gives_traces_or_reasons(seed: int) -> None:
    data = b"\n".join(map(msgspec.json.encode, STREAM))
    read_damaged(readers()["claude-stream"], data, seed, "stream.jsonl")


def test_nothing_of_an_agent() -> None:
    assert rows_of([INIT], "stream.jsonl") == []
