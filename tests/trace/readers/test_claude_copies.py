"""Claude Code sessions that share records, branch, or have sub-agents: everything counts, and counts once."""

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scalepan.trace.model import ReasoningTrace
from scalepan.trace.readers import SeenRecords, TraceLine, open_path, read_source
from tests.trace.readers.claudelog import ClaudeLog, text, tool_use, usage
from tests.trace.readers.rows import rows_of, steps_of, traces_of


def said(trace: ReasoningTrace) -> list[str | None]:
    """What each step says or calls."""
    return [step[2] for step in steps_of(trace)]


def unmapped(trace: ReasoningTrace) -> dict[str, int]:
    assert trace.origin is not None
    return trace.origin.unmapped


def first_day() -> ClaudeLog:
    log = ClaudeLog("day-1")
    log.ask("Count")
    log.answer("msg_1", tool_use("t1", command="wc a"), requestId="req_1")
    log.result("t1", "1 a")
    log.answer("msg_2", text("One."), spent=usage(20, 3), requestId="req_2")
    log.lines.append({"type": "cost-state", "sessionId": "day-1", "totalCostUSD": 0.5})
    return log


def fork(log: ClaudeLog, session: str = "day-2") -> ClaudeLog:
    """The lines of a session in a file of their own, as `--fork-session` writes them, and one turn more."""
    forked = ClaudeLog(session, start=f"{session}-")
    forked.lines = [line | {"sessionId": session} for line in copy.deepcopy(log.lines)]
    forked.last = log.last
    forked.ask("And b?")
    forked.answer("msg_3", text("Two."), spent=usage(30, 4), requestId="req_3")
    forked.lines.append({"type": "cost-state", "sessionId": session, "totalCostUSD": 0.75})
    return forked


def test_a_fork_counts_only_what_is_new_in_it() -> None:
    seen = SeenRecords()
    (original,) = traces_of(first_day().lines, "day-1.jsonl", seen)
    (forked,) = traces_of(fork(first_day()).lines, "day-2.jsonl", seen)
    assert said(original) == ['{"command":"wc a"}', "1 a", "One."]
    assert (forked.id, forked.task.objective, said(forked)) == ("kp:trace:claude-code:day-2", "And b?", ["Two."])
    assert original.origin is not None
    assert forked.origin is not None
    assert (forked.origin.input_tokens, forked.origin.output_tokens) == (30, 4)
    assert forked.origin.unmapped["copy"] == 4
    # The fork's 0.75 includes the 0.50 of what it copied.
    assert (original.origin.cost_usd, forked.origin.cost_usd) == (0.5, None)


def test_read_the_other_way_round_the_same_steps_count() -> None:
    seen = SeenRecords()
    (forked,) = traces_of(fork(first_day()).lines, "day-2.jsonl", seen)
    assert said(forked) == ['{"command":"wc a"}', "1 a", "One.", "And b?", "Two."]
    assert forked.origin is not None
    assert forked.origin.cost_usd == 0.75
    assert rows_of(first_day().lines, "day-1.jsonl", seen) == []


def test_copies_that_were_given_new_uuids() -> None:
    seen = SeenRecords()
    traces_of(first_day().lines, "day-1.jsonl", seen)
    resumed = fork(first_day())
    for number, line in enumerate(resumed.lines):
        if "uuid" in line:
            line |= {"uuid": f"new-{number}", "parentUuid": None}
    (trace,) = traces_of(resumed.lines, "day-2.jsonl", seen)
    # A prompt has nothing by which its copy is known; the agent's work has.
    assert (trace.task.objective, said(trace)) == ("Count", ["And b?", "Two."])


def test_other_sessions_with_the_same_ids_of_messages_and_calls_are_no_copies() -> None:
    seen = SeenRecords()
    for session in ("a", "b"):
        log = ClaudeLog(session, start=session)
        log.ask("Count")
        log.answer("relay", tool_use("call_0", command="wc a"))
        log.result("call_0", "1 a")
        assert len(traces_of(log.lines, f"{session}.jsonl", seen)[0].steps) == 2


def test_a_compaction_that_writes_the_history_again() -> None:
    log = ClaudeLog()
    log.ask("Count")
    log.answer("msg_1", tool_use("t1", command="wc a"))
    last = log.last
    log.lines += copy.deepcopy(log.lines)
    log.lines.append({"type": "cost-state", "sessionId": "s-1", "totalCostUSD": 0.5})
    log.last = last
    log.result("t1", "1 a")
    log.answer("msg_2", text("One."), spent=usage(20, 3))
    (trace,) = traces_of(log.lines, "s-1.jsonl")
    assert said(trace) == ['{"command":"wc a"}', "1 a", "One."]
    assert trace.origin is not None
    assert (trace.origin.input_tokens, trace.origin.cost_usd) == (30, 0.5)


