"""Codex: rollout files with forks, sub-agents, roll-backs and compaction, packed or not; `codex exec --json`."""

import json
from typing import Any

import msgspec
import pytest
import zstandard

from scalepan.trace.readers import BadRow, SeenRecords, TraceLine
from tests.trace.readers.rows import problems_of, reader_of, rows_of, steps_of, traces_of

Json = dict[str, Any]

THREAD = "01999ce5-f229-7661-8570-53312bd47ea3"
OTHER = "01999ce5-f229-7661-8570-53312bd47ea4"


def line(type_: str, payload: Any, **more: Any) -> Json:
    return {"timestamp": "2026-01-31T12:00:00.000Z", "type": type_, "payload": payload} | more


def meta(id_: str = THREAD, **more: Any) -> Json:
    return line(
        "session_meta",
        {"id": id_, "timestamp": "2026-01-31T12:00:00Z", "cwd": "/home/anna/shop", "cli_version": "0.99"} | more,
    )


def item(type_: str, **fields: Any) -> Json:
    return line("response_item", {"type": type_} | fields)


def event(type_: str, **fields: Any) -> Json:
    return line("event_msg", {"type": type_} | fields)


def asks(text: str) -> Json:
    return item("message", role="user", content=[{"type": "input_text", "text": text}])


def says(text: str) -> Json:
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}])


def calls(id_: str, command: str, name: str = "exec_command") -> Json:
    return item("function_call", name=name, arguments=json.dumps({"cmd": command}), call_id=id_)


def prints(id_: str, code: int, text: str) -> Json:
    head = f"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {code}\nOriginal token count: 3\n"
    return item("function_call_output", call_id=id_, output=f"{head}Output:\n{text}")


def counted(read: int, wrote: int, total: int) -> Json:
    last = {"input_tokens": read, "cached_input_tokens": 0, "output_tokens": wrote}
    return event("token_count", info={"last_token_usage": last, "total_token_usage": {"input_tokens": total}})


CONTEXT = item(
    "message", role="user", content=[{"type": "input_text", "text": "<environment_context>\n<cwd>/work</cwd>"}]
)
ROLLOUT = [
    meta(),
    item("message", role="developer", content=[{"type": "input_text", "text": "<permissions instructions>"}]),
    CONTEXT,
    line("turn_context", {"cwd": "/home/anna/shop", "model": "gpt-x-codex"}),
    asks("How long is a.txt?"),
    # Events say again for the screen what items say.
    event("user_message", message="How long is a.txt?"),
    item("reasoning", summary=[{"type": "summary_text", "text": "Count first."}], encrypted_content="gAAA"),
    event("agent_reasoning", text="Count first."),
    says("I look."),
    event("agent_message", message="I look."),
    calls("call_1", "wc -l b.txt"),
    counted(10, 2, 10),
    prints("call_1", 1, "no b.txt"),
    counted(10, 2, 10),
    calls("call_2", "wc -l a.txt"),
    item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="call_3", status="completed"),
    counted(12, 3, 22),
    # Parallel results come in any order; the id joins them.
    item("custom_tool_call_output", call_id="call_3", output='{"output":"Success.","metadata":{"exit_code":0}}'),
    prints("call_2", 0, "1 a.txt"),
    item("web_search_call", status="completed", action={"type": "search", "query": "wc"}),
    says("One line."),
    event("task_complete", last_agent_message="One line."),
]
STEPS = [
    ("thought", None, "Count first."),
    ("thought", None, "I look."),
    ("tool_call", "exec_command", '{"cmd":"wc -l b.txt"}'),
    ("observation", "exec_command", "no b.txt"),
    ("error_recovery", "exec_command", '{"cmd":"wc -l a.txt"}'),
    ("tool_call", "apply_patch", '"*** Begin Patch"'),
    ("observation", "apply_patch", "Success."),
    ("observation", "exec_command", "1 a.txt"),
    ("tool_call", "web_search", '{"type":"search","query":"wc"}'),
    ("thought", None, "One line."),
]
SAMPLE = b"\n".join(map(msgspec.json.encode, ROLLOUT))


