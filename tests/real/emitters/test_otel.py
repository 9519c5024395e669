"""Instrumentations send what readers of OTLP depend on: old events, new attributes, OpenInference's flat keys."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers import SeenRecords, TraceLine, open_path, read_source
from tests.real.emitters import scenes
from tests.real.emitters.agents import LATEST, OLD, Place, claude_code, claude_telemetry, decode, otel
from tests.real.emitters.collector import Collector, flat_records, flat_spans
from tests.real.emitters.conftest import Script

Flat = list[dict[str, Any]]


def sent(stand_in: Script, place: Place, kind: str, env: dict[str, str]) -> tuple[Flat, Flat]:
    """Spans and log records of an agent that counts lines."""
    files = otel(stand_in(scenes.counting()), place, kind, env)
    decoded = [decode(place, file) for file in files]
    return flat_spans(decoded), flat_records(decoded)


def chats(spans: Flat) -> Flat:
    """The spans of calls of a model, in order; but not one inside another, which is the same call."""
    found = [span for span in spans if span["attributes"].get("gen_ai.operation.name") == "chat"]
    ids = {span["spanId"] for span in found}
    found = [span for span in found if span.get("parentSpanId") not in ids]
    return sorted(found, key=lambda span: int(span["startTimeUnixNano"]))


def test_the_old_default_has_a_system_and_an_event_for_each_message(stand_in: Script, place: Place) -> None:
    spans, records = sent(stand_in, place, "openai-v2", OLD)
    assert {span["attributes"]["gen_ai.system"] for span in chats(spans)} == {"openai"}
    assert [span["attributes"]["gen_ai.usage.input_tokens"] for span in chats(spans)] == ["101", "102", "103"]
    names = [record["eventName"] for record in records]
    assert names.count("gen_ai.choice") == 3
    # Every request says all that was said before: 0, 1 and 3 results of tools.
    assert names.count("gen_ai.tool.message") == 4
    assert "gen_ai.output.messages" not in chats(spans)[0]["attributes"]


@pytest.mark.parametrize("kind", ["openai-v2", "genai-openai", "genai-anthropic"])
def test_the_latest_conventions_put_messages_into_attributes(stand_in: Script, place: Place, kind: str) -> None:
    spans, records = sent(stand_in, place, kind, LATEST)
    first, second, last = chats(spans)
    provider = "anthropic" if kind == "genai-anthropic" else "openai"
    assert first["attributes"]["gen_ai.provider.name"] == provider
    (message,) = json.loads(second["attributes"]["gen_ai.output.messages"])
    assert [(part["type"], part["arguments"]) for part in message["parts"]] == [
        ("tool_call", {"path": "a.txt"}),
        ("tool_call", {"path": "b.txt"}),
    ]
    inputs = json.loads(last["attributes"]["gen_ai.input.messages"])
    answered = [part["id"] for one in inputs for part in one["parts"] if part["type"] == "tool_call_response"]
    assert len(answered) == 3
    assert {record["eventName"] for record in records} == {"gen_ai.client.inference.operation.details"}


def test_without_the_switch_for_content_there_is_none(stand_in: Script, place: Place) -> None:
    spans, records = sent(stand_in, place, "genai-openai", {})
    assert len(chats(spans)) == 3
    assert not any("messages" in name for span in spans for name in span["attributes"])
    assert records == []


@pytest.mark.parametrize(("kind", "models", "ids"), [("genai-langgraph", 3, 3), ("genai-agents", 0, 0)])
def test_frameworks_have_spans_for_tools_but_not_all_name_the_call(
    stand_in: Script, place: Place, kind: str, models: int, ids: int
) -> None:
    """The Agents SDK's instrumentation leaves calls of the model to that of the OpenAI SDK."""
    spans, _ = sent(stand_in, place, kind, LATEST)
    tools = [span["attributes"] for span in spans if span["name"] == "execute_tool count_lines"]
    assert sorted("error.type" in tool for tool in tools) == [False, True, True]
    assert sum("gen_ai.tool.call.id" in tool for tool in tools) == ids
    assert len(chats(spans)) == models
    (top,) = [span for span in spans if not span.get("parentSpanId")]
    assert top["attributes"]["gen_ai.operation.name"] == "invoke_workflow"


