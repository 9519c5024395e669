"""Adapters record what agents of real frameworks do: the same steps from each of them, every one once."""

from itertools import groupby
from pathlib import Path

import pytest

from scalepan.trace import ReasoningTrace, TraceLine, read_jsonl
from tests.real.emitters import scenes
from tests.real.emitters.agents import Place, recorded
from tests.real.emitters.conftest import Script
from tests.real.emitters.turns import Turn, call, fail, say

QUESTION = "How many lines has a.txt? Mail [pii:email]."
# How each framework says that count_lines failed.
FAILURES = {
    "openai-agents": "An error occurred while running the tool. Please try again.",
    "openai-agents-chat": "An error occurred while running the tool. Please try again.",
    "langgraph": "FileNotFoundError: no such file: {path}",
    "pydantic-ai": "no such file: {path}",
}
Row = tuple[str, str | None, object, bool | None]


def traces(file: Path) -> list[ReasoningTrace]:
    lines = list(read_jsonl(file))
    assert all(isinstance(line, TraceLine) for line in lines)
    return [line.trace for line in lines if isinstance(line, TraceLine)]


def rows(trace: ReasoningTrace) -> list[Row]:
    """Type, tool, input or content, and whether it failed. Results of parallel calls are in the calls' order."""
    found: list[tuple[str, str, Row]] = []
    for step in trace.steps:
        assert step.origin is not None
        said = step.input if step.type in ("tool_call", "error_recovery") else step.content
        row = (step.type, step.tool.name if step.tool else None, said, step.origin.failed)
        found.append((step.type, step.origin.call_id or "", row))
    in_order: list[Row] = []
    for _, group in groupby(found, key=lambda one: one[0]):
        in_order += [row for _, _, row in sorted(group, key=lambda one: one[1])]
    return in_order


def main_steps(framework: str, *, thinks: bool = True) -> list[Row]:
    """What the agent of scenes.recorded does, by hand."""
    failure = FAILURES[framework]
    return [
        *([("thought", None, "Look first.", None)] if thinks else []),
        ("thought", None, "I look.", None),
        ("tool_call", "count_lines", {"path": "missing.txt"}, None),
        ("observation", "count_lines", failure.format(path="missing.txt"), True),
        ("error_recovery", "count_lines", {"path": "a.txt"}, None),
        ("error_recovery", "count_lines", {"path": "b.txt"}, None),
        ("observation", "count_lines", "1", False),
        ("observation", "count_lines", failure.format(path="b.txt"), True),
        ("tool_call", "helper", {"input": "Count c.txt."}, None),
        ("observation", "helper", "c.txt is missing.", False),
        ("thought", None, "a.txt has 1 line.", None),
    ]


def helper_steps(framework: str) -> list[Row]:
    """What its helper does."""
    return [
        ("tool_call", "count_lines", {"path": "c.txt"}, None),
        ("observation", "count_lines", FAILURES[framework].format(path="c.txt"), True),
        ("thought", None, "c.txt is missing.", None),
    ]


@pytest.mark.parametrize("framework", FAILURES)
def test_a_run_is_a_trace_and_its_sub_agent_another(stand_in: Script, place: Place, framework: str) -> None:
    file, printed = recorded(stand_in(scenes.recorded()), place, framework, "alone")
    assert printed == "a.txt has 1 line.\n"
    helper, main = traces(file)
    # Chat Completions have no place for reasoning.
    assert rows(main) == main_steps(framework, thinks=framework != "openai-agents-chat")
    assert rows(helper) == helper_steps(framework)
    assert (main.task.objective, helper.task.objective) == (QUESTION, "Count c.txt.")
    assert (main.outcome.result_summary, main.metadata.success, main.outcome.confidence) == (
        *("a.txt has 1 line.", None, None),
    )
    assert main.origin is not None
    assert helper.origin is not None
    assert (main.origin.parent, helper.origin.parent) == (None, main.id)
    assert (main.metadata.task_domain, helper.metadata.task_domain) == ("code", "code")
    # 101 + 102 + 103 + 106 of the main agent, 104 + 105 of the helper, 7 out each.
    assert (main.origin.input_tokens, main.origin.output_tokens) == (412, 28)
    assert (helper.origin.input_tokens, helper.origin.output_tokens) == (209, 14)
    calls = [step for step in main.steps if step.type in ("tool_call", "error_recovery")]
    assert all(step.latency_ms is not None for step in calls)


@pytest.mark.parametrize("framework", ["openai-agents", "langgraph", "pydantic-ai"])
def test_runs_inside_a_recording_join_it(stand_in: Script, place: Place, framework: str) -> None:
    model = stand_in([*scenes.recorded(), [say("Still 1.")]])
    file, printed = recorded(model, place, framework, "joined")
    assert printed == "a.txt has 1 line.\nStill 1.\n"
    helper, main = traces(file)
    assert rows(main) == [
        *main_steps(framework),
        ("observation", None, "And now?", None),
        ("thought", None, "Still 1.", None),
    ]
    assert rows(helper) == helper_steps(framework)
    assert (main.task.objective, main.metadata.success, main.outcome.confidence) == ("Count and report", True, 0.9)
    assert helper.origin is not None
    assert helper.origin.parent == main.id


