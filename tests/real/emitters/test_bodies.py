"""The OpenAI and Anthropic SDKs send and get what readers of request and response bodies depend on."""

import json
from typing import Any

import pytest

from tests.real.emitters import scenes
from tests.real.emitters.agents import Place, bodies, read_lines
from tests.real.emitters.conftest import Script


def exchanges(stand_in: Script, place: Place, api: str, *, stream: bool = False) -> list[dict[str, Any]]:
    file = bodies(stand_in(scenes.counting()), place, api, stream=stream)
    return read_lines(file.read_text(encoding="utf-8"))


def test_chat_completions(stand_in: Script, place: Place) -> None:
    first, _, last = exchanges(stand_in, place, "chat")
    (call,) = first["response"]["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"path": "missing.txt"}
    told = {one["tool_call_id"]: one["content"] for one in last["request"]["messages"] if one["role"] == "tool"}
    assert told == {
        "call_01_0": "no such file: missing.txt",
        "call_02_0": "1",
        "call_02_1": "no such file: b.txt",
    }


def test_responses(stand_in: Script, place: Place) -> None:
    first, _, last = exchanges(stand_in, place, "responses")
    assert [item["type"] for item in first["response"]["output"]] == ["reasoning", "message", "function_call"]
    outputs = [item["call_id"] for item in last["request"]["input"] if item.get("type") == "function_call_output"]
    assert outputs == ["call_01_2", "call_02_0", "call_02_1"]


def test_messages(stand_in: Script, place: Place) -> None:
    first, _, last = exchanges(stand_in, place, "anthropic")
    assert [block["type"] for block in first["response"]["content"]] == ["thinking", "text", "tool_use"]
    results = [block for message in last["request"]["messages"][2::2] for block in message["content"]]
    assert [(one["tool_use_id"], one["is_error"]) for one in results] == [
        ("toolu_01_2", True),
        ("toolu_02_0", False),
        ("toolu_02_1", True),
    ]


@pytest.mark.parametrize(
    ("api", "last_event"),
    [("chat", "data: [DONE]"), ("responses", "response.completed"), ("anthropic", "message_stop")],
)
def test_a_streamed_answer_ends_the_same(stand_in: Script, place: Place, api: str, last_event: str) -> None:
    streamed = exchanges(stand_in, place, api, stream=True)
    assert len(streamed) == 3
    assert last_event in streamed[0]["response"].strip().split("\n\n")[-1]
