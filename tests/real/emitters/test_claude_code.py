"""Claude Code writes what readers of its transcripts depend on."""

import json
from typing import Any

import pytest

from tests.real.emitters import scenes
from tests.real.emitters.agents import Made, Place, claude_code, claude_refused, claude_telemetry
from tests.real.emitters.collector import Collector
from tests.real.emitters.conftest import Script
from tests.real.emitters.oracles import agent_turns, atif_make, harbor
from tests.real.emitters.turns import call, fail, say

ALLOWED = ["--allowedTools", "Bash,Read,Write,Task"]


def blocks(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The blocks of this type in what user and model said."""
    said = [line["message"]["content"] for line in lines if line["type"] in ("user", "assistant")]
    return [block for content in said if isinstance(content, list) for block in content if block["type"] == kind]


def answers(lines: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """The call that each tool_result answers, and whether it failed."""
    return [(block["tool_use_id"], bool(block.get("is_error"))) for block in blocks(lines, "tool_result")]


@pytest.fixture
def session(stand_in: Script, place: Place) -> Made:
    return claude_code(stand_in(scenes.claude(place.work)), place, scenes.PROMPT, *ALLOWED)


def test_every_call_is_answered_by_id_and_a_failure_is_marked(session: Made) -> None:
    calls = [block["id"] for block in blocks(session.lines, "tool_use")]
    assert calls == ["toolu_01_2", "toolu_02_1", "toolu_03_0", "toolu_03_1", "toolu_04_0"]
    assert sorted(answers(session.lines)) == [(name, name == "toolu_01_2") for name in calls]


def test_one_answer_is_split_over_lines_with_one_id(session: Made) -> None:
    first = [line["message"] for line in session.lines if line.get("message", {}).get("id") == "msg_01"]
    assert [message["content"][0]["type"] for message in first] == ["thinking", "text", "tool_use"]
    assert first[-1]["usage"]["output_tokens"] == 7


def test_there_are_copies_of_results_in_lines_that_are_not_the_conversation(session: Made) -> None:
    """A reader that takes every line with a message counts these twice."""
    copies = [line for line in session.lines if line["type"] == "api-request-blob"]
    assert any("toolu_01_2" in json.dumps(line["message"]) for line in copies)


def test_the_stream_counts_the_output_at_its_end_only(session: Made) -> None:
    events = session.printed_lines
    assert (events[0]["type"], events[0]["subtype"]) == ("system", "init")
    assert {event["message"]["usage"]["output_tokens"] for event in events if event["type"] == "assistant"} == {1}
    assert (events[-1]["type"], events[-1]["is_error"]) == ("result", False)
    assert events[-1]["usage"]["output_tokens"] == 5 * 7


def test_independent_parsers_agree_on_steps_and_tokens(session: Made, place: Place) -> None:
    expected = [
        ("user", [], []),
        ("agent", ["toolu_01_2"], ["toolu_01_2"]),
        ("agent", ["toolu_02_1"], ["toolu_02_1"]),
        ("agent", ["toolu_03_0", "toolu_03_1"], ["toolu_03_0", "toolu_03_1"]),
        ("agent", ["toolu_04_0"], ["toolu_04_0"]),
        ("agent", [], []),
    ]
    for trajectory in (atif_make(place, session.files[0]), harbor(place, "claude-code", session.files[0])):
        assert agent_turns(trajectory) == expected
        # 101 to 105 in, and of each answer 30 read from the cache and 20 written to it.
        assert trajectory["final_metrics"]["total_prompt_tokens"] == 515 + 5 * 50
        assert trajectory["final_metrics"]["total_completion_tokens"] == 5 * 7


def test_a_resumed_session_grows_and_a_forked_one_repeats(stand_in: Script, place: Place) -> None:
    model = stand_in([[say("One.")], [say("Two.")], [say("Three.")]])
    session = claude_code(model, place, "Say one.").printed_lines[0]["session_id"]
    resumed = claude_code(model, place, "Say two.", "--resume", session)
    assert [file.stem for file in resumed.files] == [session]
    assert [block["text"] for block in blocks(resumed.lines, "text")] == ["One.", "Two."]
    forked = claude_code(model, place, "Say three.", "--resume", session, "--fork-session")
    assert [block["text"] for block in blocks(forked.lines, "text")] == ["One.", "Two.", "Three."]
    before = {line["uuid"] for line in resumed.lines if line["type"] == "assistant"}
    assert before < {line["uuid"] for line in forked.lines if line["type"] == "assistant"}


def test_a_sub_agent_has_a_file_of_its_own(stand_in: Script, place: Place) -> None:
    task = {"description": "Count", "prompt": "Count the lines of a.txt.", "subagent_type": "general-purpose"}
    bash = call("Bash", command="wc -l a.txt", description="Count")
    model = stand_in([[call("Task", **task)], [bash], [say("One line.")], [say("It says: one line.")]])
    made = claude_code(model, place, "Let a helper count.", *ALLOWED)
    assert [block["name"] for block in blocks(made.lines, "tool_use")] == ["Task"]
    (file,) = made.files[0].with_suffix("").glob("subagents/agent-*.jsonl")
    inner = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert all(line["isSidechain"] for line in inner if line["type"] in ("user", "assistant"))
    assert answers(inner) == [("toolu_02_0", False)]
    assert file.with_suffix("").with_suffix(".meta.json").exists()


@pytest.mark.parametrize(
    ("interrupt", "kind", "last"),
    [(False, "permission-rule", "I see."), (True, "user-rejected", "[Request interrupted")],
)
def test_a_refusal_is_a_failed_result_with_a_kind(
    stand_in: Script, place: Place, interrupt: bool, kind: str, last: str
) -> None:
    model = stand_in([[call("Bash", command="touch b.txt", description="Touch")], [say("I see.")]])
    lines = claude_refused(model, place, "Touch b.txt.", interrupt=interrupt).lines
    assert answers(lines) == [("toolu_01_0", True)]
    assert [line["toolDenialKind"] for line in lines if "toolDenialKind" in line] == [kind]
    assert blocks(lines, "text")[-1]["text"].startswith(last)
    assert not (place.work / "b.txt").exists()


def test_a_compaction_looks_like_a_user(stand_in: Script, place: Place) -> None:
    model = stand_in([[say("One.")], [say("<summary>It was one.</summary>")], [say("Still one.")]])
    session = claude_code(model, place, "Say one.").printed_lines[0]["session_id"]
    claude_code(model, place, "/compact", "--resume", session)
    lines = claude_code(model, place, "Again.", "--resume", session).lines
    assert [line["subtype"] for line in lines if line["type"] == "system"] == ["compact_boundary"]
    (summary,) = [line for line in lines if line.get("isCompactSummary")]
    assert summary["type"] == "user"
    assert "It was one." in summary["message"]["content"]


def test_an_overloaded_model_is_asked_again(stand_in: Script, place: Place) -> None:
    model = stand_in([[fail(529)], [say("Now.")]])
    made = claude_code(model, place, "Go.")
    assert [block["text"] for block in blocks(made.lines, "text")] == ["Now."]
    assert len(model.requests) == 2


def test_telemetry_is_otlp_json(stand_in: Script, place: Place) -> None:
    bash = call("Bash", command="wc -l missing.txt", description="Count")
    with Collector() as collector:
        claude_code(stand_in([[bash], [say("None.")]]), place, "Count.", *ALLOWED, **claude_telemetry(collector))
    spans = collector.spans()
    names = [span["name"] for span in spans]
    assert (names.count("claude_code.llm_request"), names.count("claude_code.tool")) == (2, 1)
    (top,) = [span for span in spans if not span.get("parentSpanId")]
    assert top["name"] == "claude_code.interaction"