def test_what_came_before_a_compaction_still_counts() -> None:
    log = ClaudeLog()
    log.ask("Count")
    last = log.answer("msg_1", text("One."))
    log.line("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=last)
    log.ask("They counted a file.", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.answer("msg_2", text("Next."))
    (trace,) = traces_of(log.lines, "s-1.jsonl")
    assert (trace.task.objective, said(trace)) == ("Count", ["One.", "Next."])
    assert unmapped(trace) == {"isCompactSummary": 1, "system:compact_boundary": 1}


def branched(edit_first: bool = False) -> ClaudeLog:
    """A person asks, asks more, goes back to the first or second question and asks it in other words."""
    log = ClaudeLog()
    log.ask("Count a")
    answer = log.answer("msg_1", text("One."))
    log.line("attachment", attachment={"type": "date"})
    log.ask("Count b")
    log.answer("msg_2", tool_use("t1", command="wc b"))
    log.result("t1", "2 b")
    log.answer("msg_3", text("Two."))
    log.last = None if edit_first else answer
    log.line("attachment", attachment={"type": "total_tokens_reminder"})
    log.ask("Count c")
    log.answer("msg_4", text("Three."))
    return log


def test_a_branch_that_was_left_is_a_trace_of_its_own() -> None:
    ending, left = traces_of(branched().lines, "s-1.jsonl")
    assert (ending.id, ending.task.objective) == ("kp:trace:claude-code:s-1", "Count a")
    assert said(ending) == ["One.", "Count c", "Three."]
    assert (left.id, left.task.objective) == ("kp:trace:claude-code:s-1:u4", "Count b")
    assert said(left) == ['{"command":"wc b"}', "2 b", "Two."]
    assert left.origin is not None
    assert left.origin.parent is None


def test_the_first_prompt_edited() -> None:
    ending, left = traces_of(branched(edit_first=True).lines, "s-1.jsonl")
    assert (ending.task.objective, said(ending)) == ("Count c", ["Three."])
    assert (left.task.objective, said(left)) == ("Count a", ["One.", "Count b", '{"command":"wc b"}', "2 b", "Two."])


def test_a_prompt_that_was_edited_before_it_had_an_answer() -> None:
    log = ClaudeLog()
    log.ask("Cuont")
    log.last = None
    log.ask("Count")
    log.answer("msg_1", text("One."))
    (trace,) = traces_of(log.lines, "s-1.jsonl")
    assert (trace.task.objective, said(trace)) == ("Count", ["One."])
    assert unmapped(trace) == {"prompt without an answer": 1}


def test_parallel_calls_are_no_branches() -> None:
    log = ClaudeLog()
    log.ask("Count both")
    one = log.answer("msg_1", tool_use("t1", command="wc a"))
    log.answer("msg_1", tool_use("t2", command="wc b"))
    # As real ones: each result follows its own call.
    log.result("t1", "1 a", parentUuid=one)
    log.result("t2", "2 b", parentUuid="u3")
    log.answer("msg_2", text("Done."))
    (trace,) = traces_of(log.lines, "s-1.jsonl")
    assert said(trace) == ['{"command":"wc a"}', '{"command":"wc b"}', "1 a", "2 b", "Done."]


@pytest.mark.parametrize("last", ["answer", "prompt"])
def test_a_log_without_links_is_one_run(last: str) -> None:
    log = ClaudeLog()
    for number in range(3):
        log.ask(f"Count {number}")
        log.answer(f"msg_{number}", text(f"{number}."))
    if last == "prompt":
        log.ask("Count 3")
    for line in log.lines:
        del line["parentUuid"]
    log.lines[0]["parentUuid"] = None
    (trace,) = traces_of(log.lines, "s-1.jsonl")
    assert said(trace)[:5] == ["0.", "Count 1", "1.", "Count 2", "2."]


def sub_agent(**more: Any) -> list[dict[str, Any]]:
    log = ClaudeLog("s-1", start="sub-")
    log.ask("Count the lines", isSidechain=True, **more)
    log.answer("msg_7", tool_use("t7", command="wc a"), isSidechain=True, **more)
    log.result("t7", "1 a", isSidechain=True, **more)
    log.answer("msg_8", text("1 line"), isSidechain=True, spent=usage(20, 3), **more)
    return log.lines


@pytest.mark.parametrize(
    ("meta", "parent"),
    [
        (None, "kp:trace:claude-code:s-1"),
        ({"agentType": "Explore", "toolUseId": "t1"}, "kp:trace:claude-code:s-1"),
        ({"agentType": "Explore", "parentAgentId": "b7"}, "kp:trace:claude-code:s-1:b7"),
        (["damaged"], "kp:trace:claude-code:s-1"),
    ],
)
def test_a_sub_agent_in_its_own_file(tmp_path: Path, meta: Any, parent: str) -> None:
    file = tmp_path / "agent-a7.jsonl"
    file.write_bytes(b"\n".join(map(msgspec.json.encode, sub_agent(agentId="a7"))))
    if meta is not None:
        (tmp_path / "agent-a7.meta.json").write_bytes(msgspec.json.encode(meta))
    with open_path(file) as source:
        (row,) = read_source(source)
    assert isinstance(row, TraceLine)
    trace = row.trace
    assert (trace.id, trace.task.objective) == ("kp:trace:claude-code:s-1:a7", "Count the lines")
    assert (trace.metadata.agent_id, trace.outcome.result_summary) == ("a7", "1 line")
    assert trace.origin is not None
    assert (trace.origin.parent, trace.origin.session, trace.origin.input_tokens) == (parent, "s-1", 30)


@pytest.mark.parametrize(("more", "name"), [({"agentId": "a7"}, "a7"), ({}, "sub-1")])
def test_sub_agents_that_older_versions_wrote_into_the_session(more: Any, name: str) -> None:
    log = ClaudeLog()
    log.ask("Let a helper count")
    log.answer("msg_1", tool_use("t1", "Task", prompt="Count the lines"))
    log.lines += sub_agent(**more)
    log.result("t1", [text("1 line")])
    log.answer("msg_2", text("One."))
    main, helper = traces_of(log.lines, "s-1.jsonl")
    assert said(main) == ['{"prompt":"Count the lines"}', "1 line", "One."]
    assert (helper.id, said(helper)) == (f"kp:trace:claude-code:s-1:{name}", ['{"command":"wc a"}', "1 a", "1 line"])
    assert helper.origin is not None
    assert helper.origin.parent == main.id


def test_the_agent_that_compacts_is_no_sub_agent() -> None:
    assert rows_of(sub_agent(agentId="acompact-e1f845"), "agent-acompact-e1f845.jsonl") == []
