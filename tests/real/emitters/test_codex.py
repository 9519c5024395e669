"""Codex writes what readers of its rollouts depend on."""

import json
from typing import Any

import pytest

from tests.real.emitters import scenes
from tests.real.emitters.agents import Made, Place, codex, codex_telemetry
from tests.real.emitters.collector import Collector
from tests.real.emitters.conftest import Script
from tests.real.emitters.oracles import agent_turns, atif_make, harbor
from tests.real.emitters.turns import call, say


def items(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The response items of this type."""
    return [line["payload"] for line in lines if line["type"] == "response_item" and line["payload"]["type"] == kind]


def events(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The events of this type."""
    return [line["payload"] for line in lines if line["type"] == "event_msg" and line["payload"]["type"] == kind]


@pytest.fixture
def session(stand_in: Script, place: Place) -> Made:
    return codex(stand_in(scenes.codex()), place, scenes.PROMPT)


def test_every_call_is_answered_by_id_and_arguments_are_a_string(session: Made) -> None:
    calls = items(session.lines, "function_call")
    assert [one["call_id"] for one in calls] == ["call_01_1", "call_02_1", "call_03_0", "call_03_1"]
    assert json.loads(calls[0]["arguments"]) == {"cmd": "wc -l missing.txt"}
    outputs = {one["call_id"]: one["output"] for one in items(session.lines, "function_call_output")}
    assert set(outputs) == {one["call_id"] for one in calls}
    assert "exited with code 1" in outputs["call_01_1"]
    assert "exited with code 0" in outputs["call_02_1"]


def test_a_patch_is_a_custom_call_with_plain_input(session: Made) -> None:
    (patch,) = items(session.lines, "custom_tool_call")
    assert patch["input"].startswith("*** Begin Patch")
    (output,) = items(session.lines, "custom_tool_call_output")
    assert output["call_id"] == patch["call_id"] == "call_04_0"


def test_reasoning_is_a_summary(session: Made) -> None:
    (reasoning,) = items(session.lines, "reasoning")
    assert [part["text"] for part in reasoning["summary"]] == ["Count first."]


def test_tokens_are_counted_for_each_answer(session: Made) -> None:
    counts = [event["info"] for event in events(session.lines, "token_count") if event["info"]]
    assert [info["last_token_usage"]["input_tokens"] for info in counts] == [101, 102, 103, 104, 105]
    assert counts[-1]["total_token_usage"]["output_tokens"] == 5 * 7


def test_printed_events_have_exit_codes(session: Made) -> None:
    done = [event["item"] for event in session.printed_lines if event["type"] == "item.completed"]
    commands = [item for item in done if item["type"] == "command_execution"]
    assert [(item["exit_code"], item["status"]) for item in commands] == [(1, "failed"), *[(0, "completed")] * 3]
    assert session.printed_lines[-1]["usage"]["input_tokens"] == 515


def test_harbor_makes_a_step_of_an_answer_and_atif_make_one_of_a_call(session: Made, place: Place) -> None:
    parallel = ["call_03_0", "call_03_1"]
    by_answer = [calls for _, calls, _ in agent_turns(harbor(place, "codex", session.files[0])) if calls]
    assert by_answer == [["call_01_1"], ["call_02_1"], parallel, ["call_04_0"]]
    by_call = [calls for _, calls, _ in agent_turns(atif_make(place, session.files[0])) if calls]
    assert by_call == [["call_01_1"], ["call_02_1"], *[[one] for one in parallel], ["call_04_0"]]


def test_a_resumed_thread_grows_and_a_forked_one_counts_what_it_inherits(stand_in: Script, place: Place) -> None:
    model = stand_in([[say("One.")], [say("Two.")], [say("Three.")]])
    thread = codex(model, place, "Say one.").printed_lines[0]["thread_id"]
    resumed = codex(model, place, "resume", thread, "Say two.")
    assert len(resumed.files) == 1
    forked = codex(model, place, "fork", thread, "Say three.")
    assert len(forked.files) == 2
    meta = forked.lines[0]
    assert (meta["type"], meta["payload"]["forked_from_id"]) == ("session_meta", thread)
    said = [item["content"][0]["text"] for item in items(forked.lines, "message") if item["role"] == "assistant"]
    assert said[-1] == "Three."
    total = events(forked.lines, "token_count")[-1]["info"]["total_token_usage"]
    assert total["input_tokens"] == 101 + 102 + 103


def test_telemetry_is_otlp_json(stand_in: Script, place: Place) -> None:
    with Collector() as collector:
        model = stand_in([[call("exec_command", cmd="wc -l missing.txt")], [say("None.")]])
        codex(model, place, *codex_telemetry(collector), "Count.")
    assert collector.spans()
    names = [record["attributes"]["event.name"] for record in collector.records()]
    assert {"codex.user_prompt", "codex.tool_result"} <= set(names)
