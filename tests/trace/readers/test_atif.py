"""ATIF documents that other tools wrote."""

import copy
from typing import Any

import msgspec
import pytest

from scalepan.trace.readers import SeenRecords, readers
from tests.trace.readers.mutate import read_damaged
from tests.trace.readers.rows import problems_of, reader_of, rows_of, steps_of, traces_of
from tests.trace.traces import trace_dict

Json = dict[str, Any]


def step(source: str, message: Any = "", **more: Any) -> Json:
    return {"source": source, "message": message} | more


def call(id_: str, name: str, **arguments: Any) -> Json:
    return {"tool_call_id": id_, "function_name": name, "arguments": arguments}


def results(*them: Json) -> Json:
    return {"results": list(them)}


def document(*steps: Json, **more: Any) -> Json:
    numbered = [{"step_id": number, **it} for number, it in enumerate(steps, 1)]
    return {
        "schema_version": "ATIF-v1.8",
        "session_id": "run-7",
        "agent": {"name": "claude-code", "version": "2.1", "model_name": "large-2"},
        "steps": numbered,
    } | more


SAMPLE = document(
    step("system", "You are careful."),
    step("user", "How long is a.txt?", timestamp="2026-01-31T12:00:00Z"),
    step(
        "agent",
        "I count.",
        timestamp="2026-01-31T12:00:01Z",
        reasoning_content="wc does that",
        tool_calls=[call("c1", "Bash", command="wc -l b.txt")],
        observation=results({"source_call_id": "c1", "content": "no such file", "extra": {"is_error": True}}),
        metrics={"prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 50, "cost_usd": 0.25},
    ),
    step(
        "agent",
        tool_calls=[call("c2", "Bash", command="wc -l a.txt"), call("c3", "Read", path="a.txt")],
        observation=results(
            {"source_call_id": "c3", "content": [{"type": "text", "text": "one"}, {"type": "image", "source": {}}]},
            {"source_call_id": "c2", "content": "1 a.txt"},
        ),
        metrics={"prompt_tokens": 120, "completion_tokens": 5, "cost_usd": 0.5},
    ),
    step("user", "Are you sure?"),
    step("agent", [{"type": "text", "text": "Yes: one line."}]),
)


def test_a_document_step_by_step() -> None:
    (trace,) = traces_of(SAMPLE)
    assert steps_of(trace) == [
        ("thought", None, "wc does that"),
        ("thought", None, "I count."),
        ("tool_call", "Bash", '{"command":"wc -l b.txt"}'),
        ("observation", "Bash", "no such file"),
        ("error_recovery", "Bash", '{"command":"wc -l a.txt"}'),
        ("tool_call", "Read", '{"path":"a.txt"}'),
        ("observation", "Read", "one\n[image]"),
        ("observation", "Bash", "1 a.txt"),
        ("observation", None, "Are you sure?"),
        ("thought", None, "Yes: one line."),
    ]
    assert (trace.id, trace.task.objective) == ("kp:trace:atif:run-7", "How long is a.txt?")
    assert trace.outcome.result_summary == "Yes: one line."
    assert trace.metadata.created_at == "2026-01-31T12:00:01Z"
    assert (trace.metadata.task_domain, trace.metadata.framework) == ("code", "claude-code")
    origin = trace.origin
    assert origin is not None
    assert (origin.model, origin.session, origin.unmapped) == ("large-2", "run-7", {"system": 1})
    assert (origin.input_tokens, origin.output_tokens, origin.cost_usd) == (220, 15, 0.75)


def test_success_and_confidence_are_not_stated_by_the_format() -> None:
    (trace,) = traces_of(SAMPLE | {"extra": {"reward": 1.0, "success": True}})
    assert (trace.metadata.success, trace.outcome.confidence) == (None, None)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"success": True, "confidence": 0.9, "domain": "qa"}, (True, 0.9, "qa")),
        ({"success": False}, (False, None, "code")),
        ({"success": 1, "confidence": 1.5, "domain": ["qa"]}, (None, None, "code")),
        ("yes", (None, None, "code")),
    ],
)
def test_who_knows_the_outcome_writes_it_into_extra(stated: Any, expected: tuple[Any, ...]) -> None:
    (trace,) = traces_of(SAMPLE | {"extra": {"scalepan": stated}})
    assert (trace.metadata.success, trace.outcome.confidence, trace.metadata.task_domain) == expected