@pytest.mark.parametrize("data", [SAMPLE, zstandard.compress(SAMPLE)], ids=["plain", "zst"])
def test_a_rollout_step_by_step(data: bytes) -> None:
    (trace,) = traces_of(data, f"rollout-2026-01-31T12-00-00-{THREAD}.jsonl.zst")
    assert steps_of(trace) == STEPS
    assert (trace.id, trace.task.objective) == (f"kp:trace:codex:{THREAD}", "How long is a.txt?")
    assert (trace.outcome.result_summary, trace.metadata.success, trace.metadata.task_domain) == (
        "One line.",
        None,
        "code",
    )
    origin = trace.origin
    assert origin is not None
    assert (origin.session, origin.project, origin.model) == (THREAD, "shop", "gpt-x-codex")
    # The same count is sent again and again.
    assert (origin.input_tokens, origin.output_tokens, origin.ended) == (22, 5, "task_complete")
    assert origin.unmapped == {"developer message": 1, "injected context": 1}
    failed = [step.origin.failed for step in trace.steps if step.type == "observation" and step.origin]
    assert failed == [True, False, False]


def test_a_file_that_is_there_packed_and_not_counts_once() -> None:
    seen = SeenRecords()
    assert len(traces_of(SAMPLE, "a.jsonl", seen)) == 1
    assert traces_of(zstandard.compress(SAMPLE), "a.jsonl.zst", seen) == []


def numbered(lines: list[Json], start: int = 0) -> list[Json]:
    return [one | {"ordinal": start + index} for index, one in enumerate(lines)]


@pytest.mark.parametrize(
    "fields",
    [
        {"forked_from_id": THREAD, "history_base": {"thread_id": THREAD, "end_ordinal_exclusive": 22}},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": THREAD}}}, "subagent_history_start_ordinal": 22},
    ],
    ids=["history_base", "subagent_history_start_ordinal"],
)
def test_what_a_fork_or_a_sub_agent_inherits_is_not_its_own(fields: Json) -> None:
    copied = numbered(ROLLOUT)[1:]
    own = numbered([asks("And b.txt?"), says("It is not there."), counted(5, 1, 27)], start=22)
    (trace,) = traces_of([meta(OTHER, **fields) | {"ordinal": 0}, *copied, *own])
    assert steps_of(trace) == [("thought", None, "It is not there.")]
    assert trace.task.objective == "And b.txt?"
    assert trace.origin is not None
    assert (trace.origin.input_tokens, trace.origin.output_tokens) == (5, 1)
    spawned = "subagent_history_start_ordinal" in fields
    assert trace.origin.parent == (f"kp:trace:codex:{THREAD}" if spawned else None)


def test_older_forks_begin_with_a_copy_that_ends_where_the_other_thread_did() -> None:
    seen = SeenRecords()
    (first,) = traces_of(ROLLOUT, "a.jsonl", seen)
    fork = [meta(OTHER, forked_from_id=THREAD), *ROLLOUT[1:], asks("And b.txt?"), says("Gone.")]
    (second,) = traces_of(fork, "b.jsonl", seen)
    assert steps_of(first) == STEPS
    assert steps_of(second) == [("thought", None, "Gone.")]


def test_a_fork_that_adds_nothing_is_no_trace() -> None:
    seen = SeenRecords()
    assert len(traces_of(ROLLOUT, "a.jsonl", seen)) == 1
    assert traces_of([meta(OTHER, forked_from_id=THREAD), *ROLLOUT[1:]], "b.jsonl", seen) == []


def test_turns_that_a_person_took_back_do_not_count() -> None:
    (trace,) = traces_of([*ROLLOUT, asks("Delete it"), says("Deleted."), event("thread_rolled_back", num_turns=1)])
    assert steps_of(trace) == STEPS
    assert trace.origin is not None
    assert trace.origin.unmapped["rolled back"] == 2


def test_a_compaction_keeps_what_was_done_and_its_summary_is_no_step() -> None:
    summary = line("compacted", {"message": "Summary: counted a.txt", "replacement_history": []})
    (trace,) = traces_of([*ROLLOUT, says("counted a.txt"), summary, asks("And b.txt?"), says("No.")])
    assert steps_of(trace) == [*STEPS, ("observation", None, "And b.txt?"), ("thought", None, "No.")]
    assert trace.origin is not None
    assert (trace.origin.unmapped["compacted"], trace.origin.unmapped["compaction output"]) == (1, 1)


