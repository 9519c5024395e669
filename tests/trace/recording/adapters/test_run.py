"""Runs of frameworks as steps: what every adapter does. tests/real/emitters has the frameworks."""

import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import scalepan
from scalepan import recording
from scalepan.errors import InputError, RecordingWarning, ScalepanError
from scalepan.trace import ReasoningTrace, TraceLine, read_jsonl
from scalepan.trace.readers.entries import LogEntry
from scalepan.trace.recording.adapters.quiet import quiet
from scalepan.trace.recording.adapters.run import AgentRun, Destination, destination, start_run


def to(file: Path | None = None, seen: list[ReasoningTrace] | None = None, domain: str = "unknown") -> Destination:
    return destination(domain, file, seen.append if seen is not None else None)


def steps_of(trace: ReasoningTrace) -> list[tuple[str, str | None, str | None]]:
    return [(step.type, step.tool.name if step.tool else None, step.content) for step in trace.steps]


ENTRIES = [
    LogEntry("request", "How many?"),
    LogEntry("think", "hm"),
    LogEntry("call", name="count", input={"path": "b"}, call_id="c1"),
    LogEntry("result", "no such file", call_id="c1", failed=True),
    LogEntry("call", name="count", input={"path": "a"}, call_id="c2"),
    LogEntry("result", "1", call_id="c2", failed=False),
    LogEntry("result", "1", call_id="c2"),  # shown to the model again
    LogEntry("request", "How many?"),  # and this too
    LogEntry("result", "?", call_id="never called"),
    LogEntry("skip", "system message"),
    LogEntry("say", "One."),
]
STEPS = [
    ("thought", None, "hm"),
    ("tool_call", "count", None),
    ("observation", "count", "no such file"),
    ("error_recovery", "count", None),
    ("observation", "count", "1"),
    ("thought", None, "One."),
]


def test_a_run_becomes_one_trace_in_the_file_and_for_the_callback(tmp_path: Path) -> None:
    seen: list[ReasoningTrace] = []
    file = tmp_path / "traces.jsonl"
    run = AgentRun(to(file, seen, "code"), "mine", name="counter")
    run.play(ENTRIES)
    run.used("model-1", 10, 2)
    run.used("model-1", 5, None)
    run.end()
    (line,) = read_jsonl(file)
    assert isinstance(line, TraceLine)
    assert [line.trace] == seen
    trace = line.trace
    assert steps_of(trace) == STEPS
    assert (trace.task.objective, trace.outcome.result_summary) == ("How many?", "One.")
    assert (trace.metadata.framework, trace.metadata.agent_id, trace.metadata.success) == ("mine", "counter", None)
    assert trace.origin is not None
    assert (trace.origin.model, trace.origin.input_tokens, trace.origin.output_tokens) == ("model-1", 15, 2)
    assert trace.origin.unmapped == {"system message": 1}


def test_inside_a_recording_the_steps_are_part_of_it() -> None:
    seen: list[ReasoningTrace] = []
    with scalepan.record("Count and report") as t:
        first = AgentRun(to(seen=seen), "mine")
        first.play(ENTRIES)
        first.end("this is for the user to say")
        second = AgentRun(to(seen=seen), "mine")
        second.play([LogEntry("request", "And now?"), LogEntry("say", "Still one.")])
        second.end()
    assert steps_of(t.trace) == [*STEPS, ("observation", None, "And now?"), ("thought", None, "Still one.")]
    assert (t.trace.task.objective, t.trace.metadata.success) == ("Count and report", None)
    assert seen == []


@pytest.mark.parametrize("own_callback", [True, False])
def test_a_sub_agent_is_a_trace_of_its_own_and_goes_where_its_parent_goes(tmp_path: Path, own_callback: bool) -> None:
    seen: list[ReasoningTrace] = []
    file = tmp_path / "traces.jsonl"
    with scalepan.record("Count", domain="code", file=file) as t:
        run = AgentRun(to(seen=seen if own_callback else None), "mine")
        run.call("helper", {"task": "b"}, "c1")
        inner = AgentRun(to(seen=seen if own_callback else None), "mine", parent=run)
        inner.play([LogEntry("request", "b"), LogEntry("say", "none")])
        inner.end()
        run.result("c1", "none", failed=False)
    written = [line.trace for line in read_jsonl(file) if isinstance(line, TraceLine)]
    helper = seen[0] if own_callback else written[0]
    assert [trace.id for trace in written] == [t.id] if own_callback else [helper.id, t.id]
    assert steps_of(helper) == [("thought", None, "none")]
    assert helper.origin is not None
    assert (helper.origin.parent, helper.metadata.task_domain) == (t.id, "code")
    assert steps_of(t.trace) == [("tool_call", "helper", None), ("observation", "helper", "none")]