def test_totals_of_the_document_go_before_the_sum() -> None:
    (trace,) = traces_of(SAMPLE | {"final_metrics": {"total_prompt_tokens": 500, "total_cost_usd": 2}})
    assert trace.origin is not None
    assert (trace.origin.input_tokens, trace.origin.output_tokens, trace.origin.cost_usd) == (500, 15, 2.0)


@pytest.mark.parametrize(
    ("extra", "failed"),
    [
        ({"is_error": True}, True),
        ({"is_error": False}, False),
        ({"tool_result_is_error": True}, True),
        ({"error": True}, True),
        ({"error": "timed out"}, True),
        ({"success": False}, True),
        ({"exit_code": 2}, True),
        ({"exitCode": 0}, False),
        ({"status": "error"}, True),
        ({"status": "success"}, False),
        ({"status": "COMPLETED"}, None),
        ({"error": None, "status": 5}, None),
        ({}, None),
        (None, None),
    ],
)
def test_emitters_say_in_their_own_words_that_a_call_failed(extra: Any, failed: bool | None) -> None:
    result = {"source_call_id": "c", "content": "x", "extra": extra}
    (trace,) = traces_of(document(step("agent", tool_calls=[call("c", "run")], observation=results(result))))
    assert trace.steps[1].origin is not None
    assert trace.steps[1].origin.failed is failed


def test_results_that_name_no_call_are_in_the_order_of_the_calls() -> None:
    """Harbor writes those of mini-swe-agent so."""
    calls = [call("c1", "ls"), call("c2", "wc")]
    two, one = ({"content": "a"}, {"content": "1"}), ({"content": "a"},)
    paired, loose = traces_of(
        [
            document(step("agent", tool_calls=calls, observation=results(*them)), session_id=str(them))
            for them in (two, one)
        ]
    )
    assert steps_of(paired)[2:] == [("observation", "ls", "a"), ("observation", "wc", "1")]
    assert steps_of(loose)[2:] == [("observation", None, "a")]


def test_copied_steps_were_counted_in_the_run_that_they_come_from() -> None:
    first = document(step("user", "Go"), step("agent", "Half done", metrics={"prompt_tokens": 9}))
    first["continued_trajectory_ref"] = "trajectory.cont-1.json"
    second = document(
        step("agent", "Half done", is_copied_context=True, metrics={"prompt_tokens": 9}),
        step("user", "Continue: half is done"),
        step("agent", "Done", metrics={"prompt_tokens": 4}),
    )
    one, two = traces_of([first, second])
    assert steps_of(one) == [("thought", None, "Half done")]
    assert steps_of(two) == [("thought", None, "Done")]
    assert one.origin is not None
    assert two.origin is not None
    assert one.origin.ended == "continued"
    assert (two.origin.unmapped, two.origin.input_tokens) == ({"copied context": 1}, 4)
    assert one.id == "kp:trace:atif:run-7"
    assert two.id.startswith("kp:trace:atif:run-7:")


def test_an_embedded_sub_agent_is_a_trace_of_its_own() -> None:
    sub = document(step("user", "Count"), step("agent", "One line"), trajectory_id="helper")
    main = document(
        step("user", "Let a helper count"),
        step(
            "agent",
            tool_calls=[call("c1", "Task", prompt="Count")],
            observation=results({"source_call_id": "c1", "subagent_trajectory_ref": [{"trajectory_id": "helper"}]}),
        ),
        trajectory_id="main",
        subagent_trajectories=[sub],
    )
    parent, child = traces_of(main)
    assert steps_of(parent) == [("tool_call", "Task", '{"prompt":"Count"}'), ("observation", "Task", None)]
    assert child.origin is not None
    assert (child.id, child.origin.parent) == ("kp:trace:atif:main:helper", "kp:trace:atif:main")
    assert child.task.objective == "Count"