def test_pydantic_ai_has_spans_for_agent_and_tools(stand_in: Script, place: Place) -> None:
    spans, _ = sent(stand_in, place, "pydantic-ai", {})
    operations = [span["attributes"].get("gen_ai.operation.name") for span in spans]
    assert (operations.count("invoke_agent"), operations.count("chat"), operations.count("execute_tool")) == (1, 3, 3)
    tools = [span for span in spans if span["attributes"].get("gen_ai.operation.name") == "execute_tool"]
    assert {json.loads(tool["attributes"]["gen_ai.tool.call.arguments"])["path"] for tool in tools} == {
        "missing.txt",
        "a.txt",
        "b.txt",
    }


@pytest.mark.parametrize("kind", ["openai", "anthropic", "langgraph", "agents"])
def test_openinference_numbers_its_keys(stand_in: Script, place: Place, kind: str) -> None:
    spans, _ = sent(stand_in, place, f"openinference-{kind}", {})
    models = [span for span in spans if span["attributes"].get("openinference.span.kind") == "LLM"]
    models.sort(key=lambda span: int(span["startTimeUnixNano"]))
    assert len(models) == 3
    keys = [f"llm.output_messages.0.message.tool_calls.{n}.tool_call.function.arguments" for n in (0, 1)]
    assert [json.loads(models[1]["attributes"][key]) for key in keys] == [{"path": "a.txt"}, {"path": "b.txt"}]


def test_a_sdk_may_make_a_span_of_its_own_inside_that_of_an_instrumentation(stand_in: Script, place: Place) -> None:
    """One call of the model then has two spans. A reader that counts both counts its tokens twice."""
    spans, _ = sent(stand_in, place, "genai-anthropic", LATEST)
    inner = [span for span in spans if span["name"] == "anthropic.messages.create"]
    assert [span["attributes"]["gen_ai.operation.name"] for span in inner] == ["chat"] * 3
    assert {span["parentSpanId"] for span in inner} == {span["spanId"] for span in chats(spans)}


def test_openinference_may_write_a_call_twice(stand_in: Script, place: Place) -> None:
    spans, _ = sent(stand_in, place, "openinference-anthropic", {})
    (keys,) = [
        [name for name, value in span["attributes"].items() if name.endswith("tool_call.id") and value == "toolu_02_1"]
        for span in spans
        if "llm.output_messages.0.message.tool_calls.1.tool_call.id" in span["attributes"]
    ]
    assert [name.split(".", 3)[3] for name in sorted(keys)] == [
        "message.contents.1.tool_call.id",
        "message.tool_calls.1.tool_call.id",
    ]


@pytest.mark.parametrize("kind", ["langgraph", "agents"])
def test_openinference_has_spans_for_tools_where_a_framework_runs_them(
    stand_in: Script, place: Place, kind: str
) -> None:
    spans, _ = sent(stand_in, place, f"openinference-{kind}", {})
    kinds = [span["attributes"].get("openinference.span.kind") for span in spans]
    assert kinds.count("TOOL") == 3
    ids = {span["spanId"] for span in spans}
    assert all(span.get("parentSpanId") in ids for span in spans if span["attributes"].get("tool.name"))


LOOK_FIRST = ("thought", "Look first.")
"""Only some APIs and instrumentations hand on what the model thinks."""


def read_folder(folder: Path) -> list[ReasoningTrace]:
    """Every trace of a folder, each once."""
    seen = SeenRecords()
    rows = []
    for file in sorted(folder.iterdir()):
        with open_path(file) as source:
            rows += list(read_source(source, seen=seen))
    assert all(isinstance(row, TraceLine) for row in rows), rows
    return [row.trace for row in rows if isinstance(row, TraceLine)]