@pytest.mark.parametrize(
    ("error", "success", "summary", "ended"),
    [
        (None, None, "hm", None),
        ("Max turns exceeded", False, "Max turns exceeded", None),
        (LookupError("gone"), False, "LookupError: gone", "LookupError"),
        (KeyboardInterrupt(), None, "hm", "KeyboardInterrupt"),
    ],
)
def test_how_a_run_ends(error: Any, success: bool | None, summary: str, ended: str | None) -> None:
    seen: list[ReasoningTrace] = []
    run = AgentRun(to(seen=seen), "mine")
    run.say("hm")
    run.end(error)
    (trace,) = seen
    assert (trace.metadata.success, trace.outcome.result_summary) == (success, summary)
    assert trace.origin is not None
    assert trace.origin.ended == ended


def test_a_run_without_a_step_leaves_nothing(tmp_path: Path) -> None:
    seen: list[ReasoningTrace] = []
    run = AgentRun(to(tmp_path / "traces.jsonl", seen), "mine")
    run.request("How many?")
    run.end("the model failed")
    assert (list(read_jsonl(tmp_path / "traces.jsonl")), seen) == ([], [])


def test_what_comes_after_the_end_is_dropped() -> None:
    seen: list[ReasoningTrace] = []
    run = AgentRun(to(seen=seen), "mine")
    run.call("slow", {}, "c1")
    run.end()
    run.took("c1", 5.0)
    run.result("c1", "late", latency_ms=5.0)
    assert steps_of(seen[0]) == [("tool_call", "slow", None)]


def test_text_is_redacted() -> None:
    seen: list[ReasoningTrace] = []
    run = AgentRun(to(seen=seen), "mine")
    run.request("mail ann@example.com")
    run.call("send", {"to": "ann@example.com"}, "c1")
    run.result("c1", "sent to ann@example.com", failed=False)
    run.end("no answer from ann@example.com")
    assert b"example.com" not in seen[0].to_json()
    assert seen[0].task.objective == "mail [pii:email]"


def test_a_callback_that_raises_is_a_warning() -> None:
    def broken(_: ReasoningTrace) -> None:
        raise LookupError("mine")

    run = AgentRun(destination("code", None, broken), "mine")
    run.say("hm")
    with pytest.warns(RecordingWarning, match="on_trace: not recorded: LookupError: mine"):
        run.end()


def test_a_policy_that_does_not_fit_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scalepan.yaml").write_text("redact: {rules: 5}")
    with pytest.warns(RecordingWarning, match=r"mine: not recorded: PolicyError: .*redact\.rules"):
        assert start_run(to(), "mine") is None


def test_where_warnings_are_errors_the_agent_goes_on() -> None:
    @quiet
    def callback() -> int:
        raise LookupError("mine")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert callback() is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"domain": 5}, "domain: 5 is not text"),
        ({"file": 5}, "file: 5 is not a path"),
        ({"file": "/none/traces.jsonl"}, "/none/traces.jsonl: cannot be written: No such file"),
        ({"on_trace": 5}, "on_trace: 5 is not a function that takes a trace"),
    ],
)
@pytest.mark.parametrize("adapter", recording.__all__)
def test_mistakes_of_the_caller_are_said_before_any_agent_runs(
    adapter: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        getattr(recording, adapter)(**options)


@pytest.mark.parametrize(
    ("adapter", "package", "message"),
    [
        ("openai_agents", "agents", "recording the OpenAI Agents SDK needs it: pip install openai-agents"),
        ("langchain", "langchain_core", "recording LangChain or LangGraph needs it: pip install langchain-core"),
        ("pydantic_ai", "pydantic_ai", "recording Pydantic AI needs version 2: pip install 'pydantic-ai-slim>=2'"),
    ],
)
def test_a_framework_that_is_not_installed(
    adapter: str, package: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ScalepanError) as caught:
        getattr(recording, adapter)()
    assert str(caught.value) == message


def test_an_objective_that_the_caller_states_is_not_asked_again() -> None:
    seen: list[ReasoningTrace] = []
    run = AgentRun(to(seen=seen), "mine")
    run.state("How many?")
    run.call("look up", "How many?", "c1")
    run.request("Known: one. How many?")  # what the model is shown instead
    run.request("And b?")
    run.end()
    assert (seen[0].task.objective, steps_of(seen[0])[1:]) == ("How many?", [("observation", None, "And b?")])


@pytest.mark.parametrize(("asked", "objective"), [(None, "Before"), ("Now", "Now")])
def test_a_run_that_goes_on_is_about_what_was_asked_before(asked: str | None, objective: str) -> None:
    seen: list[ReasoningTrace] = []
    run = AgentRun(to(seen=seen), "mine")
    run.request(asked or "")
    run.resume("Before")
    run.say("Done")
    run.end()
    assert (seen[0].task.objective, steps_of(seen[0])) == (objective, [("thought", None, "Done")])


def test_in_a_recording_the_next_run_may_answer_a_call() -> None:
    with scalepan.record("Count") as t:
        AgentRun(to(), "mine").call("count", {}, "c1")
        AgentRun(to(), "mine").result("c1", "1", failed=False)
    assert steps_of(t.trace) == [("tool_call", "count", None), ("observation", "count", "1")]