@pytest.mark.parametrize("framework", ["openai-agents", "langgraph", "pydantic-ai"])
def test_runs_at_the_same_time_do_not_mix(stand_in: Script, place: Place, framework: str) -> None:
    file, printed = recorded(stand_in([[say("Same.")]] * 3), place, framework, "together")
    assert printed == "['Same.', 'Same.', 'Same.']\n"
    found = sorted((trace.task.objective, rows(trace)) for trace in traces(file))
    assert found == [(f"Question {number}", [("thought", None, "Same.", None)]) for number in range(3)]


MISSING = call("count_lines", path="missing.txt")


@pytest.mark.parametrize(
    ("framework", "turns", "raised", "summary"),
    [
        ("openai-agents", [[MISSING]] * 7, "MaxTurnsExceeded", "Max turns exceeded"),
        ("langgraph-unhandled", [[MISSING]], "FileNotFoundError", "FileNotFoundError: no such file: missing.txt"),
        ("pydantic-ai-unhandled", [[MISSING]], "FileNotFoundError", "FileNotFoundError: no such file: missing.txt"),
    ],
)
def test_a_run_that_raises_has_failed(
    stand_in: Script, place: Place, framework: str, turns: list[Turn], raised: str, summary: str
) -> None:
    file, printed = recorded(stand_in(turns), place, framework, "raising")
    assert printed == f"{raised}\n"
    (trace,) = traces(file)
    assert (trace.metadata.success, trace.outcome.result_summary) == (False, summary)
    assert [row[0] for row in rows(trace)][:2] == ["tool_call", "observation"]
    assert rows(trace)[1][3] is True


@pytest.mark.parametrize("framework", ["openai-agents", "langgraph", "pydantic-ai"])
def test_a_model_that_fails_after_a_step_fails_the_run(stand_in: Script, place: Place, framework: str) -> None:
    model = stand_in([[call("count_lines", path="a.txt")], *[[fail(400, "bad request")]] * 5])
    file, printed = recorded(model, place, framework, "raising")
    assert printed
    (trace,) = traces(file)
    assert trace.metadata.success is False
    assert [row[:3] for row in rows(trace)] == [
        ("tool_call", "count_lines", {"path": "a.txt"}),
        ("observation", "count_lines", "1"),
    ]


@pytest.mark.parametrize("framework", ["openai-agents", "langgraph", "pydantic-ai"])
def test_a_model_that_never_answered_leaves_no_trace(stand_in: Script, place: Place, framework: str) -> None:
    file, printed = recorded(stand_in([[fail(400, "bad request")]] * 5), place, framework, "raising")
    assert printed
    assert traces(file) == []


@pytest.mark.parametrize("framework", ["openai-agents", "langgraph", "pydantic-ai"])
def test_a_recording_that_fails_does_not_stop_the_agent(stand_in: Script, place: Place, framework: str) -> None:
    """The file has become a folder, and the callback raises."""
    file, printed = recorded(stand_in(scenes.recorded()), place, framework, "broken")
    assert printed == "a.txt has 1 line.\n"
    assert file.is_dir()


def test_an_agent_that_takes_over_goes_on_in_the_same_trace(stand_in: Script, place: Place) -> None:
    model = stand_in([[say("I hand over."), call("transfer_to_clerk")], [say("The clerk says 1.")]])
    file, printed = recorded(model, place, "openai-agents", "alone")
    assert printed == "The clerk says 1.\n"
    (trace,) = traces(file)
    assert rows(trace) == [
        ("thought", None, "I hand over.", None),
        ("tool_call", "transfer_to_clerk", {}, None),
        ("observation", "transfer_to_clerk", '{"assistant": "clerk"}', None),
        ("thought", None, "The clerk says 1.", None),
    ]
    assert trace.metadata.agent_id == "counter"


@pytest.mark.parametrize(
    ("framework", "refusal"),
    [
        ("langgraph", "Error: nothing is not a valid tool, try one of [count_lines, helper]."),
        ("pydantic-ai", "Unknown tool name: 'nothing'. Available tools: 'count_lines', 'helper'"),
    ],
)
def test_a_tool_that_does_not_exist_is_a_failed_call(
    stand_in: Script, place: Place, framework: str, refusal: str
) -> None:
    file, printed = recorded(stand_in([[call("nothing", x=1)], [say("No.")]]), place, framework, "alone")
    assert printed == "No.\n"
    (trace,) = traces(file)
    assert rows(trace) == [
        ("tool_call", "nothing", {"x": 1}, None),
        ("observation", "nothing", refusal, True),
        ("thought", None, "No.", None),
    ]


def test_an_answer_that_is_streamed(stand_in: Script, place: Place) -> None:
    model = stand_in([[call("count_lines", path="a.txt")], [say("1 line.")]])
    file, printed = recorded(model, place, "pydantic-ai-stream", "alone")
    assert printed == "1 line.\n"
    (trace,) = traces(file)
    assert rows(trace) == [
        ("tool_call", "count_lines", {"path": "a.txt"}, None),
        ("observation", "count_lines", "1", False),
        ("thought", None, "1 line.", None),
    ]