@pytest.mark.parametrize(
    ("output", "events", "failed", "refused"),
    [
        ("exec command rejected by user", [], None, True),
        ("Exit code: 2\nWall time: 1 seconds\nOutput:\nno", [], True, None),
        ("unsupported call: nonsense", [], True, None),
        # What the tool printed itself says nothing about how it ended.
        ("Exit code: 1 is what you get", [], None, None),
        ("plain", [event("exec_command_end", call_id="call_1", exit_code=3)], True, None),
        ("plain", [event("mcp_tool_call_end", call_id="call_1", result={"Err": "gone"})], True, None),
        ("plain", [event("patch_apply_end", call_id="call_1", success=True)], False, None),
        ([{"type": "input_text", "text": "plain"}], [], None, None),
        ({"content": "plain", "success": False}, [], True, None),
    ],
)
def test_how_a_call_ended(output: Any, events: list[Json], failed: bool | None, refused: bool | None) -> None:
    ended = item("function_call_output", call_id="call_1", output=output)
    (trace,) = traces_of([meta(), asks("Go"), calls("call_1", "x"), *events, ended])
    said = trace.steps[-1].origin
    assert said is not None
    assert (said.failed, said.refused) == (failed, refused)


def test_a_request_is_what_the_person_typed() -> None:
    typed = "# Context from my IDE setup:\n## Open tabs: a.txt\n## My request for Codex:\nCount it"
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    marked = item(
        "message",
        role="user",
        content=[
            {"type": "input_text", "text": "<image name=[1]>"},
            picture,
            {"type": "input_text", "text": "</image>"},
            {"type": "input_text", "text": "And this?"},
        ],
    )
    (trace,) = traces_of(
        [meta(), asks("# AGENTS.md instructions for /work"), asks(typed), says("1"), marked, says("2")]
    )
    assert trace.task.objective == "Count it"
    assert [row[2] for row in steps_of(trace)] == ["1", "[image]\nAnd this?", "2"]


def test_tools_of_mcp_servers_name_their_server() -> None:
    made = item("function_call", name="search", namespace="mcp__github__", arguments="{}", call_id="call_1")
    (trace,) = traces_of([meta(), asks("Go"), made])
    tool = trace.steps[0].tool
    assert tool is not None
    assert (tool.name, tool.mcp_server) == ("mcp__github__search", "github")


def test_the_oldest_files_have_no_envelope() -> None:
    lines = [
        {"id": THREAD, "timestamp": "2025-06-01T12:00:00Z", "instructions": None},
        *(one["payload"] for one in ROLLOUT if one["type"] == "response_item"),
    ]
    (trace,) = traces_of(lines)
    assert steps_of(trace) == STEPS
    assert trace.id.endswith(THREAD)


def test_a_last_line_that_was_not_written_to_its_end_is_counted_and_others_are_reported() -> None:
    rows = rows_of(
        SAMPLE + b'\n{"type": 7}\n{"broken\n' + msgspec.json.encode(says("Bye.")) + b'\n{"timestamp": "2026', "r.jsonl"
    )
    assert [str(row.error) for row in rows if isinstance(row, BadRow)] == [
        "r.jsonl:24: is not JSON: Input data was truncated"
    ]
    (trace,) = [row.trace for row in rows if isinstance(row, TraceLine)]
    assert steps_of(trace) == [*STEPS, ("thought", None, "Bye.")]
    assert trace.origin is not None
    assert (trace.origin.unmapped["cut line"], trace.origin.unmapped["unknown"]) == (1, 1)


def test_a_rollout_without_an_agent_says_so() -> None:
    (problem,) = problems_of([meta(), asks("Hello?")])
    assert problem.endswith(f"kp:trace:codex:{THREAD}: has no step of an agent")