def collected(place: Place, files: list[Path]) -> list[ReasoningTrace]:
    """The traces of requests in the files that a collector makes of them: lines of JSON, or protobuf with lengths.

    How many requests there are depends on how fast the machine is, so they are not read as files of their own.
    """
    by_lines, by_lengths = place.home / "json", place.home / "proto"
    by_lines.mkdir()
    by_lengths.mkdir()
    (by_lines / "otlp.jsonl").write_text("".join(json.dumps(decode(place, file)) + "\n" for file in files))
    for file in files:
        with (by_lengths / f"{file.name.split('-')[0]}.pb").open("ab") as out:
            out.write(struct.pack(">I", file.stat().st_size) + file.read_bytes())
    found = read_folder(by_lengths)
    assert [trace.to_dict() for trace in read_folder(by_lines)] == [trace.to_dict() for trace in found]
    return found


def told(trace: ReasoningTrace) -> list[tuple[str, str | None]]:
    """Steps, with the words of a thought and the path of a call."""
    return [(step.type, step.input["path"] if step.input else step.content) for step in trace.steps]


def pairs(trace: ReasoningTrace) -> dict[str, str]:
    """For the path of each call, what the result with the same id says."""
    paths = {
        step.origin.call_id: step.input["path"] for step in trace.steps if step.tool and step.input and step.origin
    }
    results = [step for step in trace.steps if step.type == "observation" and step.origin]
    return {paths[step.origin.call_id]: step.content or "" for step in results if step.origin}


@pytest.mark.parametrize(
    ("kind", "env", "thinks", "errors"),
    [
        # A loop by hand hands errors back as words, so no span says that a call failed.
        ("openai-v2", OLD, False, False),
        ("openai-v2", LATEST, False, False),
        ("genai-openai", LATEST, False, False),
        ("genai-anthropic", LATEST, True, False),
        ("genai-langgraph", LATEST, False, True),
        ("openinference-openai", {}, False, False),
        ("openinference-anthropic", {}, True, False),
        ("openinference-langgraph", {}, False, True),
        ("openinference-agents", {}, True, True),
        ("pydantic-ai", {}, False, True),
    ],
)
def test_the_reader_sees_what_happened(
    stand_in: Script, place: Place, kind: str, env: dict[str, str], *, thinks: bool, errors: bool
) -> None:
    files = otel(stand_in(scenes.counting()), place, kind, env)
    (trace,) = collected(place, files)
    steps = told(trace)
    again = "error_recovery" if errors else "tool_call"
    assert [step for step in steps if step[0] != "observation"] == [
        *([LOOK_FIRST] if thinks else []),
        ("thought", "I look."),
        ("tool_call", "missing.txt"),
        (again, "a.txt"),
        (again, "b.txt"),
        ("thought", "a.txt has 1 line."),
    ]
    kinds = [type_ for type_, _ in steps[1 + thinks :]]
    assert kinds == ["tool_call", "observation", again, again, "observation", "observation", "thought"]
    results = pairs(trace)
    assert results.pop("a.txt") == "1"
    assert set(results) == {"missing.txt", "b.txt"}
    assert all("no such file" in said or "error" in said for said in results.values())
    failed = [step.origin.failed is True for step in trace.steps if step.type == "observation" and step.origin]
    assert failed == ([True, False, True] if errors else [False] * 3)
    assert trace.task.objective == "How many lines has a.txt?"
    assert trace.outcome.result_summary == "a.txt has 1 line."
    assert (trace.metadata.success, trace.outcome.confidence) == (None, None)
    assert trace.origin is not None
    extra = 50 if "anthropic" in kind else 0
    assert trace.origin.input_tokens == 101 + 102 + 103 + 3 * extra
    assert (trace.origin.output_tokens, trace.origin.project) == (21, "counter")


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("genai-openai", ["thought"] * 3),
        (
            "genai-langgraph",
            ["thought", "tool_call", "observation", "thought", "error_recovery", "observation"],
        ),
    ],
)
def test_the_reader_sees_steps_without_content(stand_in: Script, place: Place, kind: str, steps: list[str]) -> None:
    files = otel(stand_in(scenes.counting()), place, kind, {})
    (trace,) = collected(place, files)
    assert [step.type for step in trace.steps][: len(steps)] == steps
    assert not any(step.input for step in trace.steps)
    assert trace.task.objective == ""
    assert trace.origin is not None
    assert trace.origin.input_tokens == 306