def test_a_sub_agent_among_the_steps_of_its_parent_is_a_trace_of_its_own() -> None:
    """Harbor writes those of Claude Code so. The totals count both, so each has the sum of its own steps."""
    side = {"is_sidechain": True, "agent_id": "a1"}
    main, child = traces_of(
        document(
            step("user", "Let a helper count"),
            step("user", "Count", extra=side),
            step("agent", "One line", extra=side, metrics={"prompt_tokens": 3}),
            step("agent", "It says one", metrics={"prompt_tokens": 4}),
            final_metrics={"total_prompt_tokens": 7},
        )
    )
    assert (main.task.objective, steps_of(main)) == ("Let a helper count", [("thought", None, "It says one")])
    assert (child.task.objective, steps_of(child)) == ("Count", [("thought", None, "One line")])
    assert main.origin is not None
    assert child.origin is not None
    assert (main.origin.input_tokens, child.origin.input_tokens) == (4, 3)
    assert (child.id, child.origin.parent) == ("kp:trace:atif:run-7:a1", "kp:trace:atif:run-7")


def test_a_sub_agent_in_a_file_of_its_own_names_its_parent() -> None:
    data = document(step("agent", "Summary"))
    data["agent"]["extra"] = {"parent_session_id": "run-6"}
    (trace,) = traces_of(data)
    assert trace.origin is not None
    assert trace.origin.parent == "kp:trace:atif:run-6"


def test_the_surroundings_that_codex_tells_the_model_are_not_the_request() -> None:
    (trace,) = traces_of(
        document(step("user", "<environment_context>\n<cwd>"), step("user", "Fix it"), step("agent", "Fixed"))
    )
    assert trace.task.objective == "Fix it"


def test_the_same_document_in_two_files_is_one_run() -> None:
    seen = SeenRecords()
    assert len(traces_of(SAMPLE, "a.json", seen)) == 1
    assert traces_of(SAMPLE, "b.json", seen) == []


def test_a_document_without_an_id_is_named_by_its_content() -> None:
    data = copy.deepcopy(SAMPLE)
    del data["session_id"]
    (one,), (again,) = traces_of(data), traces_of(data)
    assert one.id == again.id
    assert len(one.id.rpartition(":")[2]) == 16


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"schema_version": "ATIF-v2.0"}, "schema_version: 'ATIF-v2.0' is not a version of ATIF 1, such as ATIF-v1.8"),
        ({"steps": []}, "trace kp:trace:atif:run-7: has no step of an agent"),
        ({"steps": "none"}, "trace kp:trace:atif:run-7: has no step of an agent"),
        ({"agent": None, "steps": [step("user", "Hello")]}, "trace kp:trace:atif:run-7: has no step of an agent"),
    ],
)
def test_what_cannot_be_read_says_why(change: Json, problem: str) -> None:
    assert problems_of(SAMPLE | change) == [f"log.json:1: {problem}"]


def test_a_bad_line_does_not_hide_the_next() -> None:
    good = msgspec.json.encode(SAMPLE)
    bad, row = rows_of(good[:-20] + b"\n" + good)
    assert "is not JSON" in str(bad)
    assert row.line == 2


@pytest.mark.parametrize(
    ("data", "reader"),
    [
        (msgspec.json.encode(SAMPLE), "atif"),
        (msgspec.json.format(msgspec.json.encode(SAMPLE)), "atif"),
        (msgspec.json.encode([SAMPLE, SAMPLE]), "atif"),
        (msgspec.json.encode(SAMPLE | {"notes": "x" * 300_000}), "atif"),
        (msgspec.json.encode(trace_dict()), "native"),
        (b'{"schema_version": 1, "steps": []}', None),
    ],
)
def test_it_is_found_by_its_version(data: bytes, reader: str | None) -> None:
    assert reader_of(data) == reader


@pytest.mark.parametrize("seed", range(150))
def test_a_damaged_document_gives_traces_or_reasons(seed: int) -> None:
    nested = SAMPLE | {"trajectory_id": "t", "subagent_trajectories": [SAMPLE | {"trajectory_id": "s"}]}
    read_damaged(readers()["atif"], msgspec.json.encode(nested), seed, "trajectory.json")


@pytest.mark.parametrize("seed", range(150))
def test_a_damaged_document_of_our_own_gives_traces_or_reasons(seed: int) -> None:
    from scalepan.trace.model import ReasoningTrace
    from scalepan.trace.writers import to_atif
    from tests.real.wholetrace import WHOLE

    sample = msgspec.json.encode(to_atif(ReasoningTrace.from_dict(WHOLE)))
    read_damaged(readers()["atif"], sample, seed, "trajectory.json")