EXEC = [
    {"type": "thread.started", "thread_id": THREAD},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "Count first."}},
    {
        "type": "item.started",
        "item": {
            "id": "item_1",
            "type": "command_execution",
            "command": "wc -l b.txt",
            "aggregated_output": "",
            "exit_code": None,
            "status": "in_progress",
        },
    },
    {
        "type": "item.completed",
        "item": {
            "id": "item_1",
            "type": "command_execution",
            "command": "wc -l b.txt",
            "aggregated_output": "no b.txt",
            "exit_code": 1,
            "status": "failed",
        },
    },
    {
        "type": "item.completed",
        "item": {
            "id": "item_2",
            "type": "command_execution",
            "command": "wc -l a.txt",
            "aggregated_output": "1 a.txt",
            "exit_code": 0,
            "status": "completed",
        },
    },
    {
        "type": "item.completed",
        "item": {
            "id": "item_3",
            "type": "mcp_tool_call",
            "server": "docs",
            "tool": "find",
            "arguments": {"q": "a"},
            "result": None,
            "error": {"message": "gone"},
            "status": "failed",
        },
    },
    {
        "type": "item.completed",
        "item": {
            "id": "item_4",
            "type": "command_execution",
            "command": "rm a.txt",
            "aggregated_output": "",
            "exit_code": None,
            "status": "declined",
        },
    },
    {"type": "item.completed", "item": {"id": "item_5", "type": "todo_list", "items": []}},
    {"type": "item.started", "item": {"id": "item_6", "type": "web_search", "query": "wc"}},
    {"type": "item.completed", "item": {"id": "item_7", "type": "agent_message", "text": "One line."}},
    {"type": "turn.completed", "usage": {"input_tokens": 30, "cached_input_tokens": 20, "output_tokens": 6}},
]
EXEC_SAMPLE = b"\n".join(map(msgspec.json.encode, EXEC))


def test_what_codex_exec_prints() -> None:
    (trace,) = traces_of(EXEC, "printed.jsonl")
    assert steps_of(trace) == [
        ("thought", None, "Count first."),
        ("tool_call", "command_execution", '{"command":"wc -l b.txt"}'),
        ("observation", "command_execution", "no b.txt"),
        ("error_recovery", "command_execution", '{"command":"wc -l a.txt"}'),
        ("observation", "command_execution", "1 a.txt"),
        ("tool_call", "find", '{"q":"a"}'),
        ("observation", "find", "gone"),
        ("tool_call", "command_execution", '{"command":"rm a.txt"}'),
        ("observation", "command_execution", None),
        ("thought", None, "One line."),
        # It was never completed.
        ("tool_call", "web_search", '{"query":"wc"}'),
    ]
    origin = trace.origin
    assert origin is not None
    assert (origin.session, origin.ended, origin.input_tokens, origin.output_tokens) == (
        THREAD,
        "turn.completed",
        30,
        6,
    )
    assert origin.unmapped == {"todo_list": 1}
    assert trace.steps[8].origin is not None
    assert trace.steps[8].origin.refused is True


def test_the_first_versions_of_codex_exec_named_things_otherwise() -> None:
    lines = [
        EXEC[0],
        {"type": "item.completed", "item": {"id": "item_0", "item_type": "reasoning", "text": "Hm."}},
        {"type": "item.completed", "item": {"id": "item_1", "item_type": "assistant_message", "text": "One line."}},
    ]
    (trace,) = traces_of(lines)
    assert steps_of(trace) == [("thought", None, "Hm."), ("thought", None, "One line.")]
    assert trace.outcome.result_summary == "One line."


def test_two_runs_in_one_file_are_two_traces() -> None:
    second = [{"type": "thread.started", "thread_id": OTHER}, *EXEC[1:]]
    assert [trace.origin.session for trace in traces_of([*EXEC, *second]) if trace.origin] == [THREAD, OTHER]


@pytest.mark.parametrize(
    ("data", "reader"),
    [
        (SAMPLE, "codex"),
        (EXEC_SAMPLE, "codex"),
        (zstandard.compress(SAMPLE), "codex"),
        (b'{"type": "thread.started"}', None),
    ],
)
def test_it_is_found_by_its_content(data: bytes, reader: str | None) -> None:
    assert reader_of(data) == reader