def test_the_reader_sees_tools_where_an_instrumentation_has_no_calls_of_a_model(stand_in: Script, place: Place) -> None:
    files = otel(stand_in(scenes.counting()), place, "genai-agents", LATEST)
    (trace,) = collected(place, files)
    assert [type_ for type_, _ in told(trace)].count("observation") == 3
    assert [(type_, said) for type_, said in told(trace) if type_ != "observation"] == [
        ("tool_call", "missing.txt"),
        ("error_recovery", "a.txt"),
        ("error_recovery", "b.txt"),
    ]
    assert pairs(trace)["a.txt"] == "1"
    assert trace.metadata.agent_id == "counter"


@pytest.mark.parametrize(("kind", "argument"), [("pydantic-team", "question"), ("openinference-team", "input")])
def test_the_reader_sees_a_sub_agent_as_a_trace_of_its_own(
    stand_in: Script, place: Place, kind: str, argument: str
) -> None:
    files = otel(stand_in(scenes.team(argument)), place, kind, {})
    boss, helper = collected(place, files)
    assert [(step.type, step.content, step.input) for step in boss.steps] == [
        ("tool_call", None, {argument: "How long?"}),
        ("observation", "One line.", None),
        ("thought", "It has one line.", None),
    ]
    assert [(step.type, step.content) for step in helper.steps] == [("thought", "One line.")]
    assert (boss.task.objective, helper.task.objective) == ("How many lines has a.txt?", "How long?")
    assert (boss.metadata.agent_id, helper.metadata.agent_id) == ("boss", "helper")
    assert boss.origin is not None
    assert helper.origin is not None
    assert (boss.origin.parent, helper.origin.parent) == (None, boss.id)
    assert (boss.origin.input_tokens, helper.origin.input_tokens) == (101 + 103, 102)


def test_the_reader_sees_tools_in_the_telemetry_of_claude_code(stand_in: Script, place: Place) -> None:
    """Its spans follow the conventions but for the messages, which are in events of its own."""
    folder = place.home / "otlp"
    folder.mkdir()
    with Collector() as collector:
        model, allowed = stand_in(scenes.claude(place.work)), ["--allowedTools", "Bash,Read,Write"]
        claude_code(model, place, scenes.PROMPT, *allowed, **claude_telemetry(collector))
        sent = [json.loads(file.read_bytes()) for file in collector.save(folder) if file.name.startswith("traces")]
    (place.home / "traces.jsonl").write_text("".join(json.dumps(one) + "\n" for one in sent))
    with open_path(place.home / "traces.jsonl") as source:
        (row,) = read_source(source)
    assert isinstance(row, TraceLine)
    calls = [(step.type, step.origin.call_id) for step in row.trace.steps if step.tool and step.origin]
    assert [call for call in calls if call[0] != "observation"] == [
        ("tool_call", "toolu_01_2"),
        ("error_recovery", "toolu_02_1"),
        ("tool_call", "toolu_03_0"),
        ("tool_call", "toolu_03_1"),
        ("tool_call", "toolu_04_0"),
    ]
    assert len([type_ for type_, _ in calls if type_ == "observation"]) == 5
